"""Reads the screen of one CLI: a question, its composer, an error, a stopped turn, a reply."""

from synapse.agents.base import Channel
from synapse.profiles.loader import Profile
from synapse.terminal.screen import Screen
from synapse.watch.composer import ComposerReader, Seen
from synapse.watch.errors import DetectedError, ErrorDetector
from synapse.watch.looks import look_of
from synapse.watch.questions import InputPrompt, InputRequiredDetector
from synapse.watch.screen_reply import extract_reply


class ScreenReader:
    def __init__(self, profile: Profile, screen: Screen, channel: Channel) -> None:
        look = look_of(profile)
        detection = profile.input_detection
        patterns = [(p.pattern, p.type, list(p.options) or None) for p in detection.additional_patterns]
        self._screen = screen
        self._marks = look.reply
        self._response_end = profile.response_end
        self._questions = InputRequiredDetector(patterns, detection.enabled, look)
        self._own = profile.composer is not None  # the rules of its composer are its own
        self._composer = ComposerReader(look, own=self._own)
        self._start_line = 0  # at or before the echo of the last prompt
        self.errors = ErrorDetector(look, channel.read_error)

    def question(self) -> InputPrompt | None:
        return self._questions.detect_screen(*self._shown())

    def composer(self) -> Seen:
        return self._composer.read(self._screen)

    @property
    def knows_composer(self) -> bool:
        return self._own and self._composer.was_seen

    def error(self) -> DetectedError | None:
        return self.errors.get_primary_error(self.errors.detect_screen(*self._shown()))

    def was_stopped(self, prompt: str | None) -> bool:
        return self.errors.detect_interrupt(*self._shown(), prompt)

    def reply(self, prompt: str | None) -> str:
        lines = self._screen.contents().split("\n")
        reply = extract_reply(lines, prompt, self._start_line, self._marks, width=self._screen.size[0])
        return reply.replace(self._response_end, "").rstrip() if self._response_end else reply

    def first_line(self) -> int:
        """The number of the line at the top of the screen, counted from the start of the scrollback."""
        return max(self._screen.contents().count("\n") - self._screen.text().count("\n"), 0)

    def turn_begins(self, line: int | None = None) -> None:
        """The reply to what is submitted now is below this line; default: the top of the screen."""
        self._start_line = self.first_line() if line is None else line

    def _shown(self) -> tuple[list[str], tuple[int, int], bool]:
        return self._screen.text().split("\n"), self._screen.cursor, self._screen.cursor_visible
