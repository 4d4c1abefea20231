"""Text measured in terminal cells: width, cropping, wrapping."""

import unicodedata
from collections.abc import Iterator


def char_width(char: str) -> int:
    """The cells that one character adds. A test compares this with the emulator, and names the exceptions."""
    if char < "\u0300":
        return 0 if char < " " or "\x7f" <= char < "\xa0" or char == "\xad" else 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf", "Zl", "Zp"):
        return 0
    if "\u1160" <= char < "\u1200" or "\ud7b0" <= char < "\ud800":
        return 0  # Hangul vowels and final consonants join the syllable before them
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(char_width, text))


def marked(rows: list[str], mark: str, columns: int) -> list[str]:
    """`rows` indented by two cells, the first one after `mark`, if `margin` allows it."""
    if not margin(columns):
        return rows
    return [f"{'  ' if number else mark}{row}".rstrip() for number, row in enumerate(rows)]


def margin(columns: int) -> int:
    """The cells that a mark takes: none in a very narrow terminal."""
    return 2 if columns > 3 else 0


def crop(text: str, columns: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += char_width(char)
        if used > columns:
            return text[:index]
    return text


def wrap(text: str, columns: int) -> list[tuple[str, int]]:
    """Rows of at most `columns` cells, words whole, each with the offset in `text` where the next one starts.

    Text added at the end changes the last row only, so the rows before it can be printed at once.
    """
    rows: list[tuple[str, int]] = []
    row, used, offset = "", 0, 0
    for token in _tokens(text):
        start, offset = offset, offset + len(token)
        if token == "\n":
            rows.append((row, offset))
            row, used = "", 0
            continue
        size = width(token)
        if used + size <= columns:
            row, used = row + token, used + size
            continue
        if token.isspace():  # the break takes the place of the space
            rows.append((row, offset))
            row, used = "", 0
            continue
        if used:
            rows.append((row.rstrip(" "), start))
        row, used = "", 0
        for char in token:
            size = char_width(char)
            if row and used + size > columns:
                rows.append((row, start))
                row, used = "", 0
            row, used, start = row + char, used + size, start + 1
    rows.append((row, len(text)))
    return rows


def _tokens(text: str) -> Iterator[str]:
    """Newlines, runs of spaces, words; a wide character is a word of its own, as in Japanese."""
    word, kind = "", ""
    for char in text:
        if char == "\n":
            this = "newline"
        elif char == " ":
            this = "space"
        elif char_width(char) == 2:
            this = "wide"
        elif kind == "wide" and char_width(char) == 0:
            word += char
            continue
        else:
            this = "word"
        if word and (this != kind or this in ("newline", "wide")):
            yield word
            word = ""
        word, kind = word + char, this
    if word:
        yield word
