"""A dialog between two rules whose options have no numbers: arrow keys move a pointer, and Enter takes the
option that it points at. Its key hints are below its title. Pure.

Each option is a paragraph: its name, and below that what it does.
"""

import re
from collections.abc import Sequence

from synapse.agents.look import Look
from synapse.watch.screen.dialogs import paragraphs
from synapse.watch.screen.menus import InputPrompt, key_hints, panel


def find_list(rows: Sequence[str], visible: bool | None, look: Look) -> InputPrompt | None:
    """The last of `rows` is not blank."""
    inside = None if visible else panel(rows, look)
    pointed = [n for n, row in enumerate(inside or ()) if _pointer(row, look)]
    if inside is None or len(pointed) != 1 or (head := _pointer(inside[pointed[0]], look)) is None:
        return None
    inside[pointed[0]] = " " * len(head[0]) + inside[pointed[0]][head.end() :]
    names = _names(inside, pointed[0], len(head[0]))
    hinted = next((n for n in range(names[0]) if _moves(inside[n])), None)
    if len(names) < 2 or hinted is None:
        return None
    below = next(n for n in range(hinted, names[0]) if not inside[n].strip())  # hints may be wrapped
    title, detail = paragraphs(inside[:hinted]), paragraphs(inside[below : names[0]])
    if not title:
        return None
    question = " ".join(title[-1])
    labels = [inside[n].strip() for n in names]
    marked = names.index(pointed[0])
    return InputPrompt(
        prompt_text=question,
        input_type="selection",
        options=labels,
        default=labels[marked],
        question=question,
        detail="\n\n".join("\n".join(lines) for lines in detail) or None,
        keys={label: _keys(number - marked) for number, label in enumerate(labels)},
        cancel="Escape" if ("Escape" in dict(key_hints(inside[hinted].strip()))) else None,
    )


def _pointer(row: str, look: Look) -> re.Match[str] | None:
    return re.match(rf"\s*[{re.escape(look.pointer)}] (?=\S)", row) if look.pointer else None


def _moves(row: str) -> bool:
    hints = key_hints(row.strip())
    return any("↑" in key for key, _ in hints) and any(key == "Enter" for key, _ in hints)


def _names(rows: Sequence[str], pointed: int, column: int) -> list[int]:
    """The first rows of the paragraphs around one that begin in the same column as it does."""
    found = [pointed]
    for step in (-1, 1):
        row = pointed
        while 0 <= (row := row + step) < len(rows):
            text = rows[row]
            if text.strip() and len(text) - len(text.lstrip()) != column:
                break
            if text.strip() and row and not rows[row - 1].strip():
                found.append(row)
    return sorted(found)


def _keys(steps: int) -> str:
    return " ".join([*[("Down" if steps > 0 else "Up")] * abs(steps), "Enter"])
