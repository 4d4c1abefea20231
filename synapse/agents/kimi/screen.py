"""Kimi Code on the screen. Its channel reports its errors; without a login there is no session."""

from synapse.agents.look import ErrorLine, Look, Marks

LOOK = Look(
    pointer="❯→",
    line_marks="✨●✗",
    questions=(r"▶ \S.*\?",),
    permissions=(r"(?:Write this file|Stop this task|Ready to build with this plan)\?",),
    dialog_edges=(r" ─{10}",),
    errors=(ErrorLine(r"   Error: (LLM not set, .+)", own=True, indented=True),),
    stopped=(r"   Interrupted by user",),
    reply=Marks(
        echo="✨",
        answer="●✗",
        placeholder=(r"\[paste #\d+ [^\]]*\]",),
        status=(r" +[⠀-⣿🌑-🌘](?: .*)?$",),
        notice=(r" *(?:Interrupted by user$|Approved: |Rejected: )",),
        summary=(r" *Interrupted by user$",),
        tool=(r"(?:Ran|Running|Using|Used) ",),
    ),
)
