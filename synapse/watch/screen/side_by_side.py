"""A dialog behind a bar at its left, with its options side by side in its last row. Pure.

No option has a key of its own: arrow keys move a coloured mark, and Enter takes the marked one.
"""

import re
from collections.abc import Sequence

from synapse.agents.look import Look, MenuStyle
from synapse.agents.requests import one_line
from synapse.keys import patterns
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
    inside = [row[edge + 1 :] for row in rows[top:]]
    last = len(inside) - 1
    while last > 0 and (not inside[last].strip() or key_hints(_parts(inside[last])[0][1])):
        last -= 1  # in a narrow terminal the hints are below the options
    options = [(start, text) for start, text in _parts(inside[last]) if not key_hints(text)] if inside else []
    texts = paragraphs(inside[:last])
    has_hints = any(key_hints(text) for row in inside[last:] for _, text in _parts(row))
    if len(options) < 2 or not has_hints or not texts:
        return None
    marked = 0
    if shade is not None:
        row, ground = top + last, shade(top + last, edge + 1)
        marks = (n for n, (start, _) in enumerate(options) if shade(row, edge + 1 + start) != ground)
        marked = next(marks, 0)
    question = _SYMBOL.sub("", texts[0][0])
    detail = "\n\n".join("\n".join(lines) for lines in [texts[0][1:], *texts[1:]] if lines)
    about = patterns.search(style.subject, detail) if style.subject else None
    subject = one_line(next((group for group in about.groups() if group), "")) if about else ""
    labels = [text for _, text in options]
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
    )


def _parts(row: str) -> list[tuple[int, str]]:
    return [(found.start(), found[0]) for found in _PART.finditer(row)]


def _keys(steps: int, label: str) -> str:
    """Escape denies wherever the mark is."""
    if _DENIES.match(label):
        return "Escape"
    return " ".join([*[("Right" if steps > 0 else "Left")] * abs(steps), "Enter"])
