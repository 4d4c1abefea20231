"""GitHub Copilot CLI on the screen. Its channel reports its errors."""

from synapse.agents.look import Look, Marks

LOOK = Look(
    pointer="❯",
    line_marks="●✗",
    permissions=(r"Do you want to (?:use|edit|write|read|fetch|access)\b",),
    stopped=(r" ● Operation cancelled by user",),
    after_stop=(r" \S",),
    reply=Marks(
        echo="❯",
        answer="●",
        placeholder=(r"\[Paste #\d+ - [^\]]*\]",),
        status=(r"[~/]\S*(?: \[.*\])?$",),  # the folder and its branch, above the composer
        notice=(r"● Operation cancelled by user",),
        tool=(r"(?:Shell|Create|Edit|Read) ",),
    ),
)
