"""The line of the panel in which a human answers a question. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from synapse.base.text import for_cells
from synapse.terminal import cells, markdown
from synapse.terminal.markdown import Lines


@dataclass(eq=False)
class AnswerLine:
    """`secret`: the text is not shown; `may_be_empty`: Enter alone is an answer."""

    text: str = ""
    secret: bool = False
    may_be_empty: bool = False
    answer: str | None = None  # set when the line is finished and is to be sent

    def press(self, key: str) -> bool:
        """Whether the line is finished, by Enter, Escape or C-c."""
        if key in ("Escape", "C-c"):
            return True
        if key == "Enter":
            self.answer = self.text if self.text or self.may_be_empty else None
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
        typed = "•" * len(self.text) if self.secret else for_cells(self.text)
        while len(typed) > 1 and cells.width(typed) > columns - 12:
            typed = typed[1:]
        return [[("answer › ", markdown.HEADING), (typed, markdown.STRONG), (" ", "0;7")]]

    @property
    def hints(self) -> list[tuple[str, str]]:
        enter = "send" if self.text else "send an empty answer" if self.may_be_empty else ""
        return [*([("Enter", enter)] if enter else []), ("Esc", "back")]
