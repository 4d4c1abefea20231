"""The style of a cell, from its SGR parameters: background, drawn cursor, and text that is a suggestion."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from synapse.terminal.screen import Cell

_GREY = range(60, 200)  # of 255: how bright placeholders are
_NEUTRAL = 32  # at most between the channels of a grey
_BRIGHT_BLACK = 8
_CUBE = (0, 95, 135, 175, 215, 255)  # the channels of colours 16 to 231


class Style(NamedTuple):
    faint: bool = False
    inverse: bool = False
    colour: str = ""  # parameters; empty: the default
    background: str = ""
    bold: bool = False

    @property
    def grey(self) -> bool:
        channels = _channels(self.colour)
        if channels is None:
            return False
        return max(channels) - min(channels) <= _NEUTRAL and sum(channels) // 3 in _GREY

    @property
    def suggested(self) -> bool:
        """Whether it is the style of a placeholder or of a completion that nobody typed."""
        return self.faint or (self.grey and not self.bold)  # bold grey is a highlighted word


@cache
def style_of(sgr: str) -> Style:
    faint = inverse = bold = False
    colours = {"3": "", "4": ""}
    words = iter(sgr.split(";"))
    for word in words:
        if word in ("38", "48"):
            kind = next(words, "")
            count = {"2": 3, "5": 1}.get(kind, 0)
            colours[word[0]] = ";".join([word, kind, *(next(words, "") for _ in range(count))])
        elif len(word) >= 2 and word[-2] in "34" and word[-1] in "01234567":  # 30 to 47
            colours[word[-2]] = word
        elif len(word) >= 2 and word[:-1] in ("9", "10"):
            colours["3" if word[:-1] == "9" else "4"] = word
        else:
            faint, inverse, bold = faint or word == "2", inverse or word == "7", bold or word == "1"
    return Style(faint, inverse, colours["3"], colours["4"], bold)


def typed_text(cells: Sequence[Cell]) -> str:
    """The text of cells, with blanks in place of a placeholder or a suggestion."""
    styles = [style_of(cell.sgr) for cell in cells]
    text = ""
    for number, (cell, style) in enumerate(zip(cells, styles, strict=True)):
        suggested = style.suggested
        if style.inverse and number + 1 < len(cells):  # a drawn cursor: the cell has the cursor's style
            suggested = styles[number + 1].suggested and bool(cells[number + 1].text.strip())
        shown = "" if cell.width == 0 else cell.text or " "
        text += " " * cell.width if suggested else shown
    return text


def _channels(colour: str) -> tuple[int, int, int] | None:
    """Red, green and blue of a foreground colour; None for the default and for the terminal's own palette."""
    words = colour.split(";")
    if words[:2] == ["38", "2"] and len(words) == 5 and all(word.isdigit() for word in words):
        red, green, blue = map(int, words[2:])
        return red, green, blue
    if colour == "90" or words == ["38", "5", str(_BRIGHT_BLACK)]:
        return 128, 128, 128
    if words[:2] == ["38", "5"] and len(words) == 3 and words[2].isdigit():
        index = int(words[2])
        if index >= 232:
            return (8 + 10 * (index - 232),) * 3
        if index >= 16:
            index -= 16
            return _CUBE[index // 36], _CUBE[index // 6 % 6], _CUBE[index % 6]
    return None


def palette(base: int, index: int) -> str:
    """The first sixteen colours have codes of their own: some terminals brighten only those when bold."""
    if index < 8:
        return str(base + index)
    return str(base + 60 + index - 8) if index < 16 else f"{base + 8};5;{index}"
