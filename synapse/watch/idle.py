"""Whether an agent waits for input, told from its screen and its silence alone.

`pattern`   what the screen shows when idle; `timeout` seconds of silence where it never shows
`timeout`   silence alone
`hybrid`    the pattern for the first idle, silence afterwards

Pure: it is told when output came and asked what follows, with the time as an argument.
"""

import re
from collections.abc import Callable

SETTLE = 0.3  # seconds of silence before a pattern counts: half-painted frames match too


class IdleDetector:
    def __init__(
        self,
        strategy: str = "timeout",
        pattern: str | None = None,
        pattern_use: str = "always",
        timeout: float = 2.0,
        modes: dict[str, int] | None = None,
    ) -> None:
        if strategy not in ("pattern", "timeout", "hybrid"):
            raise ValueError(f"strategy must be pattern, timeout or hybrid, not {strategy!r}")
        if strategy != "timeout" and not pattern:
            raise ValueError(f"strategy {strategy} needs a pattern")
        self.timeout = timeout
        self._mode = (modes or {}).get(pattern or "")
        self._regex = re.compile(pattern, re.MULTILINE) if pattern and self._mode is None else None
        self._uses_pattern = strategy != "timeout"
        self._only_at_startup = strategy == "hybrid" or pattern_use == "startup_only"
        self._started = False
        self.by_pattern = False  # whether the last idle was seen on the screen, or only heard as silence
        self._last_output: float | None = None

    def output(self, now: float) -> None:
        self._last_output = now

    def is_idle(self, now: float, text: Callable[[], str], mode: Callable[[int], bool]) -> bool:
        """The verdict at `now`; `text` is the rendered screen and `mode` a terminal mode, asked if needed."""
        if self._last_output is None:
            return False  # it has not shown anything yet
        quiet = now - self._last_output
        if self._pattern_counts():
            matched = quiet >= min(SETTLE, self.timeout) and self.shows_idle(text, mode)
            if matched:
                self._started = self.by_pattern = True
                return True
        if quiet >= self.timeout:
            self._started = True
            self.by_pattern = False
            return True
        return False

    def next_check(self, now: float) -> float | None:
        """Seconds until silence alone could change the verdict, or None when only output can."""
        if self._last_output is None:
            return None
        quiet = now - self._last_output
        marks = [SETTLE, self.timeout] if self._pattern_counts() else [self.timeout]
        waits = [mark - quiet for mark in marks if mark > quiet]
        return min(waits) if waits else None

    def _pattern_counts(self) -> bool:
        return self._uses_pattern and not (self._only_at_startup and self._started)

    def shows_idle(self, text: Callable[[], str], mode: Callable[[int], bool]) -> bool:
        """Whether the pattern is there now, whatever the silence."""
        if self._mode is not None:
            return mode(self._mode)
        return self._regex is not None and self._regex.search(text()) is not None
