"""Detects whether an agent waits for an answer, and what it asks.

`detect` reads the last line of an output, as the specification says. `detect_screen` reads a rendered screen
and reports only what is live: a menu or dialog at the bottom (`menus.py`), or a question on the line of the
cursor. An agent that shows its composer asks nothing, whatever its last reply says.

Nothing is remembered between calls. A screen that is half painted can look like anything, so call it when
the output has been quiet for a moment.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from synapse.agents.look import Look
from synapse.agents.requests import ToolRequest, one_line
from synapse.keys import patterns
from synapse.watch.screen import looks
from synapse.watch.screen.coloured import Shade, with_marks
from synapse.watch.screen.dialogs import matches
from synapse.watch.screen.lists import find_list
from synapse.watch.screen.menus import LINE, Cursor, InputPrompt, composer, find_menu, screen_rows
from synapse.watch.screen.side_by_side import find_side_by_side

__all__ = ["TYPES", "InputPrompt", "InputRequiredDetector"]

Pattern = tuple[patterns.Pattern, list[str] | None]
TYPES = ("confirmation", "password", "selection", "text")  # in the order in which they are tried


# A question that does not say what would be done.
_BARE = re.compile(
    r"(?i)(?:(?:do you want to|would you like to|shall i|may i|ok to) )?"
    r"(?:proceed|continue|run|execute|apply|allow|go ahead)(?: with)?"
    r"(?: (?:it|this|that|these|the|following|above|shell|commands?|tools?|changes?|actions?|edits?))*"
    r"\s*(?:[?:(\[]|$)|続行しますか"
)
PARAGRAPH = 20  # rows above a question
ROW = 8  # characters of a row that tell what it is a part of


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
    _LETTERED = re.compile(r"[(\[](\w)[)\]](\w[\w' ]*?)?(?=\s*(?:[/,|:?\[]|\bor\b|$))")
    # aider: (Y)es/(N)o/(D)on't ask again [Yes]:   others: (k)eep, (d)elete or (q)uit?
    _LETTERED_LINE = re.compile(
        r"(?:[(\[]\w[)\]]\w*(?:/[(\[]\w[)\]][\w' ]*)+"
        r"|[(\[][a-zA-Z][)\]]\w+(?:(?:\s*[,|]\s*(?:or\s+)?|\s+or\s+)[(\[][a-zA-Z][)\]]\w[\w' ]*)+)"
        r"(?:\s*\[(\w{2,})\])?\s*[:?]?\s*$"
    )
    _WORDS_LINE = re.compile(r"[\[(]\s*([\w?-]+(?:\s*[/|,]\s*[\w?-]+){1,})\s*[\])]\s*[:?]?\s*$")  # [y/N/a]
    _LISTED = re.compile(r"\s*[\[(]?(\d{1,2})[.):\]]+\s+(\S.*)")  # 1. Keep
    _ENDS = re.compile(r"(?:[\s?？:：.。]|[\[(][^\])]*[\])])*$")  # nothing after a question but how to answer
    _YES_NO = re.compile(r"[\[(](y)/(n)[\])]", re.IGNORECASE)

    def __init__(
        self,
        additional_patterns: Sequence[tuple[str, str, list[str] | None]] | None = None,
        enabled: bool = True,
        look: Look | None = None,
        colours: bool = True,
    ) -> None:
        """`additional_patterns`: (regular expression, type, options), the type one of TYPES. `look` says how
        the CLI draws its composer and its dialogs; default: as the built-in CLIs do. `colours`: it uses them,
        so that an option which Enter takes can be told by its background."""
        self.enabled = enabled
        self._colours = colours
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
        self,
        lines: Sequence[str],
        cursor: Cursor | None,
        cursor_visible: bool | None = None,
        shade: Shade | None = None,
    ) -> InputPrompt | None:
        """What the screen asks now. `cursor` is (column, row); `cursor_visible` is None if unknown."""
        if not self.enabled:
            return None
        rows = screen_rows(lines)
        if not rows or (cursor_visible and cursor is not None and cursor[1] >= len(rows)):
            return None  # a visible cursor below everything: the program that drew this has ended
        if composer(rows, cursor, cursor_visible, self._look) is not None:
            return None
        menu = find_side_by_side(rows, self._look, shade) or find_list(rows, cursor_visible, self._look)
        drawn = with_marks(rows, self._look, shade if self._colours else None)
        menu = menu or find_menu(drawn, cursor, cursor_visible, self._look)
        return menu or self._added_line(rows[-1].strip()) or self._line(rows, cursor)

    def _added_line(self, text: str) -> InputPrompt | None:
        """The profile's own patterns count on the last line wherever the cursor is."""
        for kind, added in self._added.items():
            for pattern, options in added:
                if pattern.search(text[-LINE:]):
                    return InputPrompt(text, kind, options)
        return None

    def _line(self, rows: Sequence[str], cursor: Cursor | None) -> InputPrompt | None:
        """A program that asks line by line: on the last line, with the cursor there and nothing after it."""
        if cursor is not None and cursor[1] != len(rows) - 1:
            return None
        prompt = self._offered(rows) or self._asked(rows[-1].strip())
        if prompt is None or prompt.input_type != "confirmation":
            return prompt
        if not _BARE.match(prompt.prompt_text) and not matches(self._look.about_above, prompt.prompt_text):
            return prompt
        above = _paragraph_above(rows)
        subject = one_line(above[-1]) if above else None
        return replace(prompt, subject=subject, detail="\n".join(above) or None, permission=True)

    def _offered(self, rows: Sequence[str]) -> InputPrompt | None:
        """A question that says what may be typed: letters, words, or the numbers of the list above it."""
        text = rows[-1].strip()
        tail = text[-LINE:]
        if lettered := self._LETTERED_LINE.search(tail):
            letters = {a + b.strip(): a for a, b in self._LETTERED.findall(lettered[0])}
            return InputPrompt(
                text, "confirmation", list(letters), default=lettered[1], keys=letters, typed=True
            )
        if (match := self.SELECTION_PATTERN.search(tail)) and tail.endswith((":", "?", "：", "？", "]")):
            numbers = match[1].split("/") if match[1] else re.findall(r"\((\d+)\)\s*\w", tail)
            if len(numbers) > 1:
                return self._numbered(rows, numbers)
        if not (words := self._WORDS_LINE.search(tail)):
            return None
        offered = re.split(r"\s*[/|,]\s*", words[1])
        asks = (
            tail.endswith((":", "?")) or "?" in tail[: words.start()] or {"y", "n"} <= set(words[1].lower())
        )
        if len(offered) < 3 or any(word.isdecimal() for word in offered) or not asks:
            return None
        return InputPrompt(
            text, "selection", offered, _capital(offered), keys={word: word for word in offered}, typed=True
        )

    def _numbered(self, rows: Sequence[str], numbers: list[str]) -> InputPrompt:
        text = rows[-1].strip()
        labels: dict[str, str] = {}
        row = len(rows) - 2
        while row >= 0 and (listed := self._LISTED.fullmatch(rows[row])) and listed[1] in numbers:
            labels[listed[1]] = listed[2].strip()
            row -= 1
        if len(labels) != len(numbers) or len(set(labels.values())) != len(numbers):
            return InputPrompt(text, "selection", numbers)
        heading = rows[row].strip() if row >= 0 else ""
        keys = {labels[number]: number for number in numbers}
        return InputPrompt(text, "selection", list(keys), question=heading or text, keys=keys, typed=True)

    def _asked(self, text: str) -> InputPrompt | None:
        tail = text[-LINE:]
        for kind, pattern, options in self._live:
            if pattern.search(tail):
                return InputPrompt(text, kind, options)
        for kind in ("confirmation", "password"):
            for pattern, options in self._builtin[kind]:
                if (match := pattern.search(tail)) and self._ENDS.match(tail, match.end()):
                    written = self._as_written(tail, options)
                    return InputPrompt(text, kind, written, _capital(written))
        if tail.endswith(">"):
            return None  # a prompt at rest
        return InputPrompt(text, "text") if any(p.search(tail) for p, _ in self._builtin["text"]) else None

    def _as_written(self, text: str, options: list[str] | None) -> list[str] | None:
        """[y/N] offers y and N: the patterns match in any case."""
        found = self._YES_NO.search(text)
        return [found[1], found[2]] if found and options and options[0] in ("y", "Y") else options


def _compile(given: Iterable[tuple[str, list[str] | None]]) -> list[Pattern]:
    return [(patterns.Pattern(pattern, re.IGNORECASE), options) for pattern, options in given]


def _capital(options: list[str] | None) -> str | None:
    """In [Y/n] the capital letter is what Enter answers."""
    capitals = [option for option in options or () if option.isupper()]
    return capitals[0] if len(capitals) == 1 else None


def _paragraph_above(rows: Sequence[str]) -> list[str]:
    """The rows with text above the last one, up to a blank row; one blank row may be between."""
    last = len(rows) - 2
    if last >= 0 and not rows[last].strip():
        last -= 1
    first = last
    while first >= 0 and rows[first].strip() and last - first < PARAGRAPH:
        first -= 1
    return [row.strip() for row in rows[first + 1 : last + 1]]


def explained(prompt: InputPrompt | None, requests: Sequence[ToolRequest]) -> InputPrompt | None:
    """The prompt with what the channel says that it is about: a screen cuts it, or shows a description."""
    if prompt is None or not prompt.permission or not requests:
        return prompt
    request = _meant(prompt, requests)
    if request is None:
        return prompt
    asked = f"{prompt.question}\n{request.subject}" if prompt.question else prompt.prompt_text
    return replace(prompt, prompt_text=asked, subject=request.subject, detail=request.detail, hidden=False)


def _meant(prompt: InputPrompt, requests: Sequence[ToolRequest]) -> ToolRequest | None:
    """The request that the dialog shows the most of: several may wait at the same time."""
    texts = f"{prompt.question}\n{prompt.subject}\n{prompt.detail}"
    shown, rows = _squeezed(texts), {_squeezed(row) for row in texts.split("\n")}
    scores = [_shown_of(request, shown, rows) for request in requests]
    if max(scores):
        return requests[scores.index(max(scores))]
    return requests[0] if len(requests) == 1 and not prompt.subject else None


def _shown_of(request: ToolRequest, shown: str, rows: set[str]) -> int:
    """How many characters of it a dialog shows: of its lines and names, or as rows of a line that it cuts."""
    pieces = sum(len(piece) for piece in _pieces(request) if piece in shown)
    whole = _squeezed(request.detail)
    return max(pieces, sum(len(row) for row in rows if len(row) >= ROW and row in whole))


def _pieces(request: ToolRequest) -> set[str]:
    """The lines of a request, the names of its files, and of the tool of a server."""
    lines = {_squeezed(line) for line in request.detail.split("\n")}
    words = [word for word in request.subject.replace(",", " ").split() if "." in word or "/" in word]
    names = (_squeezed(text.rpartition("/")[2]) for text in (*words, request.subject))
    return {piece for piece in (*lines, *names, request.tool) if len(piece) > 2}


def _squeezed(text: str) -> str:
    """Without what a dialog adds: blanks, bars, and quotes around the arguments of a tool."""
    return re.sub(r"[\s│\"]+", "", text)
