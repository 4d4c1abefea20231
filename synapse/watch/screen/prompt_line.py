"""What is typed at the prompt of a program whose composer is not known: a shell, a REPL, a line-mode agent.

The prompt is what is before the cursor while the program is READY and nobody has typed. What is behind the
same prompt later is a draft. Another prompt, such as the `> ` of a heredoc, is not the program's own.
"""

import re
from dataclasses import dataclass

from synapse.terminal.screen import Screen
from synapse.terminal.styles import style_of, typed_text
from synapse.watch.screen.composer import ABSENT, DRAFT, EMPTY, UNKNOWN, Seen

_CONTROL = re.compile(r"\^[@-_?]")  # how the kernel echoes a key that is not text


@dataclass(frozen=True, slots=True)
class _Line:
    """The line that has the cursor, with its wrapped rows joined: before the cursor, and all of it."""

    before: str
    text: str


class PromptLine:
    def __init__(self) -> None:
        self._prompt: str | None = None  # as it was last known to be empty
        self._alternate = False  # the screen it was on
        self._pressed = False  # a key since the last submit

    def key(self) -> None:
        self._pressed = True

    def submitted(self) -> None:
        self._pressed = False

    def read(self, screen: Screen, ready: bool) -> Seen:
        if self._prompt is not None and screen.alternate_screen != self._alternate:
            return Seen(ABSENT, why="the alternate screen is another than at its prompt")
        line = _line(screen)
        if self._pressed:
            return self._with_keys(line)
        if not line.before.strip():
            return Seen(EMPTY, why="nobody has typed since the last message")
        if self._prompt is not None and not _is_same(self._prompt, line.before):
            return Seen(ABSENT, why=f"its prompt ends in {_end(self._prompt)!r}, not {_end(line.before)!r}")
        if ready and not _is_text(line.before):
            self._prompt, self._alternate = line.before, screen.alternate_screen
        return Seen(EMPTY, why="nobody has typed since the last message")

    def is_elsewhere(self, screen: Screen, text: str) -> str:
        """Why `text`, at the cursor, is not behind the program's own prompt; empty if that cannot be told."""
        if self._prompt is None:
            return ""
        if screen.alternate_screen != self._alternate:
            return "the alternate screen is another than at its prompt"
        line = _line(screen).text
        before = line.removesuffix(text.rstrip())
        if before == line or not before.strip() or _is_same(self._prompt, before):
            return ""
        return f"its prompt ends in {_end(self._prompt)!r}, not {_end(before)!r}"

    def _with_keys(self, line: _Line) -> Seen:
        prompt = self._prompt
        if prompt is None:
            return Seen(UNKNOWN, why="keys were pressed before its first prompt")
        if line.before.rstrip() == prompt.rstrip() and not line.text[len(prompt) :].strip():
            return Seen(EMPTY, why="its prompt looks as it did when it was empty")
        if not line.text.startswith(prompt):
            return Seen(UNKNOWN, why="the line at the cursor does not begin with its prompt")
        text = line.text[len(prompt) :]
        if _CONTROL.search(text):
            return Seen(DRAFT, why="the line has keys that are not text")
        return Seen(DRAFT, text, "there is text behind its prompt")


def _is_same(known: str, prompt: str) -> bool:
    """Whether a prompt is the program's own, though it may name another folder or branch."""
    first, _, rest = prompt.strip().partition(" ")
    return _end(known) == _end(prompt) or (bool(rest) and known.split()[:1] == [first])


def _is_text(before: str) -> bool:
    """Whether it reads as output that is not at its end yet, such as `Loading…`: prompts end in a sign."""
    end = _end(before)
    return end.isalnum() or end in ".,…"


def _end(prompt: str) -> str:
    return prompt.rstrip()[-1:]


def _cursor(screen: Screen) -> tuple[int, int]:
    """The terminal's cursor, or if that is hidden the only inverse cell: some programs draw their own."""
    if screen.cursor_visible:
        return screen.cursor
    rows = screen.rows(0, screen.size[1])
    drawn = [
        (column, number)
        for number, row in enumerate(rows)
        for column, cell in enumerate(row.cells)
        if style_of(cell.sgr).inverse and cell.width
    ]
    return drawn[0] if len(drawn) == 1 else screen.cursor


def _line(screen: Screen) -> _Line:
    column, row = _cursor(screen)
    height = screen.size[1]
    rows = screen.rows(row, row + 1)
    at = rows[0].cells
    before, after = typed_text(at[:column]), typed_text(at[column:])
    below = row + 1
    while rows[-1].wrapped and below < height:
        rows = screen.rows(below, below + 1)
        after += typed_text(rows[0].cells)
        below += 1
    above = row - 1
    while above >= 0 and (rows := screen.rows(above, above + 1))[0].wrapped:
        before = typed_text(rows[0].cells) + before
        above -= 1
    return _Line(before, before + after.rstrip())
