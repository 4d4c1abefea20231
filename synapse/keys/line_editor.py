"""The line a human is writing in an agent's composer, as far as it follows from the keys. Pure.

Where the CLIs differ, or put in text of their own (history, completion), the line is unknown from there on,
until it is submitted or cleared.
"""

from __future__ import annotations

from synapse.terminal.cells import char_width, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LONG_PASTE = 100  # characters: the CLIs show such a paste as a placeholder, which is edited as one
MARGIN = 12  # cells beside the text in a composer, at the most

# Line editing of the kernel has these only.
COOKED = frozenset({"backspace", "ctrl-u", "ctrl-w", "ctrl-c"})
_HARMLESS = frozenset({"page-up", "page-down", "insert", "ctrl-l"})


class LineEditor:
    """`columns` is the terminal's width."""

    def __init__(self, columns: int = 0) -> None:
        self.columns = columns
        self.known = True
        self.text = ""  # while unknown: what was typed since
        self.cursor = 0
        self._blank = True  # while unknown: there is probably nothing
        self._doubt = False  # the CLI may have put something back
        self._solid = (
            0  # up to here, and the cursor is never before it, a paste that the CLI may show as a placeholder
        )

    @property
    def line(self) -> str | None:
        return self.text if self.known else None

    @property
    def is_empty(self) -> bool:
        return not self.text and not self._doubt if self.known else self._blank

    def clear(self) -> None:
        self.known, self.text, self.cursor, self._solid = True, "", 0, 0
        self._doubt = False

    def forget(self, blank: bool = False) -> None:
        self.known, self.text, self.cursor, self._solid = False, "", 0, 0
        self._blank = blank

    def insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)
        self._blank = False

    def paste(self, text: str) -> None:
        if not text:
            return
        self.insert(text)
        if len(text) > LONG_PASTE or "\n" in text:
            self._solid = self.cursor

    def key(self, name: str) -> None:
        """Any key but Enter."""
        if name in _HARMLESS:
            return
        if name == "ctrl-c":
            self.clear()
        elif not self.known:
            self._key_unknown(name)
        elif name in _EDITS:
            _EDITS[name](self)
        else:
            self.forget()

    def enter(self) -> None:
        """Enter has gone to the CLI, which most likely takes the line."""
        if self.text[: self.cursor].endswith("\\"):
            self.forget()  # some make a new line of it
        elif self.at_mention:
            self.forget(blank=True)  # or the completion that is open takes it
        else:
            self.clear()

    @property
    def at_mention(self) -> bool:
        """The cursor is in a word such as `@src/a`, for which the CLIs open a completion."""
        start = self.cursor
        while start > self._solid and not self.text[start - 1].isspace():
            start -= 1
        return self.text[start : min(start + 1, self.cursor)] == "@"

    def _key_unknown(self, name: str) -> None:
        if name == "ctrl-u":
            self._blank, self.text, self.cursor = True, "", 0
        elif name not in ("backspace", "click", "shift-tab"):
            self.forget()
        else:
            self.text, self.cursor = "", 0

    # --- keys ---------------------------------------------------------------------------------------------

    def _backspace(self) -> None:
        if self.cursor and self._steps_over(self.cursor - 1):
            self._cut(self.cursor - 1, self.cursor)

    def _delete(self) -> None:
        if self.cursor < len(self.text) and self._steps_over(self.cursor):
            self._cut(self.cursor, self.cursor + 1)

    def _end_of_input(self) -> None:
        if self.cursor < len(self.text):
            self._delete()
        elif self.text:
            self.forget()  # some leave it, some clear it

    def _left(self) -> None:
        if self.cursor and self._steps_over(self.cursor - 1):
            self.cursor -= 1

    def _right(self) -> None:
        if not self.text:
            self.forget()  # some take their own suggestion
        elif self.cursor < len(self.text) and self._steps_over(self.cursor):
            self.cursor += 1

    def _home(self) -> None:
        start = self._row()[0]
        if start < self._solid or (start and start == self.cursor) or self._wraps():
            self.forget()
        else:
            self.cursor = start

    def _end(self) -> None:
        end = self._row()[1]
        if (end < len(self.text) and end == self.cursor) or self._wraps():
            self.forget()
        else:
            self.cursor = end

    def _kill_to_start(self) -> None:
        start, cursor = self._row()[0], self.cursor
        self._home()
        if self.known:
            self._cut(start, cursor)

    def _kill_to_end(self) -> None:
        cursor = self.cursor
        self._end()
        if self.known:
            self._cut(cursor, self.cursor)

    def _newline(self) -> None:
        self.insert("\n")

    def _esc(self) -> None:
        """Closes a completion; interrupts, and some CLIs then put the prompt back; clears, or nothing."""
        if not self.text:
            self._doubt = True
        elif not (self.at_mention and self.text[:1] == "@" and self.cursor == len(self.text)):
            self.forget()

    def _only_if_empty(self) -> None:
        """A key that does nothing to an empty line."""
        if self.text:
            self.forget()

    # --- words: what a word is differs among the CLIs; known where it makes no difference -------------------

    def _word_left(self) -> None:
        start = self._agreed_start()
        if start is not None:
            self.cursor = start

    def _kill_word_back(self) -> None:
        start = self._agreed_start()
        if start is not None:
            self._cut(start, self.cursor)

    def _word_right(self) -> None:
        end = self._agreed_end()
        if end is not None:
            if end < len(self.text):  # the end of this word, or the start of the next
                self.forget()
            self.cursor = end if self.known else 0

    def _kill_word(self) -> None:
        end = self._agreed_end()
        if end is not None:
            if end < len(self.text):
                self.forget()
            else:
                self._cut(self.cursor, end)

    def _agreed_start(self) -> int | None:
        start = self._word_start(str.isspace)
        return start if self._agreed(start, self._word_start(_is_no_word), start, self.cursor) else None

    def _agreed_end(self) -> int | None:
        end = self._word_end(str.isspace)
        return end if self._agreed(end, self._word_end(_is_no_word), self.cursor, end) else None

    def _agreed(self, one: int, other: int, start: int, end: int) -> bool:
        crossed = self.text[start:end]
        if one == other and start >= self._solid and crossed.isascii() and "\n" not in crossed:
            return True
        self.forget()
        return False

    def _word_start(self, between: Callable[[str], bool]) -> int:
        start = self.cursor
        while start and between(self.text[start - 1]):
            start -= 1
        while start and not between(self.text[start - 1]):
            start -= 1
        return start

    def _word_end(self, between: Callable[[str], bool]) -> int:
        end = self.cursor
        while end < len(self.text) and between(self.text[end]):
            end += 1
        while end < len(self.text) and not between(self.text[end]):
            end += 1
        return end

    # --- within -------------------------------------------------------------------------------------------

    def _cut(self, start: int, end: int) -> None:
        self.text = self.text[:start] + self.text[end:]
        self.cursor = start

    def _row(self) -> tuple[int, int]:
        """Where the row of the cursor starts and ends."""
        end = self.text.find("\n", self.cursor)
        return self.text.rfind("\n", 0, self.cursor) + 1, len(self.text) if end < 0 else end

    def _wraps(self) -> bool:
        """In some CLIs Home, End, Ctrl-U and Ctrl-K go by rows of the screen."""
        start, end = self._row()
        return bool(self.columns) and width(self.text[start:end]) > self.columns - MARGIN

    def _steps_over(self, index: int) -> bool:
        """Whether every CLI takes the character there for one; if not, the line is unknown from now on."""
        around = self.text[max(index - 1, 0) : index + 2]
        if index >= self._solid and (around.isascii() or all(map(_stands_alone, around))):
            return True
        self.forget()
        return False


def _is_no_word(char: str) -> bool:
    return not (char.isalnum() or char == "_")


def _stands_alone(char: str) -> bool:
    if char < "\u0300":
        return True
    joins = "\u1100" <= char < "\u1200" or "\U0001f1e6" <= char < "\U0001f200"
    tints = "\U0001f3fb" <= char < "\U0001f400"
    return not joins and not tints and char_width(char) > 0 and not _is_spacing_mark(char)


def _is_spacing_mark(char: str) -> bool:
    import unicodedata

    return unicodedata.category(char) == "Mc"


_EDITS: dict[str, Callable[[LineEditor], None]] = {
    "backspace": LineEditor._backspace,
    "delete": LineEditor._delete,
    "ctrl-d": LineEditor._end_of_input,
    "left": LineEditor._left,
    "ctrl-b": LineEditor._left,
    "right": LineEditor._right,
    "ctrl-f": LineEditor._right,
    "home": LineEditor._home,
    "ctrl-a": LineEditor._home,
    "end": LineEditor._end,
    "ctrl-e": LineEditor._end,
    "ctrl-u": LineEditor._kill_to_start,
    "ctrl-k": LineEditor._kill_to_end,
    "ctrl-w": LineEditor._kill_word_back,
    "alt-backspace": LineEditor._kill_word_back,
    "alt-d": LineEditor._kill_word,
    "alt-b": LineEditor._word_left,
    "alt-left": LineEditor._word_left,
    "ctrl-left": LineEditor._word_left,
    "alt-f": LineEditor._word_right,
    "alt-right": LineEditor._word_right,
    "ctrl-right": LineEditor._word_right,
    "ctrl-j": LineEditor._newline,
    "alt-enter": LineEditor._newline,
    "shift-enter": LineEditor._newline,
    "ctrl-alt-j": LineEditor._newline,
    "esc": LineEditor._esc,
    "click": LineEditor._only_if_empty,
    "shift-tab": LineEditor._only_if_empty,
}
