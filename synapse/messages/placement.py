"""Where the agent's rows are in the human's terminal, and which of them may be drawn over."""

import re

from synapse.messages.coverage import Coverage
from synapse.terminal.overlay import blank_rows, rows_in_doubt, scroll_away, shift
from synapse.terminal.screen import Screen

NEVER = -1e9  # a time before every other
QUESTIONS = 3  # queries for the position of the cursor
ASK_AGAIN = 0.5  # seconds between two queries
_CLEARS = (b"\x1b[2J", b"\x1bc")
_BEYOND_LATIN = (b"\xe2", b"\xef", b"\xf0")  # bytes that begin the characters of which such emoji are made
_MAY_GO_ON = re.compile(rb"(?:\xf0...|\xe2\x80\x8d|\xef\xb8\x8f)\Z", re.DOTALL)
_MAY_BE_EMOJI = (b"\xe2\x80", b"\xef", b"\xf0")  # at least one is in each part of such an emoji


class Placement:
    """A `young` model began in the middle of the output: it can restore only what was written since. The main
    screen is known once it is `placed`: an agent that began below a shell's prompt is not in the rows where
    the model has it, and the rows of the shell are never covered. The alternate screen of a young model is
    known when all of it was written since, and the terminal's cursor is where the model has it."""

    def __init__(self, screen: Screen, young: bool, placed: bool) -> None:
        self._screen = screen
        self._young = young
        self._known = {False: not young and placed, True: not young}  # by whether it is the alternate screen
        self._alternate = screen.alternate_screen
        self._above = 0  # rows of the main screen that are the shell's
        self._after_shell = False  # the shell has written below what the agent wrote
        self._began = (0, 0)  # how many they were, and how many rows had scrolled then
        self._whole = False  # before the last resize, all of the screen was the agent's
        self._unsure = False  # a line on the main screen may take another number of rows in the terminal
        self._scrolled: int | None = 0  # rows that had scrolled at the last resize
        self._coverage = Coverage(screen) if young and screen.alternate_screen else None
        self.is_inside = False  # the output ends with what may be a part of an emoji
        self.questions_left = 0 if young else QUESTIONS
        self.asked_at = NEVER

    @property
    def is_known(self) -> bool:
        return self._known[self._screen.alternate_screen]

    @property
    def may_ask(self) -> bool:
        """Whether the position of the terminal's cursor would tell something."""
        if self._screen.alternate_screen:
            covered = self._coverage
            return covered is not None and covered.size == self._screen.size and covered.is_complete
        return self.questions_left > 0

    def free(self) -> tuple[tuple[int, int], int]:
        """The part of the screen that may be covered: its size, and the rows above it."""
        above = 0 if self._screen.alternate_screen else self._above
        cols, rows = self._screen.size
        return (cols, rows - above), above

    def ask(self, now: float) -> bool:
        if now - self.asked_at < ASK_AGAIN:
            return False
        self.questions_left = max(self.questions_left - 1, 0)
        self.asked_at = now
        return True

    def place(self, row: int, column: int, extra: int = 0) -> bool:
        """The position of the terminal's cursor. Returns whether the rows are known now. `extra`: the rows
        above it that a drawing takes since a narrower terminal wrapped it; a repaint removes them."""
        x, y = self._screen.cursor
        if self._screen.alternate_screen:
            return self._confirm((column, row) == (x, y))
        if rows_in_doubt(self._screen):
            return column == x and self._place_below(row - y - extra)
        if column != x and not self._after_shell:
            return False
        is_cut = not shift(self._screen, row - y - extra)
        if is_cut and not scroll_away(self._screen, y + extra - row):
            return False
        if column != x:
            self._screen.feed(b"\x1b[%dG" % (column + 1))
        # A narrower terminal that has fewer rows of the agent than the model has scrolled, or not wrapped
        # them: what is above the cursor is not known then.
        self._above = row + 1 if self._after_shell or is_cut else blank_rows(self._screen)
        self._began = (self._above, self._screen.has_scrolled())
        self._known[False] = True
        return True

    def _place_below(self, down: int) -> bool:
        """The rows between such a line and the cursor are where the model has them once the cursor is."""
        is_below = self._screen.cursor[1] >= rows_in_doubt(self._screen)
        if self._after_shell or not is_below or not shift(self._screen, down):
            return False
        in_doubt = rows_in_doubt(self._screen)
        self._above, self._began = in_doubt, (in_doubt, self._screen.has_scrolled())
        self._known[False], self._unsure = True, False
        return True

    def _confirm(self, as_in_model: bool) -> bool:
        """If the cursor is elsewhere, so is what was written: begin again."""
        if self._coverage is None or self.is_known:
            return False
        self._known[True] = as_in_model
        self._coverage = None if as_in_model else Coverage(self._screen)
        return as_in_model

    def learn(self, data: bytes) -> None:
        """`data` is the agent's output, which the screen shows already."""
        alternate = self._screen.alternate_screen
        self.is_inside = _MAY_GO_ON.search(data[-4:]) is not None
        if self._coverage is not None:
            self._coverage.feed(data)
            if not alternate or self._known[True]:
                self._coverage = None
            elif self._coverage.size != self._screen.size:
                self._coverage = Coverage(self._screen)
        is_beyond = not alternate and (self._unsure or any(byte in data for byte in _BEYOND_LATIN))
        if all(self._known.values()) and not self._above and not is_beyond:
            return
        entered = alternate and not self._alternate
        scrolled = self._screen.has_scrolled()
        if self._scrolled is None:
            self._scrolled = scrolled
        cleared = any(mark in data for mark in _CLEARS) or scrolled - self._scrolled >= self._screen.size[1]
        self._alternate = alternate
        self._known[alternate] = self._known[alternate] or entered or cleared
        self._after_shell = self._after_shell and not (cleared and not alternate)
        if self._above and not alternate:
            rows, before = self._began
            left = rows - (self._screen.has_scrolled() - before)
            self._above = 0 if cleared else max(min(self._above, left), 0)
        if is_beyond:
            in_doubt = rows_in_doubt(self._screen)
            again = self._unsure or any(mark in data for mark in _MAY_BE_EMOJI)  # it may be a new line
            self._unsure = in_doubt > (0 if again else self._above)
            self._known[False] = self._known[False] and not self._unsure
        if not self._known[False] and not self._young:
            self.questions_left = max(self.questions_left, 1)  # the next answer may fit

    def resumed(self) -> None:
        """The shell had the terminal: its rows are above the cursor, wherever that is now."""
        self._after_shell = True
        self.resized()
        self._whole = False

    def resized(self) -> None:
        """Where the rows above go differs between terminals: query again."""
        self._scrolled = None
        if not self._young:
            self._whole = self._whole or (self._known[False] and not self._above)
            self._known[False], self.questions_left, self.asked_at = False, QUESTIONS, NEVER

    @property
    def may_repaint(self) -> bool:
        """Whether the agent's rows may be written again: it is known which they are."""
        return self.is_known or self._whole

    def repainted(self) -> None:
        self._known[self._screen.alternate_screen], self._whole = True, False

    def console_changed(self) -> None:
        self._known[False], self._above, self._after_shell = not self._young, 0, False
