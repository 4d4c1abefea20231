"""What programs of this kind have in common on the screen, whichever it is."""

from synapse.agents.look import Look, Marks, MenuStyle

PROMPT_ENDS = "❯›>$#%»"  # the last character of a prompt that works line by line
BULLETS = "•◦▪"  # of lists, as Markdown is drawn
BLOCK_MARKS = "•●⏺"  # before a block of a reply, and of lists
CHECKBOXES = "☐☑○◉"

LOOK = Look(
    menus=(MenuStyle("▶▸→◉", needs_hints=True),),
    line_marks="✓✔✗ℹ⚠>",
    questions=(
        r"(?:Do you (?:want|trust)|Would you like|How would you like|Allow execution|Apply this change)\b",
    ),
    permissions=(
        r"(?i)(?:do you want to|would you like to|may i|shall i|ok to)? ?(?:proceed|continue|allow|approve"
        r"|make th|apply|create|overwrite|delete|run|execute|grant|go ahead)",
    ),
    hidden=(r"\.\.\. (?:first|last) \d+ lines? hidden|\[… \d+ lines?\]|… \+?\d+ (?:more )?lines?",),
    after_error=(r"\s|[─▄▀]{3}|ℹ\s|$",),
    # Several say that a request was cancelled; a terminal echoes Ctrl-C.
    stopped=(r"[ℹ✗⚠]\s+(?:Request|Operation) (?:cancell?ed|aborted)", r"\^C(?:\s|$)"),
    after_stop=(r"[─▄▀]{3}|ℹ\s|\s{20,}\S|\s\S",),
    reply=Marks(
        echo=">",
        placeholder=(r"\[Pasted [^\]]*\]",),
        footer=(r"\? for shortcuts",),
        status=(r"\s?[⠁-⣿◐-◓◉] |\s*⏵ |\s*\? for shortcuts|\s*Press Ctrl\S+ again to ",),
        notice=(r"[ℹ⚠] ",),
        boxed_tool=(r"[✓✔✗✕xo?⊶⊷-] +\S",),
    ),
)
