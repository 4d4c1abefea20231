"""How long a note can be seen, and how often it comes and goes."""

from __future__ import annotations

from collections.abc import Callable


class NoteView:
    """Told of every picture that a terminal shows, as `is_shown` sees it."""

    def __init__(self, is_shown: Callable[[], bool], now: float) -> None:
        self._is_shown = is_shown
        self._began = self._since = now
        self._on = is_shown()
        self._visible = 0.0
        self._switches = 0

    def look(self, now: float) -> None:
        on = self._is_shown()
        if self._on:
            self._visible += now - self._since
        self._switches += on != self._on
        self._on, self._since = on, now

    def figures(self, now: float) -> tuple[float, float]:
        """The share of the time, and switches a second."""
        self.look(now)
        span = max(now - self._began, 1e-9)
        return self._visible / span, self._switches / span
