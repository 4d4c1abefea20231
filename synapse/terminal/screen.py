"""The protocol of a screen model: what a terminal shows after the bytes fed to it."""

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from synapse.terminal.modes import ALTERNATE_SCREEN, undo_all

SCROLLBACK_BYTES = 10 * 1024 * 1024  # about 9,000 rows


class Cell(NamedTuple):
    """One cell: its text ("" if nothing was written), its width (0 after a wide cell), its look."""

    text: str
    width: int = 1
    sgr: str = "0"  # SGR parameters that set this look, whatever was set before
    link: str = ""


class Row(NamedTuple):
    cells: list[Cell]
    wrapped: bool = False  # continues in the row below
    unrepeatable: bool = False  # some cell cannot be written again as it is


class Cursor(NamedTuple):
    """The position and the state with which the program writes next."""

    x: int
    y: int
    wraps: bool  # a wrap is pending: the next character goes to the row below
    visible: bool
    pen: str  # bytes that set colours, link and character sets, starting from the default
    origin: int | None  # the row that positions count from in origin mode
    bottom: int  # the row that scrolls when the cursor leaves it
    autowrap: bool
    insert: bool
    synchronised: bool


class Screen(Protocol):
    name: str

    def feed(self, data: bytes) -> None: ...
    def resize(self, cols: int, rows: int) -> None: ...
    def on_reply(self, reply: Callable[[bytes], None] | None) -> None:
        """Where answers to terminal queries go; None when a real terminal gives them."""

    @property
    def size(self) -> tuple[int, int]: ...
    @property
    def cursor(self) -> tuple[int, int]: ...
    @property
    def title(self) -> str: ...
    @property
    def alternate_screen(self) -> bool: ...
    @property
    def cursor_visible(self) -> bool: ...
    def osc(self, number: int) -> str:
        """The content of the last OSC sequence with this number that terminals do not know."""

    def mode(self, number: int) -> bool:
        """Whether DEC private mode `number` is set."""

    def text(self) -> str:
        """The visible screen, a line a row."""

    def contents(self, last_rows: int | None = None) -> str:
        """Scrollback and screen with wrapped lines joined, or only the last rows of that."""

    def ansi(self) -> str:
        """The visible screen with its colours."""

    def rows(self, first: int, end: int, left: int = 0, right: int | None = None) -> list[Row]:
        """The visible rows from `first` to before `end`, cell by cell, each from `left` to before `right`."""

    def history(self, first: int, end: int) -> list[Row]:
        """The rows that have left the screen at its top, from the oldest that is kept."""

    def changes(self) -> Callable[[], Sequence[int]]:
        """A function that tells which visible rows may have changed since it was called last: for one reader,
        who calls it again and again. The first call returns every row."""

    def drawing_cursor(self) -> Cursor | None:
        """The cursor, or None while nothing can be drawn and erased: inside a sequence, for example."""

    def has_scrolled(self) -> int:
        """How many rows have left the screen at its top and are still kept."""

    def snapshot(self) -> bytes:
        """Bytes that bring an empty terminal of the same size, cursor at home, to this state."""


def undo_modes(screen: Screen, shell_is_back: bool = False) -> bytes:
    """The bytes that undo the modes a program has left on, as the model knows them."""
    return undo_all(
        shell_is_back,
        lambda number: screen.alternate_screen if number == ALTERNATE_SCREEN else screen.mode(number),
    )


def make_screen(cols: int, rows: int) -> Screen:
    """The best emulator available. SYNAPSE_SCREEN=ghostty or avt demands one."""
    wanted = os.environ.get("SYNAPSE_SCREEN")
    if wanted != "avt":
        try:
            from synapse.terminal.ghostty import GhosttyScreen

            return GhosttyScreen(cols, rows)
        except (ImportError, OSError):  # no build for this platform, or its library does not load
            if wanted == "ghostty":
                raise
    from synapse.terminal.avt import AvtScreen

    return AvtScreen(cols, rows)
