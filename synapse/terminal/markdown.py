"""Markdown as lines of styled text for a box: wrapped, and nothing in it that a terminal acts on."""

import re
from collections.abc import Iterator, Sequence

from synapse.base.text import for_cells
from synapse.terminal import cells
from synapse.terminal.overlay import Span

BASE = "0;38;5;252;48;5;236"
DIM = "0;38;5;245;48;5;236"
STRONG = "0;1;38;5;255;48;5;236"
HEADING = "0;1;38;5;117;48;5;236"
CODE = "0;38;5;222;48;5;234"
QUOTE = "0;38;5;250;48;5;236"
LINK = "0;4;38;5;111;48;5;236"
_EMPHASIS = {"**": ";1;38;5;255", "__": ";1;38;5;255", "*": ";3", "_": ";3", "~~": ";9"}

LONGEST = 100_000  # characters that are made readable: the host does nothing else in the meantime

_FENCE = re.compile(r"[ \t>]*(?:[-+*][ \t]+)?(`{3,}|~{3,})([^`]*)\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*\Z")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_ITEM = re.compile(r"([ \t]*)([-+*•]|\d{1,9}[.)])[ \t]+(?=\S)")
_QUOTE = re.compile(r" {0,3}>[ ]?")
_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")
_INLINE = re.compile(
    r"\\([!-/:-@\[-`{-~])"
    r"|(`+)(.{1,400}?)(?<!`)\2(?!`)"
    r"|!?\[([^\[\]\n]{1,400})\]\(([^()\s]{1,400})(?:\s+\"[^\"]{0,200}\")?\)"
    r"|(\*\*|__|~~)(?=\S)(.{1,200}?)(?<=\S)\6"
    r"|(\*|(?<!\w)_)(?=[^\s*_])(.{1,200}?)(?<=[^\s*_])\8(?!\w)"
)

Lines = list[list[Span]]


def render(markdown: str, width: int) -> Lines:
    """Lines of at most `width` cells."""
    rest = len(markdown) - LONGEST
    lines = list(_blocks(for_cells(markdown[:LONGEST]).split("\n"), max(width, 8)))
    while lines and not lines[-1]:
        lines.pop()
    if rest > 0:
        lines += [[], *wrapped([(f"… and {rest} characters more: copy it to read them.", DIM)], width)]
    return lines


def wrapped(
    spans: Sequence[Span], width: int, first: Sequence[Span] = (), then: Sequence[Span] = ()
) -> Lines:
    """The spans as lines, the first behind `first` and the others behind `then`."""
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


def _blocks(source: Sequence[str], width: int) -> Iterator[list[Span]]:
    at = 0
    while at < len(source):
        line = source[at]
        at += 1
        if fence := _FENCE.match(line):
            mark, language = fence[1], fence[2].strip()
            end = next((n for n in range(at, len(source)) if _closes(source[n], mark)), len(source))
            yield from _code(source[at:end], language, width)
            at = end + 1
        elif "|" in line and at < len(source) and "-" in source[at] and _DELIMITER.match(source[at]):
            end = next((n for n in range(at + 1, len(source)) if "|" not in source[n]), len(source))
            yield from _table([line, *source[at + 1 : end]], source[at], width)
            at = end
        elif width >= 16 and _QUOTE.match(line):  # each level takes two cells
            quoted = [_QUOTE.sub("", line, count=1)]
            while at < len(source) and _QUOTE.match(source[at]):
                quoted.append(_QUOTE.sub("", source[at], count=1))
                at += 1
            for inner in _blocks(quoted, max(width - 2, 8)):
                yield [("│ ", DIM), *inner]
        else:
            yield from _line(line, width)


def _closes(line: str, mark: str) -> bool:
    body = line.strip(" \t>")
    return len(body) >= len(mark) and body == mark[0] * len(body)


def _line(line: str, width: int) -> Lines:
    if not line.strip():
        return [[]]
    if heading := _HEADING.match(line):
        return wrapped(_inline(heading[2], HEADING), width)
    if _RULE.match(line):
        return [[("─" * width, DIM)]]
    if item := _ITEM.match(line):
        indent = " " * min(len(item[1]), width // 3)
        mark = item[2] if item[2][0].isdigit() else "•"
        first = [(f"{indent}{mark} ", HEADING)]
        then = [(" " * (len(indent) + len(mark) + 1), BASE)]
        return wrapped(_inline(_task(line[item.end() :]), BASE), width, first, then)
    text = line.lstrip(" ")
    indent = " " * min(len(line) - len(text), width // 3)
    return wrapped(_inline(text.rstrip(), BASE), width, [(indent, BASE)], [(indent, BASE)])


def _task(text: str) -> str:
    box, rest = text[:4].lower(), text[4:]
    return {"[ ] ": "☐ ", "[x] ": "☑ "}[box] + rest if box in ("[ ] ", "[x] ") else text


def _code(lines: Sequence[str], language: str, width: int) -> Iterator[list[Span]]:
    if language:
        yield [(f" {cells.crop(language, width - 2)} ", DIM)]
    for line in lines:
        while True:  # cut where it must be, not at words: every space counts in code
            piece = cells.crop(line, width - 2) if line else ""
            yield [(f" {piece}{' ' * (width - 1 - cells.width(piece))}", CODE)]
            line = line[len(piece) :]
            if not line or not piece:
                break


def _table(lines: Sequence[str], delimiter: str, width: int) -> Iterator[list[Span]]:
    sides = [(cell.startswith(":"), cell.endswith(":")) for cell in _split(delimiter)]
    count = len(sides)
    rows = [(_split(line) + [""] * count)[:count] for line in lines]
    styled = [[_inline(cell, STRONG if n == 0 else BASE) for cell in row] for n, row in enumerate(rows)]
    wishes = [max(_width(row[column]) for row in styled) for column in range(count)]
    widths = _shares(wishes, width - 3 * (count - 1))
    for number, row in enumerate(styled):
        columns = [wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        for line in range(max(map(len, columns))):
            out: list[Span] = []
            for column, size, side in zip(columns, widths, sides, strict=True):
                spans = column[line] if line < len(column) else []
                space = max(size - _width(spans), 0)
                left = space if side == (False, True) else space // 2 if side == (True, True) else 0
                out += [(" │ ", DIM)] if out else []
                out += [(" " * left, BASE), *spans, (" " * (space - left), BASE)]
            yield out
        if number == 0:
            yield [("─┼─".join("─" * size for size in widths), DIM)]


def _split(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith("\\|"):
        line = line[:-1]
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]


def _shares(wishes: Sequence[int], room: int) -> list[int]:
    """Columns as wide as they wish, the widest ones cut until all fit."""
    widths = [max(wish, 3) for wish in wishes]
    while sum(widths) > room and max(widths) > 4:
        widest = max(widths)
        index = widths.index(widest)
        second = max([w for w in widths if w < widest], default=4)
        widths[index] = max(second - 1, widest - (sum(widths) - room), 4)
    return widths


def _width(spans: Sequence[Span]) -> int:
    return sum(cells.width(text) for text, _ in spans)


def _inline(text: str, look: str) -> list[Span]:
    spans: list[Span] = []
    at = 0
    for match in _INLINE.finditer(text):
        if match.start() > at:
            spans.append((text[at : match.start()], look))
        at = match.end()
        escaped, _, code, label, url, mark, strong, thin, slanted = match.groups()
        if escaped:
            spans.append((escaped, look))
        elif code:
            spans.append((code.strip() or code, CODE))
        elif label:
            spans.append((label, LINK))
            if url != label:
                spans.append((f" ({url})", DIM))
        else:
            spans += _inline(strong or slanted, look + _EMPHASIS[mark or thin])
    if at < len(text):
        spans.append((text[at:], look))
    return spans
