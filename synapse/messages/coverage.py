"""Which cells of the screen were written since a model of it began in the middle of a program's output."""

from synapse.terminal.screen import Screen, make_screen

UNSEEN = "\U0010fffd"  # a character for private use that no program writes


class Coverage:
    """A second screen, full of a character that no program writes, gets the same output as the first. What is
    left of that character was not written since: the first screen cannot know what is there."""

    def __init__(self, screen: Screen) -> None:
        cols, rows = self.size = screen.size
        self._screen = make_screen(cols, rows)
        if screen.alternate_screen:
            self._screen.feed(b"\x1b[?1049h")
        full = (UNSEEN * cols).encode()
        self._screen.feed(b"\x1b[?7l" + b"".join(b"\x1b[%d;1H" % row + full for row in range(1, rows + 1)))
        x, y = screen.cursor
        self._screen.feed(b"\x1b[?7h\x1b[%d;%dH" % (y + 1, x + 1))

    def feed(self, data: bytes) -> None:
        self._screen.feed(data)

    @property
    def is_complete(self) -> bool:
        return UNSEEN not in self._screen.text()
