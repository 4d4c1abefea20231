"""A reply as it comes: blocks of Markdown that are done are printed for good, the rest is drawn anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from synapse.base.text import for_cells
from synapse.terminal import markdown

WIDEST = 120
_FENCE = re.compile(r"[ \t>]*(?:[-+*][ \t]+)?(`{3,}|~{3,})([^`]*)\Z")
_GROUPED = re.compile(r" {0,3}>|[^|]*\|")  # quotes and tables are made of several lines
_SENTENCE = re.compile(r"[^\W\d]|\*\*\w|`[^`]")
_LOOKS = {
    markdown.BASE: "",
    markdown.DIM: "2",
    markdown.STRONG: "1",
    markdown.HEADING: "1;36",
    markdown.CODE: "33",
    markdown.QUOTE: "",
    markdown.LINK: "4",
}


class Reply:
    """`partial` is given all that was said so far, each time; `end` the whole of it."""

    def __init__(
        self, name: str, write: Callable[[str], object], size: Callable[[], tuple[int, int]], color: bool
    ) -> None:
        self._name = name
        self._write = write
        self._size = size
        self._color = color
        self._text = ""  # what of it has been printed for good
        self._live = 0  # rows below that, which are drawn anew
        self._width = 0

    @property
    def begun(self) -> bool:
        return bool(self._text or self._live)

    def partial(self, text: str) -> None:
        source = self._named(text)
        if len(text.strip()) < 3 or not source.startswith(self._text):
            return  # too little to tell how it begins, or said otherwise: the end will show it
        self._advance(source)
        self._draw(source[len(self._text) :])

    def settle(self) -> None:
        """Leave what is there as it is: something else is printed next."""
        if self._live:
            self._write("\n")
            self._live = 0

    def end(self, text: str) -> None:
        source = self._named(text).rstrip() + "\n"
        if not source.startswith(self._text):
            self.settle()
            self._write("\n")
            self._text = ""
        self._advance(source)
        self._erase()
        self._print(source[len(self._text) :])
        self._text = source

    def _named(self, text: str) -> str:
        """Behind the name, if it begins as a sentence does; else below it."""
        text = for_cells(text).lstrip("\n")
        return f"**{self._name}:**{' ' if _SENTENCE.match(text) else chr(10)}{text}" if text else ""

    def _advance(self, source: str) -> None:
        done = "".join(finished(source[len(self._text) :]))
        if done:
            self._erase()
            self._print(done)
            self._text += done

    def _print(self, source: str) -> None:
        width = self._columns()
        for block in (*finished(source), source[len("".join(finished(source))) :]):
            blank = len(block) - len(block.rstrip("\n")) - 1
            if block.strip():
                self._write("".join(row + "\n" for row in self._rows(block, width)))
            self._write("\n" * (max(blank, 0) if block.strip() else block.count("\n")))

    def _draw(self, rest: str) -> None:
        self._erase()
        cols, rows = self._size()
        if not rest.strip() or cols < 10 or rows < 3:
            return
        self._width = cols
        drawn = self._rows(rest, self._columns())[-(rows - 1) :]
        self._write("\n".join(drawn))
        self._live = len(drawn)

    def _erase(self) -> None:
        if not self._live:
            return
        if self._size()[0] != self._width:  # wrapped anew: nobody knows how many rows it takes now
            self.settle()
            return
        self._write("\r" + (f"\x1b[{self._live - 1}A" if self._live > 1 else "") + "\x1b[J")
        self._live = 0

    def _columns(self) -> int:
        return max(min(self._size()[0] - 1, WIDEST), 8)

    def _rows(self, source: str, width: int) -> list[str]:
        return [self._styled(line) for line in markdown.render(source, width)]

    def _styled(self, spans: list[tuple[str, str]]) -> str:
        if spans and not self._color:
            return "".join(text for text, _ in spans).rstrip()
        made = ""
        while spans and not spans[-1][0].strip():
            spans = spans[:-1]
        for number, (text, look) in enumerate(spans):
            code = _look(look)
            text = text.rstrip() if number == len(spans) - 1 else text  # code is padded for a box
            made += f"\x1b[{code}m{text}\x1b[m" if code else text
        return made


def finished(source: str) -> Iterator[str]:
    """The blocks at the beginning that nothing can change any more, each with its newlines."""
    lines = source.split("\n")[:-1]  # the last one is still being said
    at = 0
    while at < len(lines):
        end: int | None = at + 1
        if fence := _FENCE.match(lines[at]):
            end = _closing(lines, at + 1, fence[1])
        elif _GROUPED.match(lines[at]):
            end = next((n for n in range(at + 1, len(lines)) if not _GROUPED.match(lines[n])), None)
        if end is None:
            return
        yield "\n".join(lines[at:end]) + "\n"
        at = end


def _closing(lines: list[str], at: int, mark: str) -> int | None:
    for number in range(at, len(lines)):
        body = lines[number].strip(" \t>")
        if len(body) >= len(mark) and body == mark[0] * len(body):
            return number + 1
    return None


def _look(look: str) -> str:
    """A look without the colours of a box: the terminal's own are the human's choice."""
    base = max((known for known in _LOOKS if look.startswith(known)), key=len, default="")
    emphasis = [part for part in look[len(base) :].replace(";38;5;255", "").split(";") if part]
    return ";".join(part for part in (_LOOKS.get(base, ""), *emphasis) if part)
