"""The live area as rows: what is being written, the spinner, the composer or a question, the footer."""

from synapse.base.text import for_output
from synapse.dummy_agent.composer import Composer
from synapse.dummy_agent.painter import Cursor
from synapse.dummy_agent.question import Line, Menu
from synapse.terminal.cells import crop, margin, marked


class Busy:
    """How long the turn has run, in whole seconds; the spinner and the title change every second."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.seconds = 0

    @property
    def next_second(self) -> float:
        return self.began + self.seconds + 1

    def moved(self, now: float) -> bool:
        """Whether the second has changed since the last call."""
        passed = int(now - self.began)
        changed, self.seconds = passed != self.seconds, passed
        return changed


def live(
    columns: int,
    growing: list[str],
    busy: Busy | None,
    question: Menu | Line | None,
    queue: list[str],
    composer: Composer,
    hint: str,
) -> tuple[list[str], Cursor]:
    rows = [*growing, ""] if growing else []
    if question:
        asked, cursor = question.rows(columns)
        return [*rows, *asked], cursor and (cursor[0] + len(rows), cursor[1])
    if busy:
        rows += [f"✻ Working… ({busy.seconds}s · esc to interrupt)", ""]
    rows += [crop(f"  ⏵ queued: {for_output(message.replace(chr(10), ' '))}", columns) for message in queue]
    text, row, column = composer.layout(columns - margin(columns))
    cursor = (len(rows) + 1 + row, column + margin(columns))
    rows.append("─" * columns)
    rows += marked(text, "❯ ", columns)
    rows.append("─" * columns)
    rows.append(f"  {hint or ('esc to interrupt' if busy else '? for shortcuts')}")
    return rows, cursor
