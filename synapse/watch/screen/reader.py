"""Reads the screen of one CLI: a question, its composer, an error, a stopped turn, a reply."""

import re
from typing import Any, NamedTuple

from synapse.agents.base import Channel
from synapse.agents.generic.screen import PROMPT_ENDS
from synapse.profiles.loader import Profile
from synapse.terminal.screen import Screen
from synapse.terminal.styles import style_of
from synapse.watch.screen.composer import DRAFT, ComposerReader, Seen
from synapse.watch.screen.echo import find_echo
from synapse.watch.screen.errors import UNTOLD, DetectedError, ErrorDetector
from synapse.watch.screen.looks import look_of
from synapse.watch.screen.questions import InputPrompt, InputRequiredDetector, explained
from synapse.watch.screen.reply import FRAME, ScreenReply, find_reply
from synapse.watch.screen.scroll_bar import BarlessText


class Place(NamedTuple):
    """The screen before a message is typed: its top line, counted from the start of the scrollback, and the
    rows of its bottom from where the message is typed."""

    line: int
    bottom: tuple[str, ...] = ()


class ScreenReader:
    def __init__(self, profile: Profile, screen: Screen, channel: Channel) -> None:
        look = look_of(profile)
        detection = profile.input_detection
        patterns = [(p.pattern, p.type, list(p.options) or None) for p in detection.additional_patterns]
        self._screen = screen
        barless = BarlessText(screen, look.scroll_bars)
        self.text, self.contents = barless.text, barless.contents
        self._channel = channel
        self._marks = look.reply
        self._end = _wrapped_anyhow(profile.response_end) if profile.response_end else None
        colours = not channel.surroundings.env.get("NO_COLOR")
        self._questions = InputRequiredDetector(patterns, detection.enabled, look, colours)
        self._own = profile.composer is not None  # the rules of its composer are its own
        self._composer = ComposerReader(look, self._own, profile.vim_mode)
        self._start = Place(0)  # its line is at or before the echo of the last prompt
        self.errors = ErrorDetector(look, channel.read_error)

    def question(self) -> InputPrompt | None:
        asked = self._questions.detect_screen(*self._shown(), self._shade)
        return explained(asked, self._channel.requests())

    def _shade(self, row: int, column: int) -> str:
        (cells,) = self._screen.rows(row, row + 1, column, column + 1)
        return style_of(cells.cells[0].sgr).background if cells.cells else ""

    def composer(self) -> Seen:
        return self._composer.read(self._screen)

    def shows_input(self) -> bool:
        """Whether the program shows that it takes input: by a prompt before the cursor, by accepting
        pastes, which some switch on before they have drawn anything, or by waiting for a line."""
        rows, (column, row), visible = self._shown()
        if self._screen.mode(2004):
            shows = any(text.strip() for text in rows)
        else:
            before = rows[row][:column].rstrip() if visible and row < len(rows) else ""
            shows = before != "" and before[-1] in PROMPT_ENDS + ":?"
        return shows or self._channel.surroundings.reads_terminal()

    @property
    def knows_composer(self) -> bool:
        return self._own and self._composer.was_seen

    def error(self) -> DetectedError | None:
        return self.errors.get_primary_error(self.errors.detect_screen(*self._shown()))

    def explained_error(self, event: dict[str, Any]) -> dict[str, Any]:
        """An error from a channel, with a code and a message; the screen has what the channel leaves out."""
        found = self.errors.detect_event(event)
        if found is None and all(isinstance(event.get(key), str) for key in ("code", "message")):
            return event  # an agent that sends events itself has set both
        if found is None or found.message == UNTOLD:
            found = self.error() or found
        return (found or DetectedError("AGENT_ERROR", UNTOLD)).to_a2a_error()

    def was_stopped(self, prompt: str | None) -> bool:
        return self.errors.detect_interrupt(*self._shown(), prompt)

    def is_taken_back(self, prompt: str | None) -> bool:
        """Whether the composer has the prompt of a turn again."""
        seen = self.composer()
        return bool(prompt) and seen.state == DRAFT and (seen.text or "").split() == str(prompt).split()

    def denial(self) -> bool | None:
        """Whether the human denied what the agent asked for, if the end of the stopped turn says it."""
        return self.errors.detect_denial(*self._shown())

    def reply(self, prompt: str | None) -> ScreenReply | None:
        """None if the echo of a message of ours is not on the screen."""
        lines = self.contents().split("\n")
        line, bottom = self._start
        found = find_reply(lines, prompt, line, self._marks, width=self._screen.size[0], before=bottom)
        if found is None or self._end is None:
            return found
        return found._replace(text=self._end.split(found.text, maxsplit=1)[0].rstrip())

    def shows_end(self, prompt: str) -> bool:
        """Whether the marker that ends a reply is below the echo of the prompt, which may contain it too."""
        if self._end is None or not self._end.search(self.text()):
            return False
        lines = self.contents().split("\n")
        echo = find_echo(lines, prompt, self._start.line, self._marks.echo + FRAME)
        return echo is not None and echo.whole and bool(self._end.search("\n".join(lines[echo.end :])))

    def is_unsent(self, prompt: str) -> bool:
        """Whether the message is still where it was typed: the cursor is in its text."""
        rows, cursor, _ = self._shown()
        echo = find_echo(rows, prompt, ignored=self._marks.echo + FRAME)
        return echo is not None and echo.row <= cursor[1] < echo.end

    def place(self) -> Place:
        rows, (_, top), visible = self._shown()
        line = max(self.contents().count("\n") - len(rows) + 1, 0)
        while 0 < top <= len(rows) and not any(map(str.isalnum, rows[top - 1])):
            top -= 1  # the frame of the composer
        return Place(line, tuple(rows[top:]) if visible else ())

    def turn_begins(self, place: Place | None = None) -> None:
        """The reply to what is submitted now is below this place; default: the top of the screen."""
        self._start = Place(self.place().line) if place is None else place

    def _shown(self) -> tuple[list[str], tuple[int, int], bool]:
        return self.text().split("\n"), self._screen.cursor, self._screen.cursor_visible


def _wrapped_anyhow(marker: str) -> re.Pattern[str]:
    return re.compile(r"\s*".join(re.escape(character) for character in marker if not character.isspace()))
