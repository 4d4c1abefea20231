"""Detects that an agent is idle, from its screen and from silence alone.

`pattern`   the screen matches a pattern, or there was no output for `timeout` seconds
`timeout`   silence alone
`hybrid`    the pattern for the first idle, silence afterwards
"""

import re
from collections.abc import Callable

from synapse.keys.patterns import Pattern
from synapse.profiles.fields import MODE_NAMES, IdleDetection

SETTLE = 0.3  # seconds of silence before a pattern counts: half-painted frames match too


class IdleDetector:
    def __init__(
        self,
        strategy: str = "timeout",
        pattern: str | None = None,
        pattern_use: str = "always",
        timeout: float = 2.0,
        modes: dict[str, int] | None = None,
        repaints: bool = False,
    ) -> None:
        """`repaints`: it goes on painting while it is idle, so that a pattern counts without silence."""
        if strategy not in ("pattern", "timeout", "hybrid"):
            raise ValueError(f"strategy must be pattern, timeout or hybrid, not {strategy!r}")
        if strategy != "timeout" and not pattern:
            raise ValueError(f"strategy {strategy} needs a pattern")
        self.timeout = timeout
        self._mode = (modes or {}).get(pattern or "")
        self._regex = Pattern(pattern, re.MULTILINE) if pattern and self._mode is None else None
        self._uses_pattern = strategy != "timeout"
        self._only_at_startup = strategy == "hybrid" or pattern_use == "startup_only"
        self._started = False
        self.by_pattern = False  # whether the last idle was seen on the screen; else it was silence
        self._last_output: float | None = None
        self._repaints = repaints
        self._shown_since: float | None = None  # only kept if it repaints

    def output(self, now: float) -> None:
        self._last_output = now

    def is_idle(self, now: float, text: Callable[[], str], mode: Callable[[int], bool]) -> bool:
        """`text` returns the rendered screen and `mode` a terminal mode; they are called only if needed."""
        if self._last_output is None:
            return False  # no output yet
        quiet = now - self._last_output
        settled = quiet >= min(SETTLE, self.timeout)
        if self._repaints:
            self._shown_since = self._first_shown(now, text, mode)
            settled = self._shown_since is not None and now - self._shown_since >= SETTLE
        if self._pattern_counts() and settled and self.shows_idle(text, mode):
            self._started = self.by_pattern = True
            return True
        if quiet >= self.timeout:
            self._started, self.by_pattern = True, False
            return True
        return False

    def next_check(self, now: float) -> float | None:
        """Seconds until silence alone could change the result, or None if only output can."""
        if self._last_output is None:
            return None
        quiet = now - self._last_output
        marks = [SETTLE, self.timeout] if self._pattern_counts() else [self.timeout]
        waits = [mark - quiet for mark in marks if mark > quiet]
        if self._shown_since is not None and now - self._shown_since < SETTLE:
            waits.append(SETTLE - (now - self._shown_since))
        return min(waits, default=None)

    def goes_on(self, text: Callable[[], str], mode: Callable[[int], bool]) -> bool:
        """Whether output of an idle agent changes nothing: a blinking cursor, an animation."""
        return self._repaints and self._pattern_counts() and self.shows_idle(text, mode)

    def _first_shown(self, now: float, text: Callable[[], str], mode: Callable[[int], bool]) -> float | None:
        if not self.shows_idle(text, mode):
            return None
        return now if self._shown_since is None else self._shown_since

    def _pattern_counts(self) -> bool:
        return self._uses_pattern and not (self._only_at_startup and self._started)

    def shows_idle(self, text: Callable[[], str], mode: Callable[[int], bool]) -> bool:
        if self._mode is not None:
            return mode(self._mode)
        return self._regex is not None and self._regex.search(text()) is not None


def detector_of(rules: IdleDetection) -> IdleDetector:
    return IdleDetector(
        strategy=rules.strategy,
        pattern=rules.pattern,
        pattern_use=rules.pattern_use,
        timeout=rules.timeout,
        modes=MODE_NAMES,
        repaints=rules.repaints,
    )
