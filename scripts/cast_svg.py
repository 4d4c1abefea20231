"""A recording of a terminal as an animated SVG: CSS keyframes, no script, no font of its own.

Each row is drawn once for each time that it stays the same, and is shown only then. Where motion is not
wanted (prefers-reduced-motion), one moment is shown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from synapse.terminal.screen import Cell, make_screen

CELL, LINE, SIZE = 8.4, 17, 14  # the width of a cell, the height of a row and of the letters
LEFT, TOP, BOTTOM = 14, 38, 40
STEP = 0.08  # seconds: what changes within them is one change
HOLD = 3.0  # seconds in which the last picture stays
PAPER, INK, FRAME, QUIET = "#16181d", "#d6d9e0", "#3b404a", "#9aa1ad"
COLOURS = (
    "#16181d", "#f0737a", "#86c987", "#e0b866", "#7fb0f5", "#cf94e4", "#6cc7cf", "#d6d9e0",
    "#767d8a", "#ff9096", "#a3dfa3", "#f2d08a", "#a3c9ff", "#e2b3f2", "#92dfe6", "#ffffff",
)  # fmt: skip
CUBE = (0, 95, 135, 175, 215, 255)

Shown = tuple[float, float]  # from, until


def _indexed(number: int) -> str:
    if number < 16:
        return COLOURS[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    place = number - 16
    return "#" + "".join(f"{CUBE[part]:02x}" for part in (place // 36, place // 6 % 6, place % 6))


def _look(sgr: str) -> tuple[str, str, str]:
    """The colour of the text, that of the ground ("" for the screen's), and other attributes."""
    ink, ground, more, inverse = "", "", "", False
    words = iter(sgr.split(";"))
    for word in words:
        code = int(word.partition(":")[0] or 0)
        if code in (38, 48):
            if next(words) == "5":
                colour = _indexed(int(next(words)))
            else:
                colour = "#" + "".join(f"{int(next(words)):02x}" for _ in range(3))
            ink, ground = (colour, ground) if code == 38 else (ink, colour)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            ink = COLOURS[code - 30 if code < 90 else code - 82]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            ground = COLOURS[code - 40 if code < 100 else code - 92]
        elif code == 7:
            inverse = True
        more += {1: ' font-weight="700"', 2: ' opacity=".7"', 3: ' font-style="italic"'}.get(code, "")
        more += {4: ' text-decoration="underline"', 9: ' text-decoration="line-through"'}.get(code, "")
    if inverse:
        ink, ground = ground or PAPER, ink or INK
    return ink, ground, more


def _row(cells: Sequence[Cell], y: int) -> str:
    """The row as grounds and texts; the length of each text is given, so that every font fits the cells."""
    grounds, texts, at = "", "", 0
    top = TOP + y * LINE
    while at < len(cells):
        end, cell = at + 1, cells[at]
        while end < len(cells) and cells[end].sgr == cell.sgr and (cells[end].width != 2 or cell.width == 2):
            if cells[end].width == 1 and cell.width == 2:
                break
            end += 1
        ink, ground, more = _look(cell.sgr)
        if ground:
            x, width = LEFT + at * CELL, (end - at) * CELL
            grounds += (
                f'<rect x="{x:.1f}" y="{top}" width="{width + 0.3:.1f}" height="{LINE}" fill="{ground}"/>'
            )
        text = "".join(one.text or " " for one in cells[at:end] if one.width)
        before, text = len(text) - len(text.lstrip()), text.strip()
        if text:
            x, width = LEFT + (at + before) * CELL, len(text) * cell.width * CELL
            colour = f' fill="{ink}"' if ink else ""
            length = f' textLength="{width:.1f}"' if len(text) > 1 else ""
            texts += f'<text x="{x:.1f}" y="{top + 13}"{length}{colour}{more}>{escape(text)}</text>'
        at = end
    return grounds + texts


def _pictures(cast: Path) -> tuple[tuple[int, int], list[tuple[float, list[str]]], list[tuple[float, str]]]:
    """The size, what each row shows from which second on, and the recording's marks."""
    head, *lines = cast.read_text().splitlines()
    size = json.loads(head)["width"], json.loads(head)["height"]
    screen = make_screen(*size)
    found: list[tuple[float, list[str]]] = []
    events = [json.loads(line) for line in lines]
    outputs = [(at, data) for at, kind, data in events if kind == "o"]
    first = outputs[0][0]
    marks = [(at - first, data) for at, kind, data in events if kind == "m"]
    for number, (at, data) in enumerate(outputs):
        screen.feed(data.encode())
        if number + 1 < len(outputs) and outputs[number + 1][0] - at < STEP:
            continue
        rows = [_row(row.cells, y) for y, row in enumerate(screen.rows(0, size[1]))]
        if screen.cursor_visible:
            x, y = screen.cursor
            rows.append(
                f'<rect x="{LEFT + x * CELL:.1f}" y="{TOP + y * LINE}" width="{CELL}" height="{LINE}" '
                f'fill="{INK}" opacity=".6"/>'
            )
        else:
            rows.append("")
        found.append((at - first, rows))
    return size, found, marks


def _times(pictures: list[tuple[float, list[str]]], end: float) -> dict[Shown, list[str]]:
    """What is shown in which span of time."""
    found: dict[Shown, list[str]] = {}
    for place in range(len(pictures[0][1])):
        since, shown = 0.0, ""
        for at, rows in [*pictures, (end, [])]:
            now = rows[place] if rows else None
            if now != shown:
                if shown:
                    found.setdefault((since, at), []).append(shown)
                since, shown = at, now or ""
    return found


def animate(cast: Path, title: str, captions: dict[str, str], still: str) -> str:
    """`captions` has a sentence for the beginning ("") and for each mark; `still` is the mark after which the
    one moment is that is shown without motion."""
    (cols, rows), pictures, marks = _pictures(cast)
    end = pictures[-1][0] + HOLD
    times = _times(pictures, end)
    width, height = round(2 * LEFT + cols * CELL), TOP + rows * LINE + BOTTOM
    said = [(0.0, captions[""]), *((at, captions[mark]) for at, mark in marks)]
    for (at, sentence), until in zip(said, [*(at for at, _ in said[1:]), end], strict=True):
        line = f'<text class="said" x="{LEFT}" y="{height - 14}">{escape(sentence)}</text>'
        times.setdefault((at, until), []).append(line)
    moment = next(at for at, mark in marks if mark == still) + 2.0
    style, body = [], []
    for number, ((since, until), drawn) in enumerate(sorted(times.items())):
        if since <= 0 and until >= end:
            body.append("".join(drawn))
            continue
        begin, stop = (f"{100 * at / end:.2f}%" for at in (since, until))
        hidden, seen = "{visibility:hidden}", "{visibility:visible}"
        frames = (f"0%{hidden}" if since > 0 else "") + f"{begin}{seen}"
        frames += f"{stop},100%{hidden}" if until < end else f"100%{seen}"
        style.append(f"@keyframes k{number}{{{frames}}}#s{number}{{animation-name:k{number}}}")
        kind = "m" if since <= moment < until else "m off"
        body.append(f'<g id="s{number}" class="{kind}">{"".join(drawn)}</g>')
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-labelledby="t">
<title id="t">{escape(title)}</title>
<style>
text{{font:{SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}
.said{{font-weight:700}}
rect{{shape-rendering:crispEdges}}
.off{{visibility:hidden}}
@media not (prefers-reduced-motion:reduce){{.m{{animation:{end:.2f}s step-end infinite}}}}
{"".join(style)}
</style>
<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9" fill="{PAPER}" stroke="{FRAME}"/>
<g fill="{INK}">
<text x="{LEFT}" y="24" fill="{QUIET}">$ synapse claude</text>
{"".join(body)}
</g>
</svg>
"""
