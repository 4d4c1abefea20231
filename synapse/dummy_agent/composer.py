"""The text being written: an editor with placeholders for long pastes, and a history."""

from collections.abc import Callable

from synapse.base.text import for_output
from synapse.dummy_agent.keys import Event
from synapse.terminal.cells import char_width, width

LONG_PASTE_CHARS = 800
LONG_PASTE_LINES = 8


class Pasted(str):
    """A long paste: one cell of the editor, shown as a label and submitted in full."""

    label: str

    def __new__(cls, text: str, number: int) -> "Pasted":
        made = super().__new__(cls, text)
        made.label = f"[Pasted text #{number} +{text.count(chr(10))} lines]"
        return made


class Composer:
    """Text and cursor. A cell is a character with its combining marks, or a long paste."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.cursor = 0
        self._pastes = 0
        self._history: list[list[str]] = []
        self._place = 0
        self._draft: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.cells)

    def clear(self) -> None:
        self._put([])

    def submit(self) -> str:
        text = self.text
        if text.strip():
            self._history.append(self.cells)
        self._place = len(self._history)
        self.clear()
        return text

    def insert(self, text: str) -> None:
        for char in text:
            before = self.cells[self.cursor - 1] if self.cursor else "\n"
            if char > "\x7f" and char_width(char) == 0 and before != "\n" and not isinstance(before, Pasted):
                self.cells[self.cursor - 1] = before + char
                continue
            self.cells.insert(self.cursor, char)
            self.cursor += 1

    def paste(self, text: str) -> None:
        if len(text) <= LONG_PASTE_CHARS and text.count("\n") < LONG_PASTE_LINES:
            self.insert(text)
            return
        self._pastes += 1
        self.cells.insert(self.cursor, Pasted(text, self._pastes))
        self.cursor += 1

    def handle(self, event: Event) -> None:
        kind, value = event
        if kind == "text":
            self.insert(value)
        elif kind == "paste":
            self.paste(value)
        elif value in _EDITS:
            _EDITS[value](self)

    def delete(self) -> None:
        self._remove(self.cursor, self.cursor + 1)

    def backspace(self) -> None:
        if self.cursor:
            self._remove(self.cursor - 1, self.cursor)

    def kill_word(self) -> None:
        start = self.cursor
        while start and self.cells[start - 1].isspace():
            start -= 1
        while start and not self.cells[start - 1].isspace():
            start -= 1
        self._remove(start, self.cursor)

    def move(self, to: int) -> None:
        self.cursor = min(max(0, to), len(self.cells))

    def up(self) -> None:
        """Moves to the line above; on the first line, to the previous message."""
        start = self._line_start()
        if start:
            column = self.cursor - start
            self.cursor = start - 1
            above = self._line_start()
            self.cursor = min(above + column, start - 1)
        elif self._place:
            if self._place == len(self._history):
                self._draft = self.cells
            self._place -= 1
            self._put(self._history[self._place])

    def down(self) -> None:
        end = self._line_end()
        if end < len(self.cells):
            column = self.cursor - self._line_start()
            self.cursor = end + 1
            self.cursor = min(end + 1 + column, self._line_end())
        elif self._place < len(self._history):
            self._place += 1
            self._put(self._draft if self._place == len(self._history) else self._history[self._place])

    def layout(self, columns: int) -> tuple[list[str], int, int]:
        """The rows as shown in `columns` cells, and the cursor's row and column among them."""
        rows, used = [""], 0
        at = (0, 0)
        for index, cell in enumerate([*self.cells, ""]):
            shown = cell.label if isinstance(cell, Pasted) else cell
            pieces = [shown] if len(shown) < 2 or width(shown) <= 2 else list(shown)
            for number, piece in enumerate(pieces):
                # The cursor needs a cell too, at the end of a line as anywhere.
                size = int(index == self.cursor) if piece in ("", "\n") else width(for_output(piece))
                if used and used + size > columns:
                    rows.append("")
                    used = 0
                if index == self.cursor and number == 0:
                    at = (len(rows) - 1, used)
                if piece == "\n":
                    rows.append("")
                    used = 0
                elif piece:
                    rows[-1] += for_output(piece)
                    used += size
        return rows, *at

    def _put(self, cells: list[str]) -> None:
        self.cells = list(cells)
        self.cursor = len(self.cells)

    def _remove(self, start: int, end: int) -> None:
        del self.cells[start:end]
        self.cursor = start

    def _line_start(self) -> int:
        start = self.cursor
        while start and self.cells[start - 1] != "\n":
            start -= 1
        return start

    def _line_end(self) -> int:
        end = self.cursor
        while end < len(self.cells) and self.cells[end] != "\n":
            end += 1
        return end


_EDITS: dict[str, Callable[[Composer], None]] = {
    key: edit
    for keys, edit in (
        ("newline", lambda composer: composer.insert("\n")),
        ("backspace", Composer.backspace),
        ("delete ctrl-d", Composer.delete),
        ("ctrl-u", lambda composer: composer._remove(composer._line_start(), composer.cursor)),
        ("ctrl-k", lambda composer: composer._remove(composer.cursor, composer._line_end())),
        ("ctrl-w", Composer.kill_word),
        ("ctrl-a home", lambda composer: composer.move(composer._line_start())),
        ("ctrl-e end", lambda composer: composer.move(composer._line_end())),
        ("left", lambda composer: composer.move(composer.cursor - 1)),
        ("right", lambda composer: composer.move(composer.cursor + 1)),
        ("up", Composer.up),
        ("down", Composer.down),
    )
    for key in keys.split()
}
