"""The grammar of lines for another agent: `@name [flags] message`. Pure."""

from __future__ import annotations

import re

from synapse.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PATTERN = r"^@([\w-]+)\s+(.+)$"
WAIT = frozenset({"--return", "--response", "--here"})
NO_WAIT = frozenset({"--no-wait", "--non-response", "--display"})
LONGEST_TIMEOUT = 604800.0
_WORD = re.compile(r"(\S+)\s*")


class Command(Record):
    """A message for another agent, the line it was typed as, and the bytes of the Enter that sent it."""

    name: str
    message: str
    wait: bool
    priority: int | None
    timeout: float | None
    line: str
    enter: bytes


class Refusal(Record):
    """A line for another agent that cannot be sent, and the reason as a sentence."""

    name: str
    reason: str
    line: str
    enter: bytes


class CommandParser:
    """`names` are the known names, without regard to case; with None every name is known."""

    def __init__(self, pattern: str = PATTERN, names: Iterable[str] | None = None) -> None:
        self.set_pattern(pattern)
        self.set_names(names)
        self.passthrough = True  # a line with an unknown name is ordinary input; if False, it is refused

    def set_pattern(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern, re.DOTALL)
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
        return name if self._names is None else self._names.get(name.casefold())

    def parse(self, line: str, enter: bytes = b"\r", wait: bool = True) -> Command | Refusal | None:
        """`wait` is the default for a line without a flag for it."""
        found = self.split(line)
        if found is None:
            return None
        typed, rest = found
        name = self.known(typed)
        if name is None:
            if self.passthrough:
                return None
            return Refusal(name=typed, line=line, enter=enter, reason=f"no agent is called {typed}")
        numbers: dict[str, object] = {"--priority": None, "--timeout": None}
        while match := _WORD.match(rest):
            flag, _, value = match[1].partition("=")
            if flag in WAIT | NO_WAIT and not value:
                wait = flag in WAIT
            elif flag in numbers:
                if not value and (after := _WORD.match(rest, match.end())):
                    value, match = after[1], after
                parse, wanted = _NUMBERS[flag]
                numbers[flag] = parse(value)
                if numbers[flag] is None:
                    reason = f"{flag} wants {wanted}{f', not {value}' if value else ''}"
                    return Refusal(name=name, line=line, enter=enter, reason=reason)
            else:
                break
            rest = rest[match.end() :]
        message = _unquoted(rest)
        if not message:
            return Refusal(name=name, line=line, enter=enter, reason=f"there is no message for {name}")
        return Command(
            name=name,
            message=message,
            wait=wait,
            priority=numbers["--priority"],
            timeout=numbers["--timeout"],
            line=line,
            enter=enter,
        )


def _priority(value: str) -> int | None:
    return int(value) if value in ("1", "2", "3", "4", "5") else None


def _timeout(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 < seconds <= LONGEST_TIMEOUT else None


_NUMBERS: dict[str, tuple[Callable[[str], float | None], str]] = {
    "--priority": (_priority, "a number from 1 to 5"),
    "--timeout": (_timeout, "a number of seconds"),
}


def _unquoted(text: str) -> str:
    """Without quotes around the whole text, as in a shell."""
    quote = text[:1]
    if quote in ("'", '"') and len(text) > 1 and text[-1] == quote and quote not in text[1:-1]:
        return text[1:-1].strip()
    return text.strip()
