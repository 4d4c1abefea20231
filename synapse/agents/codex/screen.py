"""Codex on the screen. Its errors have a mark of their own, and JSON in them is wrapped to the left edge."""

from synapse.agents.look import ErrorLine, Look, Marks

LOOK = Look(
    pointer="›",
    line_marks="•■›",
    questions=(r"Allow the .* MCP server to run tool\b",),
    hidden=(r"[\w-]+: .*\.\.\.$",),  # an argument of such a tool, cut
    errors=(
        ErrorLine(r"■\s(?!Conversation interrupted)(.+)", own=True),
        ErrorLine(r"(?i)⚠\s+(.*(?:stream error|reconnecting|retrying).*)"),  # while it tries again
    ),
    stopped=(r"■ Conversation interrupted",),
    denied=(r"✗ You (?:canceled|did not approve)\b",),  # its rollout says no more than "aborted by user"
    permitted=(r"✔ You approved\b",),
    reply=Marks(
        echo="›",
        answer="•■",
        footer=(r" · ",),
        status=(r"• Working \(|\s*(?:─ )?Worked for .*[•─]|\s+└ Tip: ",),
        notice=(r"[✔✗] You |■ Conversation interrupted",),
        tool=(r"(?:Ran|Running|Exited|Explored|Called|Searched|Updated Plan|Viewed|Read|Listed)\b",),
        outcome=(r" {1,3}[└│] ",),
        lone_tool=(r"(?:Edited|Added|Deleted) .*\(\+\d+ -\d+\)$",),
    ),
)
