"""Reads the cells of libghostty-vt's screen."""

from functools import lru_cache
from typing import Any, NamedTuple

from synapse.terminal.ghostty_ffi import Terminal, check, ffi, init_sized, lib
from synapse.terminal.screen import Cell, Row
from synapse.terminal.styles import palette

_ATTRIBUTES = {
    "bold": "1", "faint": "2", "italic": "3", "blink": "5", "inverse": "7", "invisible": "8",
    "strikethrough": "9", "overline": "53",
}  # fmt: skip
_WIDTHS = {
    lib.GHOSTTY_CELL_WIDE_NARROW: 1,
    lib.GHOSTTY_CELL_WIDE_WIDE: 2,
    lib.GHOSTTY_CELL_WIDE_SPACER_TAIL: 0,
    lib.GHOSTTY_CELL_WIDE_SPACER_HEAD: 1,
}
_BLANK = Cell("")
_JOINER, _EMOJI = "\u200d", "\ufe0f"


def read_rows(terminal: Terminal, first: int, end: int, left: int, right: int) -> list[Row]:
    reader = _Reader(terminal.mode(2027))
    cols, rows = terminal.size
    right = min(right, cols)
    return [reader.row(terminal.ref(0, y), left, right) for y in range(max(first, 0), min(end, rows))]


def read_history(terminal: Terminal, first: int, end: int) -> list[Row]:
    reader = _Reader(terminal.mode(2027))
    cols, _ = terminal.size
    return [reader.row(terminal.ref(0, y, "history"), 0, cols) for y in range(first, end)]


class _Content(NamedTuple):
    """What a raw cell value says by itself. Style, grapheme and link are looked up in the cell's page."""

    text: str
    width: int
    sgr: str
    style: int
    has_grapheme: bool
    has_link: bool
    protected: bool


class _Reader:
    """Each raw value is decoded once: most cells have a value that another one has too."""

    def __init__(self, clusters: bool) -> None:
        self._clusters = clusters  # whether mode 2027 is on: grapheme clusters are joined into one cell
        self._plain: dict[int, dict[int, Cell]] = {}  # by page: the cells that nothing else has a part in
        self._known: dict[tuple[int, int], tuple[Cell, bool, _Content]] = {}
        self._styles: dict[tuple[int, int], str] = {}
        self._cell = ffi.new("GhosttyCell*")
        self._row = ffi.new("GhosttyRow*")
        self._flag = ffi.new("bool*")
        self._style = init_sized("GhosttyStyle")

    def row(self, ref: Any, left: int, right: int) -> Row:
        check(lib.ghostty_grid_ref_row(ref, self._row), "row")
        check(lib.ghostty_row_get(self._row[0], lib.GHOSTTY_ROW_DATA_WRAP, self._flag), "row_get")
        wrapped, unrepeatable = bool(self._flag[0]), False
        page, number = int(ffi.cast("uintptr_t", ref.node)), self._cell
        plain = self._plain.setdefault(page, {0: _BLANK})
        cells: list[Cell] = []
        read, known, add = lib.ghostty_grid_ref_cell, plain.get, cells.append
        for x in range(max(left - 2, 0), right):  # what is written at `left` may join the cell before it
            ref.x = x
            read(ref, number)
            cell = known(number[0])
            if cell is None:
                cell, bad = self._read(ref, page, number[0], plain)
                unrepeatable = unrepeatable or bad
            add(cell)
        return Row(cells[min(left, 2) :], wrapped, unrepeatable)

    def _read(self, ref: Any, page: int, raw: int, plain: dict[int, Cell]) -> tuple[Cell, bool]:
        """A cell, and whether it is unrepeatable. If its value says all, it is put into `plain`."""
        found = self._known.get((page, raw))
        if found is None:
            found = self._known[page, raw] = self._decode(ref, page, raw)
        cell, bad, content = found
        if content.has_grapheme or content.has_link:
            cell = self._with_parts(cell, content, ref)
            return cell, bad or _is_unrepeatable(cell, self._clusters)
        if not bad:
            plain[raw] = cell
        return cell, bad

    def _decode(self, ref: Any, page: int, raw: int) -> tuple[Cell, bool, _Content]:
        content = _content(raw)
        sgr = content.sgr
        if content.style:
            if (page, content.style) not in self._styles:
                check(lib.ghostty_grid_ref_style(ref, self._style), "style")
                self._styles[page, content.style] = _sgr(self._style)
            sgr = self._styles[page, content.style]
        cell = _interned(content.text, content.width, sgr)
        bad = content.protected or (not content.has_grapheme and _is_unrepeatable(cell, self._clusters))
        return cell, bad, content

    def _with_parts(self, cell: Cell, content: _Content, ref: Any) -> Cell:
        if content.has_grapheme:
            cell = cell._replace(text=self._grapheme(ref))
        return cell._replace(link=self._link(ref)) if content.has_link else cell

    def _grapheme(self, ref: Any) -> str:
        size = ffi.new("size_t*")
        lib.ghostty_grid_ref_graphemes(ref, ffi.NULL, 0, size)
        codes = ffi.new("uint32_t[]", max(size[0], 1))
        check(lib.ghostty_grid_ref_graphemes(ref, codes, len(codes), size), "graphemes")
        return "".join(map(chr, codes[0 : size[0]]))

    def _link(self, ref: Any) -> str:
        size = ffi.new("size_t*")
        lib.ghostty_grid_ref_hyperlink_uri(ref, ffi.NULL, 0, size)
        text = ffi.new("uint8_t[]", max(size[0], 1))
        check(lib.ghostty_grid_ref_hyperlink_uri(ref, text, len(text), size), "hyperlink")
        return str(ffi.buffer(text, size[0])[:].decode("utf-8", "replace"))


@lru_cache(8192)
def _content(raw: int) -> _Content:
    tag, width = _get(raw, lib.GHOSTTY_CELL_DATA_CONTENT_TAG), _WIDTHS[_get(raw, lib.GHOSTTY_CELL_DATA_WIDE)]
    text, sgr, style = "", "0", 0
    if tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE:
        sgr = "0;" + palette(40, _get(raw, lib.GHOSTTY_CELL_DATA_COLOR_PALETTE))
    elif tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_RGB:
        colour = ffi.new("GhosttyColorRgb*")
        check(lib.ghostty_cell_get(raw, lib.GHOSTTY_CELL_DATA_COLOR_RGB, colour), "cell_get")
        sgr = f"0;48;2;{colour.r};{colour.g};{colour.b}"
    else:
        code = _get(raw, lib.GHOSTTY_CELL_DATA_CODEPOINT)
        text = chr(code) if code else ""
        style = _get(raw, lib.GHOSTTY_CELL_DATA_STYLE_ID)
    return _Content(
        text=text,
        width=width,
        sgr=sgr,
        style=style,
        has_grapheme=tag == lib.GHOSTTY_CELL_CONTENT_CODEPOINT_GRAPHEME,
        has_link=bool(_get(raw, lib.GHOSTTY_CELL_DATA_HAS_HYPERLINK)),
        protected=bool(_get(raw, lib.GHOSTTY_CELL_DATA_PROTECTED)),
    )


def _get(raw: int, what: int) -> int:
    number = ffi.new("uint32_t*")  # zero: some values are written as one or two bytes
    check(lib.ghostty_cell_get(raw, what, number), "cell_get")
    return int(number[0])


@lru_cache(8192)
def _interned(text: str, width: int, sgr: str) -> Cell:
    """The same object for equal cells, so that rows are compared fast."""
    return Cell(text, width, sgr)


def _is_unrepeatable(cell: Cell, clusters: bool) -> bool:
    """A wide blank, or a cluster that was written while mode 2027 was different."""
    text = cell.text
    if cell.width == 2 and text[:1] == " ":
        return True
    if len(text) < 2 and text < _JOINER:  # nearly all
        return False
    is_flag = "\U0001f1e6" <= text[:1] <= "\U0001f1ff"
    if clusters:
        return text[-1:] == _JOINER or (is_flag and len(text) == 1) or (_EMOJI in text and cell.width == 1)
    return _JOINER in text[:-1] or (is_flag and len(text) > 1) or (_EMOJI in text and cell.width == 2)


def _sgr(style: Any) -> str:
    codes = ["0", *(code for name, code in _ATTRIBUTES.items() if getattr(style, name))]
    if style.underline:
        codes.append("4" if style.underline == 1 else f"4:{style.underline}")
    codes += _colour(30, style.fg_color) + _colour(40, style.bg_color)
    line = style.underline_color
    if line.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        codes.append(f"58:5:{line.value.palette}")
    elif line.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        codes.append(f"58:2::{line.value.rgb.r}:{line.value.rgb.g}:{line.value.rgb.b}")
    return ";".join(codes)


def _colour(base: int, colour: Any) -> list[str]:
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        return [palette(base, colour.value.palette)]
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        rgb = colour.value.rgb
        return [f"{base + 8};2;{rgb.r};{rgb.g};{rgb.b}"]
    return []
