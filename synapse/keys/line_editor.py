"""Follows the line that a human writes in an agent's composer, from the keys. Pure.

The CLIs differ in some keys and insert text of their own (history, completion). After such a key the line is
unknown until it is submitted or cleared, or the host says what the screen shows.
"""

from __future__ import annotations

from synapse.terminal.cells import char_width, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

INSERT, NORMAL = "insert", "normal"  # the modes of vim keys

LONG_PASTE = 100  # characters; the CLIs show a longer paste as one placeholder
MARGIN = 12  # cells beside the text in a composer, at most

COOKED = frozenset({"backspace", "ctrl-u", "ctrl-w", "ctrl-c", "ctrl-d"})  # the editing keys of the kernel
_HARMLESS = frozenset({"page-up", "page-down", "insert", "ctrl-l"})


class LineEditor:
    """`columns` is the terminal's width. `mode` is that of vim keys, where the CLI has them and the screen
    shows it; `stays`: Enter does not leave normal mode."""

    def __init__(self, columns: int = 0) -> None:
        self.columns = columns
        self.known = True
        self.text = ""  # while unknown: what was typed since
        self.cursor = 0
        self.mode, self.stays = "", True
        self._adrift = False  # in normal mode: the cursor is somewhere in the text
        self._blank = True  # while unknown: the composer is probably empty
        self._doubt = False  # the CLI may have put the last prompt back
        self._solid = 0  # the end of the last long paste; the cursor is never before it
        self.pasted = ""  # how the line began when a paste was part of that; also while it is unknown

    @property
    def line(self) -> str | None:
        return self.text if self.known else None

    @property
    def is_empty(self) -> bool:
        return not self.text and not self._doubt if self.known else self._blank

    @property
    def behind(self) -> int:
        """How many characters are behind the cursor, as far as that is known."""
        return len(self.text) - self.cursor

    def clear(self) -> None:
        self.known, self.text, self.cursor, self._solid = True, "", 0, 0
        self._doubt, self.pasted = False, ""

    def forget(self, blank: bool = False) -> None:
        self.known, self.text, self.cursor, self._solid = False, "", 0, 0
        self._blank = blank

    def see(self, text: str | None) -> None:
        """The screen shows this text in the composer; None: there is text, and not all of it is shown."""
        if text is None:
            if not self.text:
                self.forget()
        elif not text:
            self.clear()
        elif not self.known or not _without_space(self.text).startswith(_without_space(text)):
            # Otherwise the keys know more: what is not drawn yet, and white space that no screen shows.
            self.known, self._doubt, self._solid = True, False, 0
            self.text, self.cursor, self._adrift = text, len(text), True

    def insert(self, text: str) -> None:
        if self.mode == NORMAL:
            text = text[self._commands(text) :]
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)
        self._blank = False

    def paste(self, text: str) -> None:
        if text:
            if self.mode == NORMAL and self.text:
                self.forget()  # before or after the character at the cursor
            mode, self.mode = self.mode, ""  # it is text in every mode
            before = self.text[: self.cursor]
            begins = self.known or not self.pasted
            if begins and len(before.split()) < 2 and not before[-1:].isspace():
                self.pasted = (before + text)[:LONG_PASTE]
            self.insert(text)
            self.mode = mode
        if len(text) > LONG_PASTE or "\n" in text:
            self._solid = self.cursor

    def is_typed(self, length: int) -> bool:
        """Whether the first `length` characters of the line were typed, and not pasted."""
        return not self.pasted or not self.text.startswith(self.pasted[:length])

    def key(self, name: str) -> None:
        if name in _HARMLESS:
            return
        if name == "ctrl-c":
            self.clear()
        elif self.mode == INSERT and name == "esc":
            self._leave_insert_mode()
        elif self.mode == NORMAL and name in _MOTION_KEYS:
            self._adrift = True
        elif self.mode == NORMAL and name != "esc":
            self.forget()
        elif not self.known:
            self._key_unknown(name)
        else:
            _EDITS.get(name, LineEditor.forget)(self)

    def enter(self) -> None:
        """Enter was passed to the CLI, which most likely takes the line."""
        if self.mode and not self.stays:
            self.mode = INSERT
        if self.text[: self.cursor].endswith("\\"):
            self.forget()  # some CLIs insert a line break instead
        elif self.at_mention:
            self.forget(blank=True)  # Enter may have accepted a completion
        else:
            self.clear()

    @property
    def at_mention(self) -> bool:
        """Whether the cursor is in a word such as `@src/a`, for which the CLIs open a completion menu."""
        start = self.cursor
        while start > self._solid and not self.text[start - 1].isspace():
            start -= 1
        return self.text[start : min(start + 1, self.cursor)] == "@"

    def _key_unknown(self, name: str) -> None:
        if name == "ctrl-u":
            self._blank, self.text, self.cursor, self.pasted = True, "", 0, ""
        elif name in ("backspace", "click", "shift-tab"):
            self.text, self.cursor = "", 0
        else:
            self.forget()

    def _left(self) -> None:
        if self.cursor and self._is_one_step(self.cursor - 1):
            self.cursor -= 1

    def _right(self) -> None:
        if not self.text:
            self.forget()  # some CLIs accept a suggestion
        elif self.cursor < len(self.text) and self._is_one_step(self.cursor):
            self.cursor += 1

    def _delete(self) -> None:
        if self.cursor < len(self.text):
            self._cut(LineEditor._right)

    def _end_of_input(self) -> None:
        if self.cursor < len(self.text):
            self._delete()
        elif self.text:
            self.forget()  # some CLIs clear the line

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

    def _word_left(self) -> None:
        size = _word_size(self.text[: self.cursor][::-1])
        if size is None or self.cursor - size < self._solid:
            self.forget()
        else:
            self.cursor -= size

    def _word_right(self) -> None:
        size = _word_size(self.text[self.cursor :])
        if size is None or self.cursor + size < len(self.text):
            self.forget()  # some CLIs stop at the end of this word, some at the start of the next
        else:
            self.cursor += size

    def _escape(self) -> None:
        """Escape closes a completion menu, interrupts the agent (some CLIs then put the prompt back), clears
        the line, or does nothing."""
        if not self.text:
            self._doubt = True
        elif not (self.at_mention and self.text[:1] == "@" and self.cursor == len(self.text)):
            self.forget()

    def _leave_insert_mode(self) -> None:
        """The text stays. If a completion menu may be open, it is not known what Escape has left."""
        self.mode, self._adrift = "" if self.at_mention else NORMAL, False
        if self.cursor > self._row()[0]:
            self.cursor -= 1
        self._doubt = self._doubt or not self.text

    def _commands(self, keys: str) -> int:
        """Keys in normal mode: how many of them are commands. One that begins insert mode is followed by
        text; a motion leaves the text as it is; what any other does is not known."""
        for number, key in enumerate(keys, 1):
            if key in _INSERTS and "\n" not in self.text:
                self.mode = INSERT
                if self._adrift and key in "ia" and self.text:
                    self.forget()
                self.cursor = min(_INSERTS[key](self), len(self.text))
                return number
            if key in _MOTIONS:
                self._adrift = True
            else:
                self.forget()
        return len(keys)

    def _forget_text(self) -> None:
        """A key that does nothing to an empty line."""
        if self.text:
            self.forget()

    def _cut(self, move: Callable[[LineEditor], None]) -> None:
        before = self.cursor
        move(self)
        if self.known:
            start, end = sorted((before, self.cursor))
            self.text, self.cursor = self.text[:start] + self.text[end:], start
            if not self.text:
                self.pasted = ""

    def _row(self) -> tuple[int, int]:
        end = self.text.find("\n", self.cursor)
        return self.text.rfind("\n", 0, self.cursor) + 1, len(self.text) if end < 0 else end

    def _wraps(self) -> bool:
        """Whether the row may be wrapped: then Home, End, Ctrl-U and Ctrl-K differ among the CLIs."""
        start, end = self._row()
        return bool(self.columns) and width(self.text[start:end]) > self.columns - MARGIN

    def _is_one_step(self, index: int) -> bool:
        """Whether all CLIs treat the character there as one; if not, the line is unknown."""
        around = self.text[max(index - 1, 0) : index + 2]
        if index >= self._solid and (around.isascii() or all(map(_stands_alone, around))):
            return True
        self.forget()
        return False


def _without_space(text: str) -> str:
    return "".join(text.split())


def _word_size(text: str) -> int | None:
    """How many characters a move by one word crosses; None where the CLIs disagree on that."""
    size = _span(text, str.isspace)
    agreed = size == _span(text, lambda char: not (char.isalnum() or char == "_"))
    return size if agreed and text[:size].isascii() and "\n" not in text[:size] else None


def _span(text: str, is_between: Callable[[str], bool]) -> int:
    """The length of what separates words at the start of `text`, and of the word after it."""
    at = 0
    for separates in (True, False):
        while at < len(text) and is_between(text[at]) == separates:
            at += 1
    return at


def _stands_alone(char: str) -> bool:
    """Whether a character never forms one with its neighbours: no Hangul part, flag, skin tone or mark."""
    if char < "\u0300":
        return True
    if (
        "\u1100" <= char < "\u1200"
        or "\U0001f1e6" <= char < "\U0001f200"
        or "\U0001f3fb" <= char < "\U0001f400"
    ):
        return False
    import unicodedata

    return char_width(char) > 0 and unicodedata.category(char) != "Mc"


def _cuts(move: Callable[[LineEditor], None]) -> Callable[[LineEditor], None]:
    return lambda editor: editor._cut(move)


_MOTIONS = frozenset("hl0^$wbeWBE")
_MOTION_KEYS = frozenset({"left", "right", "home", "end"})
_INSERTS: dict[str, Callable[[LineEditor], int]] = {
    "i": lambda editor: editor.cursor,
    "a": lambda editor: editor.cursor + 1,
    "I": lambda editor: 0,
    "A": lambda editor: len(editor.text),
}
_EDITS: dict[str, Callable[[LineEditor], None]] = {
    key: edit
    for keys, edit in (
        ("left ctrl-b", LineEditor._left),
        ("right ctrl-f", LineEditor._right),
        ("home ctrl-a", LineEditor._home),
        ("end ctrl-e", LineEditor._end),
        ("alt-b alt-left ctrl-left", LineEditor._word_left),
        ("alt-f alt-right ctrl-right", LineEditor._word_right),
        ("backspace", _cuts(LineEditor._left)),
        ("delete", LineEditor._delete),
        ("ctrl-d", LineEditor._end_of_input),
        ("ctrl-u", _cuts(LineEditor._home)),
        ("ctrl-k", _cuts(LineEditor._end)),
        ("ctrl-w alt-backspace", _cuts(LineEditor._word_left)),
        ("alt-d", _cuts(LineEditor._word_right)),
        ("ctrl-j alt-enter shift-enter ctrl-alt-j", lambda editor: editor.insert("\n")),
        ("esc", LineEditor._escape),
        ("click shift-tab ctrl-z", LineEditor._forget_text),
    )
    for key in keys.split()
}
