"""A menu or one line of text, shown instead of the composer while a question is open."""

from synapse.base.text import for_output
from synapse.dummy_agent.composer import Composer
from synapse.dummy_agent.keys import Event
from synapse.dummy_agent.painter import Cursor
from synapse.dummy_agent.steps import Question
from synapse.terminal.cells import margin, marked, wrap


class Menu:
    def __init__(self, question: Question) -> None:
        self._question = question
        self._letters = {"y": "1", "n": "2"} if question.kind == "confirm" else {}
        self._selected = 0

    def handle(self, event: Event) -> str | None:
        """The number that was chosen, or None while the question stays open."""
        kind, value = event
        count = len(self._question.options)
        if kind == "text":
            picked = self._letters.get(value.lower(), value)
            return picked if picked in map(str, range(1, count + 1)) else None
        if event == ("key", "enter"):
            return str(self._selected + 1)
        if event in (("key", "up"), ("key", "down")):
            self._selected = (self._selected + (1 if value == "down" else -1)) % count
        return None

    def rows(self, columns: int) -> tuple[list[str], Cursor]:
        rows = _heading(self._question, columns)
        for number, option in enumerate(self._question.options):
            mark = "❯" if number == self._selected else " "
            rows.append(f"{mark} {number + 1}. {for_output(option)}")
        return [*rows, "", "Esc to cancel"], None


class Line:
    """One line of text; a password is not shown."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._secret = question.kind == "password"
        self._line = Composer()

    def handle(self, event: Event) -> str | None:
        kind, value = event
        if event == ("key", "enter"):
            return self._line.text
        if kind == "paste":
            self._line.insert(value.replace("\n", " ").strip())
        elif value not in ("newline", "up", "down"):
            self._line.handle(event)
        return None

    def rows(self, columns: int) -> tuple[list[str], Cursor]:
        rows = _heading(self._question, columns)
        footer = ["", "Enter to submit · Esc to cancel"]
        if self._secret:
            prompt = f"{self._question.text}: "
            return [*rows[:1], prompt, *footer], (1, len(prompt))
        text, row, column = self._line.layout(columns - margin(columns))
        shown = marked(text, "❯ ", columns)
        return [*rows, *shown, *footer], (len(rows) + row, column + margin(columns))


def _heading(question: Question, columns: int) -> list[str]:
    return ["─" * columns, *(row for row, _ in wrap(for_output(question.text), columns))]
