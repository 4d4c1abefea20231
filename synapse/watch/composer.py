"""What is in the agent's composer, as its screen shows it."""

from dataclasses import dataclass

EMPTY = "empty"
DRAFT = "draft"
DIALOG = "dialog"  # a question or a list has the keys
ABSENT = "absent"  # another program, an editor, a pager or a full-screen menu has the terminal
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Seen:
    """`text` is the draft, where the screen shows all of it; `why` is what was seen, for `synapse why`."""

    state: str
    text: str | None = None
    why: str = ""


NOT_LOOKED = Seen(UNKNOWN, why="the screen has not settled yet")
