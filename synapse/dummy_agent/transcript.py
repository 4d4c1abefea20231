"""The conversation: blocks of text, each with a mark, split into rows of the terminal's width."""

from synapse.base.text import for_output
from synapse.terminal.cells import margin, marked, wrap

KEPT_CHARS = 200_000


class Block:
    """Text after a two-cell mark. `text` is the part that has not become a row yet."""

    def __init__(self, mark: str, text: str) -> None:
        self.mark = mark
        self.text = for_output(text)
        self.open = True
        self.begun = False

    def rows(self, columns: int) -> list[tuple[str, int]]:
        made = wrap(self.text, columns - margin(columns))
        shown = marked([row for row, _ in made], "  " if self.begun else self.mark, columns)
        return [(row, end) for row, (_, end) in zip(shown, made, strict=True)]


class Transcript:
    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def add(self, mark: str, text: str) -> None:
        self.close()
        self._blocks.append(Block(mark, text))
        self.close()

    def extend(self, mark: str, text: str) -> None:
        if not self._blocks or not self._blocks[-1].open:
            self._blocks.append(Block(mark, ""))
        self._blocks[-1].text += for_output(text)

    def close(self) -> None:
        if self._blocks:
            self._blocks[-1].open = False

    def take(self, columns: int) -> list[str]:
        """The rows that are final, each returned once, with a blank one after each block."""
        taken: list[str] = []
        while self._blocks and not self._blocks[0].open:
            taken += [row for row, _ in self._blocks.pop(0).rows(columns)]
            taken.append("")
        if self._blocks:
            block = self._blocks[0]
            *done, _ = block.rows(columns)
            if done:
                block.text = block.text[done[-1][1] :]
                block.begun = True
            taken += [row for row, _ in done]
        return taken

    def growing(self, columns: int) -> list[str]:
        return [row for block in self._blocks for row, _ in block.rows(columns)]

    def tail(self, columns: int, count: int) -> list[str]:
        """The last `count` rows, none of them taken: for a screen that is repainted whole."""
        rows: list[str] = []
        kept = 0
        for number, block in enumerate(reversed(self._blocks)):
            if kept > KEPT_CHARS:
                del self._blocks[: len(self._blocks) - number]
                break
            kept += len(block.text)
            if len(rows) < count:
                gap = [] if block.open else [""]
                rows = [*(row for row, _ in block.rows(columns)), *gap, *rows]
        return rows[-count:]
