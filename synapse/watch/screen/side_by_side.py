"""A dialog behind a bar at its left, with its options side by side in its last row. Pure.

No option has a key of its own: arrow keys move a coloured mark, and Enter takes the marked one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from synapse.agents.look import Look, MenuStyle
from synapse.agents.requests import one_line
from synapse.keys import patterns
from synapse.terminal.cells import crop, width
from synapse.watch.screen.coloured import Shade
from synapse.watch.screen.dialogs import is_permission, paragraphs
from synapse.watch.screen.menus import InputPrompt, key_hints

_PART = re.compile(r"\S+(?: \S+)*")  # what two blanks separate
_SYMBOL = re.compile(r"^[^\w\s\"'(`/~.-]\s+")  # before the title of a dialog
_DENIES = re.compile(r"(?i)(?:reject|deny|no|cancel)\b")


def find_side_by_side(rows: Sequence[str], look: Look, shade: Shade | None) -> InputPrompt | None:
    """The last of `rows` is not blank. Without `shade`, the first option counts as the marked one."""
    for style in look.menus:
        if style.bar and (prompt := _dialog(rows, style, look, shade)) is not None:
            return prompt
    return None


def _dialog(rows: Sequence[str], style: MenuStyle, look: Look, shade: Shade | None) -> InputPrompt | None:
    edge, top = rows[-1].find(style.bar), len(rows)
    while top and edge >= 0 and rows[top - 1][: edge + 1] == " " * edge + style.bar:
        top -= 1
    right = _right(rows[top:], len(rows) - 1, edge + 1, shade)
    inside = [crop(row, right.text)[edge + 1 :].rstrip() for row in rows[top:]]
    last = len(inside) - 1
    while last > 0 and (not inside[last].strip() or key_hints(_parts(inside[last])[0][1])):
        last -= 1  # in a narrow terminal the hints are below the options
    options = [(start, text) for start, text in _parts(inside[last]) if not key_hints(text)] if inside else []
    texts = paragraphs(inside[:last])
    has_hints = any(key_hints(text) for row in inside[last:] for _, text in _parts(row))
    if not options or not has_hints or not texts:
        return None
    end = edge + 1 + options[-1][0] + len(options[-1][1])
    drawn = [text for _, text in options]
    known = _all_of(drawn, look) if end + 1 >= right.ground else drawn  # a blank is behind each option
    labels = known or drawn
    if len(labels) < 2:
        return None
    marked = 0
    if shade is not None:
        row, ground = top + last, shade(top + last, edge + 1)
        marks = (n for n, (start, _) in enumerate(options) if shade(row, edge + 1 + start) != ground)
        marked = next(marks, len(drawn) if len(labels) > len(drawn) else 0)
    question, rest = _title(texts[0], look)
    detail = "\n\n".join("\n".join(lines) for lines in [rest, *texts[1:]] if lines)
    about = patterns.search(style.subject, detail) if style.subject else None
    subject = one_line(next((group for group in about.groups() if group), "")) if about else ""
    return InputPrompt(
        prompt_text="\n".join(filter(None, (question, subject))),
        input_type="selection",
        options=labels,
        default=labels[marked],
        question=question,
        subject=subject or None,
        detail=detail or None,
        keys={label: _keys(number - marked, label) for number, label in enumerate(labels)},
        cancel="Escape",
        permission=is_permission(question, look),
        cut=known is None,
    )


def _title(lines: Sequence[str], look: Look) -> tuple[str, Sequence[str]]:
    """The title, which a narrow screen may wrap, and the lines below it."""
    first, *rest = _SYMBOL.sub("", lines[0]), *lines[1:]
    both = f"{first} {rest[0]}" if rest else first
    wraps = is_permission(both, look) and not is_permission(first, look)
    return (both, rest[1:]) if wraps else (first, rest)


@dataclass(frozen=True, slots=True)
class _Right:
    """The columns where the background of the dialog ends, and where its text does."""

    ground: int
    text: int


def _right(rows: Sequence[str], last: int, left: int, shade: Shade | None) -> _Right:
    """Options may be drawn beyond the background, unless a sidebar is there. `last` is the row below them."""
    limit = max(map(width, rows), default=0) + 2
    if shade is None or not rows:
        return _Right(limit, limit)
    ground, outside = shade(last, left), shade(last, 0)
    right = next((column for column in range(left, limit) if shade(last, column) != ground), limit)
    has_sidebar = any(shade(last, column) not in ("", outside) for column in range(right, limit))
    return _Right(right, right if has_sidebar else limit)


def _all_of(drawn: Sequence[str], look: Look) -> list[str] | None:
    """The options of which a narrow screen shows only these, the last one perhaps not whole."""
    *whole, last = drawn
    for known in look.options:
        if [*known[: len(whole)]] == whole and "".join(known[len(whole) : len(drawn)]).startswith(last):
            return list(known)
    return None


def _parts(row: str) -> list[tuple[int, str]]:
    return [(found.start(), found[0]) for found in _PART.finditer(row)]


def _keys(steps: int, label: str) -> str:
    """Escape denies wherever the mark is."""
    if _DENIES.match(label):
        return "Escape"
    return " ".join([*[("Right" if steps > 0 else "Left")] * abs(steps), "Enter"])
