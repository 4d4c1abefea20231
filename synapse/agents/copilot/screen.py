"""GitHub Copilot CLI on the screen. Its channel reports its errors, but not that nobody is logged in."""

from synapse.agents.look import ErrorLine, Look, Marks

LOOK = Look(
    pointer="❯",
    line_marks="●✗",
    permissions=(r"Do you want to (?:use|edit|write|read|fetch|access)\b",),
    errors=(ErrorLine(r" ✗ (.+)", own=True, indented=True),),
    errors_at_start=(ErrorLine(r" ✗ (.+)"),),
    after_error=(r"Please use /login", r" [~/]\S*(?: \[.*\])?$"),
    stopped=(r" ● Operation cancelled by user",),
    after_stop=(r" \S",),
    reply=Marks(
        echo="❯",
        inner_echo="❯┃",  # in a terminal with all colours
        answer="●",
        placeholder=(r"\[Paste #\d+ - [^\]]*\]",),
        status=(r"[~/]\S*(?: \[.*\])?$",),  # the folder and its branch, above the composer
        notice=(r"● Operation cancelled by user",),
        tool=(r"(?:Shell|Create|Edit|Read) ",),
    ),
)
