"""The screen model on libghostty-vt."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from synapse.terminal.ghostty_cells import read_history, read_rows
from synapse.terminal.ghostty_changes import Changes
from synapse.terminal.ghostty_ffi import Terminal, check, ffi, init_sized, lib, read_buf
from synapse.terminal.screen import SCROLLBACK_BYTES, Cursor, Row
from synapse.terminal.styles import palette

_FOREGROUND, _BACKGROUND = (0xD0, 0xD0, 0xD0), (0x10, 0x10, 0x10)  # the answers to OSC 10 and 11
_REGION = re.compile(r"\x1b\[(\d+);(\d+)r")
_SIXTEEN = re.compile(r"\x1b\[([34])8;5;(\d|1[0-5])m")
_PROTECTED = '\x1b[1"q'
# Parts of the state that the formatter can write: of the terminal, and of the screen.
_ALL = (
    ("modes", "scrolling_region", "keyboard"),
    ("cursor", "style", "protection", "kitty_keyboard", "charsets"),
)
_PEN = (("scrolling_region",), ("style", "protection", "charsets", "hyperlink"))


class GhosttyScreen:
    name = "ghostty"

    def __init__(self, cols: int, rows: int) -> None:
        self._terminal = Terminal(
            max(cols, 1), max(rows, 1), scrollback=10_000_000, fg=_FOREGROUND, bg=_BACKGROUND
        )
        self._osc: dict[int, str] = {}
        self._terminal.on_unknown_sequence(self._on_unknown)
        # The byte limit decides: its default of 10 KB keeps about 600 lines.
        option, limit = lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_BYTES, ffi.new("size_t*", SCROLLBACK_BYTES)
        check(lib.ghostty_terminal_set(self._terminal._t[0], option, limit), "terminal_set")

    def _on_unknown(self, sequence: Any) -> None:
        number, _, payload = sequence.content.partition(b";")
        if sequence.kind == "osc" and number.isdigit():
            self._osc[int(number)] = payload.decode("utf-8", "replace")

    def osc(self, number: int) -> str:
        return self._osc.get(number, "")

    def feed(self, data: bytes) -> None:
        if b"\x7f" in data:  # ghostty would print DEL, every terminal ignores it
            data = data.replace(b"\x7f", b"")
        self._terminal.feed(data)

    def resize(self, cols: int, rows: int) -> None:
        self._terminal.resize(max(cols, 1), max(rows, 1))

    def on_reply(self, reply: Callable[[bytes], None] | None) -> None:
        self._terminal.on_reply(reply)

    @property
    def size(self) -> tuple[int, int]:
        cols, rows = self._terminal.size
        return cols, rows

    @property
    def cursor(self) -> tuple[int, int]:
        x, y = self._terminal.cursor
        return x, y

    @property
    def title(self) -> str:
        title = self._terminal.get("title", "GhosttyString")
        return str(ffi.buffer(title.ptr, title.len)[:].decode("utf-8", "replace")) if title.len else ""

    @property
    def alternate_screen(self) -> bool:
        active = self._terminal.get("active_screen", "GhosttyTerminalScreen")
        return bool(active == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    @property
    def cursor_visible(self) -> bool:
        return bool(self._terminal.get("cursor_visible", "bool"))

    def mode(self, number: int) -> bool:
        return bool(self._terminal.mode(number))

    def text(self) -> str:
        return str(self._terminal.text())

    def contents(self, last_rows: int | None = None) -> str:
        total = self._terminal.get("total_rows", "size_t")
        if last_rows is None or last_rows >= total:
            return str(self._terminal.contents())
        selection = init_sized("GhosttySelection")
        selection.start = self._terminal.ref(0, total - last_rows, "screen")[0]
        selection.end = self._terminal.ref(self.size[0] - 1, total - 1, "screen")[0]
        return str(self._terminal._format_sel(selection, unwrap=True))

    def ansi(self) -> str:
        return self._format(self._rows("active"))

    def rows(self, first: int, end: int, left: int = 0, right: int | None = None) -> list[Row]:
        return read_rows(self._terminal, first, end, left, self.size[0] if right is None else right)

    def history(self, first: int, end: int) -> list[Row]:
        return read_history(self._terminal, max(first, 0), min(end, self.has_scrolled()))

    def changes(self) -> Callable[[], Sequence[int]]:
        return Changes(self._terminal).rows

    def drawing_cursor(self) -> Cursor | None:
        terminal = self._terminal
        if not terminal.get("vt_ground", "bool") or terminal.mode(69):
            return None  # inside a sequence, or with left and right margins
        last = self._rows("active")
        last.start = last.end
        content, whole = self._format(last), self._format(last, *_PEN)
        state = whole.removeprefix(content)
        if _PROTECTED in state or not whole.startswith(content):
            return None
        x, y = self.cursor
        region = _REGION.search(state)
        top, bottom = (int(edge) - 1 for edge in region.groups()) if region else (0, self.size[1] - 1)
        origin = bool(terminal.mode(6))
        if origin and not top <= y <= bottom:
            return None
        return Cursor(
            x=x,
            y=y,
            wraps=bool(terminal.get("cursor_pending_wrap", "bool")),
            visible=self.cursor_visible,
            pen=_SIXTEEN.sub(_by_own_code, _REGION.sub("", state)).replace("\x1b(B", ""),  # B is the default
            origin=top if origin else None,
            bottom=bottom,
            autowrap=bool(terminal.mode(7)),
            insert=bool(terminal.mode(4, ansi=True)),
            synchronised=bool(terminal.mode(2026)),
        )

    def has_scrolled(self) -> int:
        return int(self._terminal.get("scrollback_rows", "size_t"))

    def snapshot(self) -> bytes:
        out = ""
        if self.has_scrolled() and not self.alternate_screen:
            # Printed, then pushed up by a screenful: the rows below then start at the top.
            out = self._format(self._rows("history")) + "\x1b[m" + "\r\n" * self.size[1] + "\x1b[H"
        return (out + self._format(self._rows("active"), *_ALL)).encode()

    def _rows(self, part: str) -> Any:
        cols, rows = self.size
        rows = self.has_scrolled() if part == "history" else rows
        selection = init_sized("GhosttySelection")
        selection.start = self._terminal.ref(0, 0, part)[0]
        selection.end = self._terminal.ref(cols - 1, rows - 1, part)[0]
        return selection

    def _format(self, selection: Any, terminal: Sequence[str] = (), screen: Sequence[str] = ()) -> str:
        """`selection` as VT text, followed by these parts of the terminal's and the screen's state."""
        options = init_sized("GhosttyFormatterTerminalOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
        options.trim = options.unwrap = True  # soft-wrapped rows stay one line
        options.selection = selection
        for name in terminal:
            setattr(options.extra, name, True)
        for name in screen:
            setattr(options.extra.screen, name, True)
        formatter = ffi.new("GhosttyFormatter*")
        check(
            lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, self._terminal._t[0], options[0]),
            "formatter",
        )
        try:
            return str(read_buf(lambda b, n, out: lib.ghostty_formatter_format_buf(formatter[0], b, n, out)))
        finally:
            lib.ghostty_formatter_free(formatter[0])


def _by_own_code(match: re.Match[str]) -> str:
    return f"\x1b[{palette(int(match[1]) * 10, int(match[2]))}m"
