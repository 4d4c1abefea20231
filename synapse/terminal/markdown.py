"""Markdown as wrapped lines of styled text, without anything that a terminal would act on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from synapse.base.text import for_cells
from synapse.terminal import cells
from synapse.terminal.overlay import Span

if TYPE_CHECKING:
    from synapse.terminal.commonmark import Node

BASE = "0;38;5;252;48;5;236"
DIM = "0;38;5;245;48;5;236"
STRONG = "0;1;38;5;255;48;5;236"
HEADING = "0;1;38;5;117;48;5;236"
CODE = "0;38;5;222;48;5;234"
LINK = "0;4;38;5;111;48;5;236"
_EMPHASIS = {"strong": ";1;38;5;255", "em": ";3", "s": ";9"}
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}

LONGEST = 100_000  # characters that are rendered: the host does nothing else in the meantime
_NARROWEST = 8  # cells; nothing is indented below that

Lines = list[list[Span]]


def render(markdown: str, width: int, longest: int = LONGEST) -> Lines:
    """Lines of at most `width` cells. Line ends, blank lines and indentation of the text are kept."""
    from synapse.terminal.commonmark import parse

    rest = len(markdown) - longest
    text = for_cells(markdown[:longest])
    page = _Page(text.split("\n"))
    lines = list(page.blocks(parse(text).children, max(width, _NARROWEST)))
    while lines and not lines[-1]:
        lines.pop()
    if rest > 0:
        lines += [[], *wrapped([(f"… and {rest} characters more: copy it to read them.", DIM)], width)]
    return lines


def wrapped(
    spans: Sequence[Span], width: int, first: Sequence[Span] = (), then: Sequence[Span] = ()
) -> Lines:
    """The spans as lines: `first` in front of the first one, `then` in front of the others."""
    indent = max(sum(cells.width(text) for text, _ in prefix) for prefix in (first, then))
    text = "".join(text for text, _ in spans)
    lines: Lines = []
    start = index = before = 0  # `before`: the length of the spans before `index`
    for row, after in cells.wrap(text, max(width - indent, 4)):
        line = [*(then if lines else first)]
        end = start + len(row)
        while index < len(spans) and before < end:
            piece, look = spans[index]
            if cut := piece[max(start - before, 0) : end - before]:
                line.append((cut, look))
            if before + len(piece) > end:
                break
            before += len(piece)
            index += 1
        lines.append(line)
        start = after
    return lines


class _Page:
    """Renders the blocks of one text; `source` is its lines."""

    def __init__(self, source: Sequence[str]) -> None:
        self._source = source

    def blocks(self, nodes: Iterable[Node], width: int, start: int = 0) -> Iterator[list[Span]]:
        """`start` is the line at which the block that contains these begins."""
        from synapse.terminal.commonmark import end_of

        for node in nodes:
            assert node.map
            yield from ([] for _ in range(start, node.map[0]))
            yield from self._block(node, width)
            start = end_of(node)

    def _block(self, node: Node, width: int) -> Iterable[list[Span]]:
        match node.type:
            case "paragraph":
                return self._paragraph(node, width)
            case "heading":
                return wrapped(_spans(node.children[0].children, HEADING), width)
            case "hr":
                return [[("─" * width, DIM)]]
            case "fence" | "code_block":
                language = node.info if node.type == "fence" else ""
                return _code(node.content.removesuffix("\n").split("\n"), language, width)
            case "blockquote" if width >= 2 * _NARROWEST:
                return ([("│ ", DIM), *line] for line in self._inside(node, width - 2))
            case "list_item":
                return self._item(node, width)
            case "table":
                return _table([row for part in node.children for row in part.children], width)
            case _:
                return self._inside(node, width)

    def _inside(self, node: Node, width: int) -> Iterator[list[Span]]:
        assert node.map
        if node.children:
            yield from self.blocks(node.children, width, node.map[0])
            return
        for line in self._source[slice(*node.map)]:  # empty, or nested deeper than the parser goes
            yield from wrapped([(line.lstrip(" >-+*0123456789.)"), BASE)], width)

    def _item(self, node: Node, width: int) -> Iterator[list[Span]]:
        mark = f"{node.info}{node.markup} " if node.info else "• "
        if width - len(mark) < _NARROWEST:
            yield [(cells.crop(mark, width), HEADING)]
            yield from self._inside(node, width)
            return
        prefix: Span = (mark, HEADING)
        for line in self._inside(node, width - len(mark)):
            yield [prefix, *line] if line else []
            prefix = (" " * len(mark), BASE)

    def _paragraph(self, node: Node, width: int) -> Iterator[list[Span]]:
        assert node.map
        spans = _spans(node.children[0].children, BASE)
        if node.parent and node.parent.type == "list_item" and spans and (box := _BOXES.get(spans[0][0][:4])):
            spans[0] = (box + spans[0][0][4:], BASE)
        elif node.level == 0:  # the parser keeps the indentation of the other lines only
            first = self._source[node.map[0]]
            spans.insert(0, (first[: len(first) - len(first.lstrip(" "))], BASE))
        for line in _split(spans):
            yield from _line(line, width)


def _line(spans: list[Span], width: int) -> Lines:
    """A line of a paragraph, wrapped below its own beginning."""
    text = "".join(text for text, _ in spans)
    start = len(text) - len(text.lstrip(" "))
    indent = " " * min(start, width // 3)
    mark = "• " if text.startswith("• ", start) else ""  # no Markdown, but agents make lists with it
    first, then = [(indent + mark, HEADING)], [(indent + " " * len(mark), BASE)]
    return wrapped(_from(spans, start + len(mark)), width, first, then)


def _from(spans: list[Span], start: int) -> list[Span]:
    left = []
    for text, look in spans:
        if text[start:]:
            left.append((text[start:], look))
        start = max(start - len(text), 0)
    return left


def _split(spans: Iterable[Span]) -> list[list[Span]]:
    lines: list[list[Span]] = [[]]
    for text, look in spans:
        if text == "\n":
            lines.append([])
        elif text:
            lines[-1].append((text, look))
    return lines


def _spans(nodes: Iterable[Node], look: str) -> list[Span]:
    spans: list[Span] = []
    for node in nodes:
        match node.type:
            case "softbreak" | "hardbreak":
                spans.append(("\n", look))
            case "code_inline":
                spans.append((node.content.strip() or node.content, CODE))
            case "strong" | "em" | "s":
                spans += _spans(node.children, look + _EMPHASIS[node.type])
            case "link" | "image":
                label = [(node.content, LINK)] if node.type == "image" else _spans(node.children, LINK)
                url = str(node.attrs.get("href") or node.attrs.get("src") or "")
                spans += label
                if url and url != "".join(text for text, _ in label):
                    spans.append((f" ({url})", DIM))
            case _:
                spans.append((node.content, look))
    return spans


def _code(lines: Sequence[str], language: str, width: int) -> Iterator[list[Span]]:
    if language:
        yield [(f" {cells.crop(language, width - 2)} ", DIM)]
    for line in lines:
        while True:  # cut at the width, not between words: every space counts in code
            piece = cells.crop(line, width - 2) if line else ""
            yield [(f" {piece}{' ' * (width - 1 - cells.width(piece))}", CODE)]
            line = line[len(piece) :]
            if not line or not piece:
                break


def _table(rows: Sequence[Node], width: int) -> Iterator[list[Span]]:
    sides = [str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in rows[0].children]
    styled = [
        [_spans(cell.children[0].children, STRONG if number == 0 else BASE) for cell in row.children]
        for number, row in enumerate(rows)
    ]
    wanted = [max(map(_width, column)) for column in zip(*styled, strict=True)]
    widths = _column_widths(wanted, width - 3 * (len(sides) - 1))
    for number, row in enumerate(styled):
        columns = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for line in range(max(map(len, columns))):
            out: list[Span] = []
            for column, size, side in zip(columns, widths, sides, strict=True):
                spans = column[line] if line < len(column) else []
                space = max(size - _width(spans), 0)
                left = {"right": space, "center": space // 2}.get(side, 0)
                out += [(" │ ", DIM)] if out else []
                out += [(" " * left, BASE), *spans, (" " * (space - left), BASE)]
            yield out
        if number == 0:
            yield [("─┼─".join("─" * size for size in widths), DIM)]


def _column_widths(wanted: Sequence[int], available: int) -> list[int]:
    """The wanted widths, with the widest columns made narrower until all fit."""
    widths = [max(width, 3) for width in wanted]
    while sum(widths) > available and max(widths) > 4:
        widest = max(widths)
        index = widths.index(widest)
        second = max([w for w in widths if w < widest], default=4)
        widths[index] = max(second - 1, widest - (sum(widths) - available), 4)
    return widths


def _width(spans: Sequence[Span]) -> int:
    return sum(cells.width(text) for text, _ in spans)
