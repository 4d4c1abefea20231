"""The line of the panel in which a human answers a question. Pure."""

from __future__ import annotations

from synapse.base.text import for_cells
from synapse.terminal import cells, markdown
from synapse.terminal.markdown import Lines


class AnswerLine:
    """`secret`: the text is not shown; `may_be_empty`: Enter alone is an answer."""

    def __init__(self, text: str = "", secret: bool = False, may_be_empty: bool = False) -> None:
        self.text = text
        self._secret = secret
        self._may_be_empty = may_be_empty
        self.answer: str | None = None  # when it is finished, unless nothing is to be sent

    def press(self, key: str) -> bool:
        """Whether the line is finished, by Enter or by leaving it."""
        if key in ("Escape", "C-c"):
            return True
        if key == "Enter":
            self.answer = self.text if self.text or self._may_be_empty else None
            return True
        if key == "Backspace":
            self.text = self.text[:-1]
        elif key in ("C-u", "C-w"):
            words = self.text.rstrip().rpartition(" ")
            self.text = "" if key == "C-u" else words[0] + words[1]
        elif key.startswith("paste:"):
            self.text += " ".join(for_cells(key[6:]).split("\n"))
        elif len(key) == 1 and key.isprintable():
            self.text += key
        return False

    def lines(self, columns: int) -> Lines:
        typed = "•" * len(self.text) if self._secret else for_cells(self.text)
        while len(typed) > 1 and cells.width(typed) > columns - 12:
            typed = typed[1:]
        return [[("answer › ", markdown.HEADING), (typed, markdown.STRONG), (" ", "0;7")]]

    @property
    def hints(self) -> list[tuple[str, str]]:
        if self.text:
            return [("Enter", "send"), ("Esc", "back")]
        return (
            [("Enter", "send an empty answer"), ("Esc", "back")] if self._may_be_empty else [("Esc", "back")]
        )
