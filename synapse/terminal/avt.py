"""The screen model on avt, for platforms without libghostty-vt. ModeTracker provides the modes."""

import codecs
import re
from collections.abc import Callable, Sequence

from avt._avt import Cell as AvtCell
from avt._avt import Color, Pen, Vt

from synapse.terminal.modes import ModeTracker
from synapse.terminal.screen import Cell, Cursor, Row
from synapse.terminal.styles import palette

_OSC = re.compile(r"\x1b\](\d+);([^\x07\x1b]*)(?:\x07|\x1b\\)")
_UNFINISHED = re.compile(r"\x1b(?:\](?:\d+(?:;[^\x07\x1b]*\x1b?)?)?)?$")
_QUERY = re.compile(r"\x1b\[(?:(0?c)|(6n)|(5n)|(>c)|(>q)|(\?u))")
_ANSWERS = ("\x1b[?62;22c", None, "\x1b[0n", "\x1b[>1;0;0c", "\x1bP>|synapse\x1b\\", "\x1b[?0u")
_ATTRIBUTES = (
    ("1", "bold"), ("2", "faint"), ("3", "italic"), ("4", "underline"), ("5", "blink"), ("7", "inverse"),
    ("9", "strikethrough"),
)  # fmt: skip
_SCROLLBACK_LINES = 9_000


class AvtScreen:
    name = "avt"

    def __init__(self, cols: int, rows: int) -> None:
        self._vt = Vt(max(cols, 1), max(rows, 1), _SCROLLBACK_LINES)
        self._modes = ModeTracker()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._carry = ""
        self._osc: dict[int, str] = {}
        self._reply: Callable[[bytes], None] | None = None

    def feed(self, data: bytes) -> None:
        self._modes.feed(data)
        text = self._decoder.decode(data)
        self._safely(self.size, lambda: self._vt.feed_str(text))
        text = self._carry + text
        for match in _OSC.finditer(text):
            self._osc[int(match.group(1)[:9])] = match.group(2)
        if self._reply is not None:
            for match in _QUERY.finditer(text):
                answer = _ANSWERS[(match.lastindex or 1) - 1]
                if answer is None:
                    x, y = self.cursor
                    answer = f"\x1b[{y + 1};{x + 1}R"
                self._reply(answer.encode())
        unfinished = _UNFINISHED.search(text, max(len(text) - 1024, 0))
        self._carry = unfinished.group() if unfinished else ""

    def resize(self, cols: int, rows: int) -> None:
        size = max(cols, 1), max(rows, 1)
        self._safely(size, lambda: self._vt.resize(*size))

    def _safely(self, size: tuple[int, int], call: Callable[[], object]) -> None:
        """After a panic inside avt, continue with an empty screen."""
        try:
            call()
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            self._vt = Vt(*size, _SCROLLBACK_LINES)

    def on_reply(self, reply: Callable[[bytes], None] | None) -> None:
        self._reply = reply

    @property
    def size(self) -> tuple[int, int]:
        cols, rows = self._vt.size
        return cols, rows

    @property
    def cursor(self) -> tuple[int, int]:
        return self._vt.cursor.col, self._vt.cursor.row

    @property
    def title(self) -> str:
        return self._osc.get(0, self._osc.get(2, ""))

    def osc(self, number: int) -> str:
        return self._osc.get(number, "")

    @property
    def alternate_screen(self) -> bool:
        return self._modes.alternate_screen

    @property
    def cursor_visible(self) -> bool:
        return self._modes.is_set(25)

    def mode(self, number: int) -> bool:
        return self._modes.is_set(number)

    def text(self) -> str:
        return "\n".join(line.text.rstrip(" ") for line in self._vt.view()).rstrip("\n")

    def contents(self, last_rows: int | None = None) -> str:
        if self.alternate_screen:
            return self.text()  # avt would return the main screen
        lines = self._vt.text()
        return "\n".join(line.rstrip(" ") for line in lines[-(last_rows or len(lines)) :]).rstrip("\n")

    def ansi(self) -> str:
        rows = []
        for line in self._vt.view():
            row, last = "", ""
            for cell in line.cells:
                if cell.width == 0:
                    continue
                pen = f"\x1b[{_sgr(cell.pen)}m"
                row += (pen if pen != last else "") + cell.char
                last = pen
            rows.append(row.rstrip() + "\x1b[0m")
        return "\r\n".join(rows)

    def rows(self, first: int, end: int, left: int = 0, right: int | None = None) -> list[Row]:
        lines, wrapped = self._vt.view(), self._wrapped()
        return [
            Row([_cell(cell) for cell in line.cells[left:right]], is_wrapped)
            for line, is_wrapped in zip(lines[first:end], wrapped[first:end], strict=True)
        ]

    def _wrapped(self) -> list[bool]:
        """Which visible rows continue in the row below: avt only gives the text with such rows joined."""
        height = self.size[1]
        if self.alternate_screen:
            return [False] * height  # the joined text is that of the main screen
        found: list[bool] = []
        whole, begun = iter(self._vt.text()), ""
        line = next(whole, "")
        for row in self._vt.lines():
            begun += row.text
            goes_on = len(begun.rstrip(" ")) < len(line.rstrip(" "))
            found.append(goes_on)
            if not goes_on:
                line, begun = next(whole, ""), ""
        return found[-height:]

    def history(self, first: int, end: int) -> list[Row]:
        return []  # avt gives its scrollback as text only

    def changes(self) -> Callable[[], Sequence[int]]:
        return lambda: range(self.size[1])

    def drawing_cursor(self) -> Cursor | None:
        return None  # avt exposes neither pen nor pending wrap, so nothing drawn could be erased

    def has_scrolled(self) -> int:
        return 0

    def snapshot(self) -> bytes:
        # avt writes CSI as one C1 character, which not every terminal takes in UTF-8.
        return self._vt.dump().replace("\x9b", "\x1b[").encode() + self._modes.redo()


def _sgr(pen: Pen) -> str:
    codes = ["0", *(code for code, name in _ATTRIBUTES if getattr(pen, name))]
    for base, colour in ((30, pen.foreground), (40, pen.background)):
        if isinstance(colour, Color.Indexed):
            codes.append(palette(base, colour[0]))
        elif isinstance(colour, Color.RGB):
            codes.append(f"{base + 8};2;{colour[0]};{colour[1]};{colour[2]}")
    return ";".join(codes)


def _cell(cell: AvtCell) -> Cell:
    """avt does not tell a space that was written from a cell without text."""
    sgr = "0" if cell.pen.is_default() else _sgr(cell.pen)
    text = "" if cell.width == 0 or (cell.char == " " and sgr == "0") else cell.char
    return Cell(text, cell.width, sgr)
