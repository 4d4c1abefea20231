"""A reply while it arrives: finished blocks of Markdown are printed once, the rest is redrawn."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from synapse.base.text import for_cells
from synapse.terminal import markdown
from synapse.terminal.commonmark import finished

WIDEST = 120
_SHORT = 2_000  # characters that may be parsed anew at each change
_LONGEST_DRAWN = 20_000  # characters of a block that is not finished: more than any terminal shows
_SENTENCE = re.compile(r"[^\W\d]|\*\*\w|`[^`]")
_LOOKS = {
    markdown.BASE: "",
    markdown.DIM: "2",
    markdown.STRONG: "1",
    markdown.HEADING: "1;36",
    markdown.CODE: "33",
    markdown.LINK: "4",
}


@dataclass
class Reply:
    """`partial` receives all of the reply so far; `end` receives the whole reply."""

    name: str
    write: Callable[[str], object]
    size: Callable[[], tuple[int, int]]
    color: bool
    _seen: int = 0  # characters that the reply had when it was last drawn
    _text: str = ""  # the part that has been printed and does not change
    _live: int = 0  # rows below that part, which are redrawn
    _width: int = 0

    @property
    def begun(self) -> bool:
        return bool(self._text or self._live)

    def partial(self, text: str) -> None:
        # Each time all of it is read, and what is not finished is parsed. It must have grown by a share of
        # both, or the time would grow with the square of its length.
        unfinished = len(text) - len(self._text)
        if len(text) - self._seen < max(len(text) // 1000, (unfinished - _SHORT) // 8):
            return
        self._seen = len(text)
        source = self._named(text)
        if len(text.strip()) < 3 or not source.startswith(self._text):
            return  # too short to tell how it begins, or no longer the same text: `end` will show it
        self._advance(source)
        self._draw(source[len(self._text) :])

    def settle(self) -> None:
        """Leave on the screen what is there: something else is printed next."""
        if self._live:
            self.write("\n")
            self._live = 0

    def end(self, text: str) -> None:
        source = self._named(text).rstrip() + "\n"
        if not source.startswith(self._text):
            self.settle()
            self.write("\n")
            self._text = ""
        self._advance(source)
        self._erase()
        if rest := source[len(self._text) :]:
            self._print([rest])
        self._text = source

    def _named(self, text: str) -> str:
        """With the agent's name before it, or above it if it does not begin with a sentence."""
        text = for_cells(text).lstrip("\n")
        return f"**{self.name}:**{' ' if _SENTENCE.match(text) else chr(10)}{text}" if text else ""

    def _advance(self, source: str) -> None:
        blocks = list(finished(source[len(self._text) :]))
        if blocks:
            self._erase()
            self._print(blocks)
            self._text += "".join(blocks)

    def _print(self, blocks: list[str]) -> None:
        width = self._columns()
        for block in blocks:
            rows = markdown.render(block, width, longest=len(block))
            self.write("".join(self._styled(row) + "\n" for row in rows) or "\n")

    def _draw(self, rest: str) -> None:
        self._erase()
        cols, rows = self.size()
        if not rest.strip() or cols < 10 or rows < 3:
            return
        self._width = cols
        if len(rest) > _LONGEST_DRAWN:  # its first line tells what the last ones are
            rest = rest[: rest.find("\n") + 1] + rest[rest.rfind("\n", 0, -_LONGEST_DRAWN) + 1 :]
        drawn = [self._styled(row) for row in markdown.render(rest, self._columns())[-(rows - 1) :]]
        self.write("\n".join(drawn))
        self._live = len(drawn)

    def _erase(self) -> None:
        if not self._live:
            return
        if self.size()[0] != self._width:  # wrapped again: how many rows it takes is unknown
            self.settle()
            return
        self.write("\r" + (f"\x1b[{self._live - 1}A" if self._live > 1 else "") + "\x1b[J")
        self._live = 0

    def _columns(self) -> int:
        return max(min(self.size()[0] - 1, WIDEST), 8)

    def _styled(self, spans: list[tuple[str, str]]) -> str:
        if spans and not self.color:
            return "".join(text for text, _ in spans).rstrip()
        made = ""
        while spans and not spans[-1][0].strip():
            spans = spans[:-1]
        for number, (text, look) in enumerate(spans):
            code = _look(look)
            text = text.rstrip() if number == len(spans) - 1 else text  # code is padded to the width of a box
            made += f"\x1b[{code}m{text}\x1b[m" if code else text
        return made


def _look(look: str) -> str:
    """The style without the colours of a box: the human has chosen the terminal's colours."""
    base = max((known for known in _LOOKS if look.startswith(known)), key=len, default="")
    emphasis = [part for part in look[len(base) :].replace(";38;5;255", "").split(";") if part]
    return ";".join(part for part in (_LOOKS.get(base, ""), *emphasis) if part)
