"""The screen of an agent for its viewers: a snapshot of styled rows, then the rows that have changed.

The rows are read once for all viewers, and only while somebody looks. The first change is read at once, then
at most one frame each 33 ms; a large screen, which takes longer to read, gets fewer.
"""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from synapse.agent_terminal import AgentTerminal
from synapse.terminal.screen import Cell, Screen
from synapse.terminal.spans import spans

FRAME = 0.033  # seconds between two frames
SHARE = 4  # reading a screen takes at most this part of the time: a fourth
SYNCHRONISED = 0.15  # seconds at most for a program that holds its screen back (mode 2026)
MOST_HISTORY = 500  # rows of one request

News = Callable[[], None]


class ScreenFeed:
    """Each row has the number of the frame in which it changed last. A viewer that has seen frame n gets the
    rows after n, so a slow viewer gets fewer frames, and none of the rows between."""

    def __init__(self, controller: AgentTerminal, clock: Callable[[], float] = time.monotonic) -> None:
        self._controller = controller
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._watchers: list[News] = []
        self._changes: Callable[[], Sequence[int]] | None = None
        self._rows: list[str] = []  # each as JSON
        self._cells: list[list[Cell] | None] = []  # what each row was made of
        self._changed: list[int] = []  # the frame in which each row changed last
        self._state: dict[str, Any] = {}
        self._whole_since = 0  # the frame from which on rows are numbered as now
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0  # no frame before that
        self._held_since: float | None = None
        self._sent: tuple[int, int, str] = (-1, -1, "")  # the last frame that was made, for the other viewers
        self.frame = 0

    def watch(self, news: News) -> None:
        """`news` is called when there is a new frame."""
        if not self._watchers:
            self._controller.add_output_callback(self._on_output)
        self._watchers.append(news)
        self._look()

    def leave(self, news: News) -> None:
        if news in self._watchers:
            self._watchers.remove(news)
        if not self._watchers:
            self._controller.remove_output_callback(self._on_output)
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def touched(self) -> None:
        """Something besides the output has changed: the size, or who types."""
        if self._watchers:
            self._on_output(b"")

    def since(self, seen: int) -> str:
        """The frame for a viewer that has seen this frame last; 0 is a snapshot."""
        if self._sent[:2] != (seen, self.frame):
            self._sent = (seen, self.frame, self._frame(seen))
        return self._sent[2]

    def history(self, first: int, count: int) -> dict[str, Any]:
        """Rows of the scrollback, counted from the oldest that is kept."""
        screen = self._controller.screen
        rows = screen.history(first, first + min(count, MOST_HISTORY))
        return {"first": first, "history": screen.has_scrolled(), "rows": [spans(row.cells) for row in rows]}

    def _on_output(self, _: bytes) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(max(self._next - self._clock(), 0.0), self._look)

    def _look(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        began = self._clock()
        if self._is_held(began):
            self._timer = self._loop.call_later(FRAME, self._look)
            return
        changed = self._read(self._controller.screen)
        cost = self._clock() - began
        self._next = began + max(FRAME, cost * SHARE)
        if changed:
            for news in self._watchers:
                news()

    def _is_held(self, now: float) -> bool:
        """Whether the program is in the middle of a repaint, and says so."""
        if not self._rows or not self._controller.screen.mode(2026):
            self._held_since = None
            return False
        if self._held_since is None:
            self._held_since = now
        return now - self._held_since < SYNCHRONISED

    def _read(self, screen: Screen) -> bool:
        cols, height = screen.size
        state = _state(screen) | {"typing": self._controller.typing}
        frame = self.frame + 1
        if height != len(self._rows) or cols != self._state.get("cols"):
            self._rows, self._cells = [""] * height, [None] * height
            self._changed = [0] * height
            self._changes = None
            self._whole_since = frame
        changed = state != self._state
        if self._changes is None:
            self._changes = screen.changes()
        for y, cells in _read_rows(screen, self._changes()):
            if y < height and cells != self._cells[y]:
                self._cells[y], self._changed[y] = cells, frame
                self._rows[y] = json.dumps(spans(cells), ensure_ascii=False, separators=(",", ":"))
                changed = True
        self._state = state
        if changed:
            self.frame = frame
        return changed

    def _frame(self, seen: int) -> str:
        whole = seen < self._whole_since
        rows = ",".join(
            f'"{y}":{row}'
            for y, row in enumerate(self._rows)
            if (self._changed[y] > seen and not whole) or (whole and row not in ("", "[]"))
        )
        head = {"type": "screen", "frame": self.frame, "snapshot": whole, **self._state}
        return f'{json.dumps(head, ensure_ascii=False)[:-1]}, "rows": {{{rows}}}}}'


def _state(screen: Screen) -> dict[str, Any]:
    cols, height = screen.size
    x, y = screen.cursor
    return {
        "cols": cols,
        "lines": height,
        "cursor": {"x": x, "y": y, "visible": screen.cursor_visible},
        "title": screen.title,
        "alternate": screen.alternate_screen,
        "history": screen.has_scrolled(),
    }


def _read_rows(screen: Screen, wanted: Sequence[int]) -> list[tuple[int, list[Cell]]]:
    """Number and cells of each row."""
    return [
        (first + number, row.cells)
        for first, end in _runs(wanted)
        for number, row in enumerate(screen.rows(first, end))
    ]


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """`[1, 2, 5]` is `[(1, 3), (5, 6)]`: neighbours are read together."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs
