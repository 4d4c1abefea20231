"""The grammar of lines for another agent: `@name [flags] [--] message`. Pure."""

from __future__ import annotations

import re

from synapse.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from synapse.keys.patterns import Pattern

PATTERN = r"^@([\w-]+(?:@[\w.-]+)?)\s+(.+)$"  # `@name` or `@name@machine`
WAIT = frozenset({"--return", "--response", "--here"})
NO_WAIT = frozenset({"--no-wait", "--non-response", "--display"})
END = "--"  # ends the flags
LONGEST_TIMEOUT = 604800.0
_WORD = re.compile(r"(\S+)\s*")
_LAST_WORD = re.compile(r"(?:\A|\s)(\S+)\s*\Z")
_FLAG = re.compile(r"--[^\W\d_][\w-]*")


class Command(Record):
    """A message for another agent, the line it was typed as, and the bytes of the Enter that sent it."""

    name: str
    message: str
    wait: bool
    priority: int | None
    timeout: float | None
    expires: float | None
    line: str
    enter: bytes


class Refusal(Record):
    """A line for another agent that cannot be sent, and the reason as a sentence."""

    name: str
    reason: str
    line: str
    enter: bytes


class CommandParser:
    """`names` are the known names, without regard to case; with None every name is known. `@box` among them
    stands for every agent of the machine `box`."""

    def __init__(self, pattern: str = PATTERN, names: Iterable[str] | None = None) -> None:
        self.set_pattern(pattern)
        self.set_names(names)
        self.passthrough = True  # a line with an unknown name is ordinary input; if False, it is refused

    def set_pattern(self, pattern: str) -> None:
        try:
            self._pattern: re.Pattern[str] | Pattern = re.compile(pattern, re.DOTALL)
            if pattern != PATTERN:
                from synapse.keys.patterns import Pattern

                self._pattern = Pattern(pattern, re.DOTALL)
        except re.error as error:
            raise ValueError(str(error)) from error

    def set_names(self, names: Iterable[str] | None) -> None:
        self._names = None if names is None else {name.casefold(): name for name in names}

    def split(self, line: str) -> tuple[str, str] | None:
        """The name as it was typed and what follows it, if the line has the form."""
        match = self._pattern.match(line)
        if match is None or match.re.groups < 2:
            return None
        name, rest = match[1], (match[2] or "").strip()
        return (name, rest) if name and rest else None

    def known(self, name: str) -> str | None:
        if self._names is None:
            return name
        agent, at, machine = name.partition("@")
        if found := self._names.get(name.casefold()):
            return found
        return agent + where if at and (where := self._names.get(f"@{machine}".casefold())) else None

    def parse(
        self, line: str, enter: bytes = b"\r", wait: bool = True, last_too: bool = False
    ) -> Command | Refusal | None:
        """`wait` is for a line without a flag about it; with `last_too`, the last word may be such a flag."""
        found = self.split(line)
        if found is None:
            return None
        typed, rest = found
        name = self.known(typed)
        if name is None:
            if self.passthrough:
                return None
            return Refusal(name=typed, line=line, enter=enter, reason=f"no agent is called {typed}")
        flags = _Flags(rest, wait, last_too)
        message = _unquoted(flags.rest)
        reason = flags.refusal or ("" if message else f"there is no message for {name}")
        if reason:
            return Refusal(name=name, line=line, enter=enter, reason=reason)
        return Command(
            name=name,
            message=message,
            wait=flags.wait,
            priority=flags.numbers["--priority"],
            timeout=flags.numbers["--timeout"],
            expires=flags.numbers["--expires"],
            line=line,
            enter=enter,
        )


class _Flags:
    """The flags before a message. `rest` is the message, `refusal` the reason why a flag is wrong, if any."""

    def __init__(self, rest: str, wait: bool, last_too: bool) -> None:
        self.wait = wait
        self.rest = rest
        self.refusal = ""
        self.numbers: dict[str, object] = dict.fromkeys(_NUMBERS)
        last_decides = self._read() and last_too
        if last_decides and (last := _LAST_WORD.search(self.rest)) and last[1] in WAIT | NO_WAIT:
            self.wait = last[1] in WAIT
            self.rest = self.rest[: last.start()]

    def _read(self) -> bool:
        """Whether the flags end without `--`."""
        while match := _WORD.match(self.rest):
            flag, equals, value = match[1].partition("=")
            if flag in WAIT | NO_WAIT:
                self.wait = flag in WAIT
                if equals:
                    self.refusal = self.refusal or f"{flag} takes no value"
            elif flag in _NUMBERS:
                if not value and (after := _WORD.match(self.rest, match.end())):
                    value, match = after[1], after
                self._take(flag, value)
            elif match[1] == END:
                self.rest = self.rest[match.end() :]
                return False
            else:
                if _FLAG.fullmatch(flag):
                    self.refusal = self.refusal or unknown_flag(flag)
                break
            self.rest = self.rest[match.end() :]
        return True

    def _take(self, flag: str, value: str) -> None:
        parse, wanted = _NUMBERS[flag]
        self.numbers[flag] = parse(value)
        if self.numbers[flag] is None:
            self.refusal = self.refusal or f"{flag} wants {wanted}{f', not {value}' if value else ''}"


def unknown_flag(word: str, flags: Iterable[str] = ()) -> str:
    """The reason why a flag is refused; `flags` are those that there are, by default those of a line."""
    import difflib

    flag = word.partition("=")[0]
    known = sorted(flags) or FLAGS
    (nearest,) = difflib.get_close_matches(flag, known, n=1, cutoff=0.0)
    return f"{flag} is no flag (nearest: {nearest}; `{END}` ends the flags)"


def _priority(value: str) -> int | None:
    return int(value) if value in ("1", "2", "3", "4", "5") else None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 < seconds <= LONGEST_TIMEOUT else None


_NUMBERS: dict[str, tuple[Callable[[str], float | None], str]] = {
    "--priority": (_priority, "a number from 1 to 5"),
    "--timeout": (_seconds, "a number of seconds"),
    "--expires": (_seconds, "a number of seconds"),
}
FLAGS = sorted({*WAIT, *NO_WAIT, *_NUMBERS})


def _unquoted(text: str) -> str:
    """Without quotes around the whole text, as in a shell."""
    quote = text[:1]
    if quote in ("'", '"') and len(text) > 1 and text[-1] == quote and quote not in text[1:-1]:
        return text[1:-1].strip()
    return text.strip()
