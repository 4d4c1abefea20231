"""Detects whether an agent waits for an answer, and what it asks.

`detect` reads the last line of an output, as the specification says. `detect_screen` reads a rendered screen
and reports only what is live: a menu or dialog at the bottom (`menus.py`), or a question on the line of the
cursor. An agent that shows its composer asks nothing, whatever its last reply says.

Nothing is remembered between calls. A screen that is half painted can look like anything, so call it when
the output has been quiet for a moment.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from synapse.agents.look import Look
from synapse.watch import looks
from synapse.watch.menus import LINE, Cursor, InputPrompt, composer, find_menu, screen_rows

__all__ = ["TYPES", "InputPrompt", "InputRequiredDetector"]

Pattern = tuple[re.Pattern[str], list[str] | None]
TYPES = ("confirmation", "password", "selection", "text")  # in the order in which they are tried


class InputRequiredDetector:
    PATTERNS: Mapping[str, tuple[tuple[str, list[str] | None], ...]] = {
        "confirmation": (
            (r"\(y/n\)\s*[:\?]?\s*$", ["y", "n"]),
            (r"\[Y/n\]\s*[:\?]?\s*$", ["Y", "n"]),
            (r"\[y/N\]\s*[:\?]?\s*$", ["y", "N"]),
            (r"yes/no\s*[:\?]?\s*$", ["yes", "no"]),
            (r"続行しますか", ["y", "n"]),
            (r"Continue\?", ["y", "n"]),
        ),
        "password": ((r"(?:Password|パスワード|Secret|Token):\s*$", None),),
        "text": ((r"(?:Enter\s+[\w\s]+:|Input:|Name:|Value:|>)\s*$", None),),
    }
    SELECTION_PATTERN = re.compile(r"(?:\[(\d+(?:/\d+)+)\]|\((\d+)\)\s*\w+)", re.IGNORECASE)

    # Only for the line of the cursor: `detect` would find these anywhere.
    SCREEN_PATTERNS: tuple[tuple[str, str, list[str] | None], ...] = (
        (r"\(yes/no(?:/\[fingerprint\])?\)\s*[:?]?\s*$", "confirmation", ["yes", "no"]),  # ssh
        (r"press (?:enter|return|any key) to continue\W*$", "confirmation", None),
        (r"[\[(<](?:(?:press|hit) )?(?:enter|return)(?: to \w+)?[\])>]\s*[:?]?\s*$", "confirmation", None),
        (r"(?:password|passphrase|PIN)(?: for [^:]+)?\s*[:：]\s*$", "password", None),  # sudo, ssh, git
        (r"パスワード\s*[:：]\s*$", "password", None),
    )
    _LETTERED = re.compile(r"\((\w)\)(\w[\w' ]*)?")  # aider: (Y)es/(N)o/(D)on't ask again [Yes]:
    _LETTERED_LINE = re.compile(r"\(\w\)\w*(?:/\(\w\)[\w' ]*)+(?:\s*\[(\w+)\])?\s*[:?]?\s*$")
    _ENDS = re.compile(r"(?:[\s?？:：.。]|[\[(][^\])]*[\])])*$")  # nothing after a question but how to answer
    _YES_NO = re.compile(r"[\[(](y)/(n)[\])]", re.IGNORECASE)

    def __init__(
        self,
        additional_patterns: Sequence[tuple[str, str, list[str] | None]] | None = None,
        enabled: bool = True,
        look: Look | None = None,
    ) -> None:
        """`additional_patterns`: (regular expression, type, options), the type one of TYPES. `look` says how
        the CLI draws its composer and its dialogs; default: as the built-in CLIs do."""
        self.enabled = enabled
        self._look = look or looks.known()
        self._builtin = {kind: _compile(self.PATTERNS.get(kind, ())) for kind in TYPES}
        self._live = [(kind, *_compile([(pattern, o)])[0]) for pattern, kind, o in self.SCREEN_PATTERNS]
        self._added: dict[str, list[Pattern]] = {kind: [] for kind in TYPES}
        for pattern, kind, options in additional_patterns or ():
            if kind not in TYPES:
                raise ValueError(f"a prompt is of type {', '.join(TYPES)}, not {kind!r}")
            self._added[kind] += _compile([(pattern, options)])

    def detect(self, output: str) -> InputPrompt | None:
        if not self.enabled:
            return None
        last_line = output.strip().rsplit("\n", 1)[-1].strip()
        tail = last_line[-LINE:]
        for kind in TYPES:
            if kind == "selection" and (match := self.SELECTION_PATTERN.search(tail)):
                return InputPrompt(last_line, kind, match[1].split("/") if match[1] else None)
            for pattern, options in self._builtin[kind] + self._added[kind]:
                if pattern.search(tail):
                    return InputPrompt(last_line, kind, self._as_written(tail, options))
        return None

    def detect_screen(
        self, lines: Sequence[str], cursor: Cursor | None, cursor_visible: bool | None = None
    ) -> InputPrompt | None:
        """What the screen asks now. `cursor` is (column, row); `cursor_visible` is None if unknown."""
        if not self.enabled:
            return None
        rows = screen_rows(lines)
        if not rows or (cursor_visible and cursor is not None and cursor[1] >= len(rows)):
            return None  # a visible cursor below everything: the program that drew this has ended
        if composer(rows, cursor, cursor_visible, self._look) is not None:
            return None
        menu = find_menu(rows, cursor, cursor_visible, self._look)
        return menu or self._added_line(rows[-1].strip()) or self._line(rows, cursor)

    def _added_line(self, text: str) -> InputPrompt | None:
        """The profile's own patterns count on the last line wherever the cursor is."""
        for kind, patterns in self._added.items():
            for pattern, options in patterns:
                if pattern.search(text[-LINE:]):
                    return InputPrompt(text, kind, options)
        return None

    def _line(self, rows: Sequence[str], cursor: Cursor | None) -> InputPrompt | None:
        """A program that asks line by line: on the last line, with the cursor there and nothing after it."""
        if cursor is not None and cursor[1] != len(rows) - 1:
            return None
        text = rows[-1].strip()
        tail = text[-LINE:]
        if lettered := self._LETTERED_LINE.search(tail):
            letters = {a + b.strip(): a for a, b in self._LETTERED.findall(lettered[0])}
            return InputPrompt(text, "confirmation", list(letters), default=lettered[1], keys=letters)
        for kind, pattern, options in self._live:
            if pattern.search(tail):
                return InputPrompt(text, kind, options)
        for kind in ("confirmation", "password"):
            for pattern, options in self._builtin[kind]:
                if (match := pattern.search(tail)) and self._ENDS.match(tail, match.end()):
                    written = self._as_written(tail, options)
                    return InputPrompt(text, kind, written, _capital(written))
        if (match := self.SELECTION_PATTERN.search(tail)) and tail.endswith((":", "?", "：", "？", "]")):
            numbers = match[1].split("/") if match[1] else re.findall(r"\((\d+)\)\s*\w", tail)
            if len(numbers) > 1:
                return InputPrompt(text, "selection", numbers)
        if tail.endswith(">"):
            return None  # a prompt at rest
        return InputPrompt(text, "text") if any(p.search(tail) for p, _ in self._builtin["text"]) else None

    def _as_written(self, text: str, options: list[str] | None) -> list[str] | None:
        """[y/N] offers y and N: the patterns match in any case."""
        found = self._YES_NO.search(text)
        return [found[1], found[2]] if found and options and options[0] in ("y", "Y") else options


def _compile(patterns: Iterable[tuple[str, list[str] | None]]) -> list[Pattern]:
    return [(re.compile(pattern, re.IGNORECASE), options) for pattern, options in patterns]


def _capital(options: list[str] | None) -> str | None:
    """In [Y/n] the capital letter is what Enter answers."""
    capitals = [option for option in options or () if option.isupper()]
    return capitals[0] if len(capitals) == 1 else None
