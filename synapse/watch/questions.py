"""Whether an agent waits for an answer, and what it asks.

`detect` reads the last line of an output, as the specification has it. `detect_screen` reads a rendered
screen and reports only what is live: a menu or dialog at the bottom (`menus.py`), or a question on the
line where the cursor stands. An agent at its composer asks nothing, whatever its last reply says.

Pure: nothing is remembered from one call to the next. Half-painted screens look like anything, so ask when
the output has been quiet for a moment.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from synapse.agents.look import Look
from synapse.watch import looks
from synapse.watch.menus import LINE, Cursor, Menu, composer, find_menu, screen_rows

Pattern = tuple[re.Pattern[str], list[str] | None]
TYPES = ("confirmation", "selection", "text", "password")


@dataclass
class InputPrompt:
    """What an agent asks. `keys` gives the key that takes each option, by the names of `synapse.keys`."""

    prompt_text: str
    input_type: str
    options: list[str] | None = None
    default: str | None = None
    question: str | None = None
    subject: str | None = None  # the command or file that the question is about
    detail: str | None = None  # all that the dialog says
    keys: dict[str, str] | None = None
    cancel: str | None = None

    def to_a2a_format(self) -> dict[str, object]:
        more = {
            "question": self.question,
            "subject": self.subject,
            "detail": self.detail,
            "keys": self.keys,
            "cancel": self.cancel,
        }
        return {
            "type": self.input_type,
            "prompt": self.prompt_text,
            "options": self.options,
            "default": self.default,
        } | {name: value for name, value in more.items() if value}


class InputRequiredDetector:
    CONFIRMATION_PATTERNS: tuple[tuple[str, list[str]], ...] = (
        (r"\(y/n\)\s*[:\?]?\s*$", ["y", "n"]),
        (r"\[Y/n\]\s*[:\?]?\s*$", ["Y", "n"]),
        (r"\[y/N\]\s*[:\?]?\s*$", ["y", "N"]),
        (r"yes/no\s*[:\?]?\s*$", ["yes", "no"]),
        (r"続行しますか", ["y", "n"]),
        (r"Continue\?", ["y", "n"]),
    )
    SELECTION_PATTERN = re.compile(r"(?:\[(\d+(?:/\d+)+)\]|\((\d+)\)\s*\w+)", re.IGNORECASE)
    TEXT_INPUT_PATTERNS = (
        r"Enter\s+[\w\s]+:\s*$",
        r"Input:\s*$",
        r"Name:\s*$",
        r"Value:\s*$",
        r">\s*$",
        r">>>\s*$",
    )
    PASSWORD_PATTERNS = (r"Password:\s*$", r"パスワード:\s*$", r"Secret:\s*$", r"Token:\s*$")

    # What only a live line says: `detect` would find these anywhere.
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
    _SECRET = re.compile(r"password|passphrase|secret|token|api key|code here|パスワード", re.IGNORECASE)

    def __init__(
        self,
        additional_patterns: Sequence[tuple[str, str, list[str] | None]] | None = None,
        enabled: bool = True,
        look: Look | None = None,
    ) -> None:
        """`additional_patterns`: (regular expression, type, options), the type one of TYPES. `look`: how the
        CLI draws its composer and its dialogs; without one, as the CLIs that are known do."""
        self.enabled = enabled
        self._look = look or looks.known()
        self._builtin: dict[str, list[Pattern]] = {
            "confirmation": _compile(self.CONFIRMATION_PATTERNS),
            "password": _compile((pattern, None) for pattern in self.PASSWORD_PATTERNS),
            "selection": [],
            "text": _compile((pattern, None) for pattern in self.TEXT_INPUT_PATTERNS),
        }
        self._added: dict[str, list[Pattern]] = {kind: [] for kind in TYPES}
        self._live = [(kind, *_compile([(pattern, o)])[0]) for pattern, kind, o in self.SCREEN_PATTERNS]
        for pattern, kind, options in additional_patterns or ():
            if kind not in TYPES:
                raise ValueError(f"a prompt is of type {', '.join(TYPES)}, not {kind!r}")
            self._added[kind] += _compile([(pattern, options)])

    def detect(self, output: str) -> InputPrompt | None:
        """What the last line of `output` asks."""
        if not self.enabled:
            return None
        last_line = output.strip().rsplit("\n", 1)[-1].strip()
        tail = last_line[-LINE:]
        for kind in ("confirmation", "password", "selection", "text"):
            if kind == "selection" and (match := self.SELECTION_PATTERN.search(tail)):
                return InputPrompt(last_line, kind, match[1].split("/") if match[1] else None)
            for pattern, options in self._builtin[kind] + self._added[kind]:
                if pattern.search(tail):
                    return InputPrompt(last_line, kind, self._as_written(tail, options))
        return None

    def detect_screen(
        self, lines: Sequence[str], cursor: Cursor | None, cursor_visible: bool | None = None
    ) -> InputPrompt | None:
        """What the screen asks now. `cursor` is (column, row); tell `cursor_visible` where it is known."""
        if not self.enabled:
            return None
        rows = screen_rows(lines)
        if not rows or (cursor_visible and cursor is not None and cursor[1] >= len(rows)):
            return None  # a cursor shown below everything: the program that drew this has gone
        if composer(rows, cursor, cursor_visible, self._look) is not None:
            return None
        if menu := find_menu(rows, cursor, cursor_visible, self._look):
            return self._from_menu(menu)
        return self._added_line(rows[-1]) or self._line(rows, cursor)

    def _from_menu(self, menu: Menu) -> InputPrompt:
        words = [re.split(r"\W", option.lower(), maxsplit=1)[0] for option in menu.options]
        kind = "confirmation" if sorted(words) == ["no", "yes"] or len(words) == 1 else "selection"
        if menu.wants_text:
            kind = "password" if self._SECRET.search(f"{menu.question}\n{menu.detail}") else "text"
        text = "\n".join(part for part in (menu.question, menu.subject) if part)
        return InputPrompt(
            prompt_text=text,
            input_type=kind,
            options=None if menu.wants_text else menu.options,
            default=None if menu.wants_text else menu.default,
            question=menu.question,
            subject=menu.subject,
            detail=menu.detail,
            keys=menu.keys,
            cancel=menu.cancel,
        )

    def _added_line(self, last: str) -> InputPrompt | None:
        """The profile's own patterns, on the last line wherever the cursor is: its author knows the CLI."""
        text = last.strip()
        for kind in ("confirmation", "password", "selection", "text"):
            for pattern, options in self._added[kind]:
                if pattern.search(text[-LINE:]):
                    return InputPrompt(text, kind, options)
        return None

    def _line(self, rows: Sequence[str], cursor: Cursor | None) -> InputPrompt | None:
        """A program that asks line by line: on the last line, with the cursor there, and nothing after it."""
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
        if any(pattern.search(tail) for pattern, _ in self._builtin["text"]):
            return InputPrompt(text, "text")
        return None

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
