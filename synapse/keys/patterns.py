"""Regular expressions that profiles and settings bring, with a limit of processor time.

A pattern that backtracks (`^(a+)+\\Z`) would take hours on one row, and the process with it. After
`limit_time`, a timer ticks while the process uses the processor. A search that two ticks find running is
abandoned: `re` looks for signals while it matches. The pattern then matches nothing for a while, and `slow`
names it. The limit is of processor time, so that a busy machine does not change what is found.
"""

import re
import signal
import time
from collections.abc import Callable

TICK = 0.1  # seconds of processor time; a search has between one and two of them
REST = 30.0  # seconds in which a pattern that took too long is left out
SLOW = "the pattern `{}` takes too long on this screen, and is left out: make it simpler in the profile"

Flags = int | re.RegexFlag
Match = re.Match[str] | None

_tell: Callable[[str], object] = str  # nobody
_resting: dict[str, float] = {}  # a pattern that took too long, and until when it rests
_searches = 0
_running = 0  # the number of the search; 0: none
_seen = 0  # the number of the one that ran at the last tick


class _TooSlow(Exception):
    pass


def limit_time(tell: Callable[[str], object]) -> None:
    """From now on, in the main thread, where signals are handled. `tell` gets a sentence for the log."""
    global _tell
    _tell = tell
    signal.signal(signal.SIGVTALRM, _tick)
    signal.siginterrupt(signal.SIGVTALRM, False)
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK, TICK)


def slow() -> list[str]:
    """The patterns that rest now."""
    now = time.monotonic()
    return [pattern for pattern, until in _resting.items() if now < until]


class Pattern:
    """A pattern that was not written here."""

    def __init__(self, pattern: str, flags: Flags = 0) -> None:
        self.regex = re.compile(pattern, flags)

    def search(self, text: str) -> Match:
        return _limited(self.regex, "search", text)

    def match(self, text: str) -> Match:
        return _limited(self.regex, "match", text)


def search(pattern: str, text: str) -> Match:
    return _limited(re.compile(pattern), "search", text)


def match(pattern: str, text: str) -> Match:
    return _limited(re.compile(pattern), "match", text)


def fullmatch(pattern: str, text: str) -> Match:
    return _limited(re.compile(pattern), "fullmatch", text)


def _limited(regex: re.Pattern[str], how: str, text: str) -> Match:
    global _searches, _running
    if _resting and time.monotonic() < _resting.get(regex.pattern, 0.0):
        return None
    _searches += 1
    try:
        _running = _searches
        found: Match = getattr(regex, how)(text)
        _running = 0
        return found
    except _TooSlow:
        if regex.pattern not in _resting:
            _tell(f"the pattern `{regex.pattern}` takes too long on {text[-200:]!r}: it is left out")
        _resting[regex.pattern] = time.monotonic() + REST
        return None
    finally:
        _running = 0


def _tick(*_: object) -> None:
    global _seen
    if _running and _running == _seen:
        raise _TooSlow
    _seen = _running
