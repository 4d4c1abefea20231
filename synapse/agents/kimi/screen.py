"""Kimi Code on the screen. Its channel reports its errors, but for those before the first prompt."""

from synapse.agents.look import Look, Marks

LOOK = Look(
    pointer="❯→",
    line_marks="✨●✗",
    questions=(r"▶ \S.*\?",),
    permissions=(r"(?:Write this file|Stop this task|Ready to build with this plan)\?",),
    dialog_edges=(r" ─{10}",),
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
