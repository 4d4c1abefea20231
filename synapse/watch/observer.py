"""Watches one agent: bytes, events, keys and the time go in; status, prompts, errors and turns come out.

It reads no clock and no terminal itself, so it works the same in the host and over a recording.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from synapse.agents.base import PROCESS, SCREEN, SILENCE, Channel
from synapse.agents.facts import Fact, Failed, FileChanged, PromptAccepted, StateSeen, TurnEnded
from synapse.keys import patterns
from synapse.profiles.loader import Profile
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.terminal.screen import Screen
from synapse.watch import moments
from synapse.watch.endings import Endings
from synapse.watch.idle import detector_of
from synapse.watch.moments import Moments
from synapse.watch.own_menu import OPENS_WITHIN, OwnMenu
from synapse.watch.screen.composer import DIALOG, DRAFT, EMPTY, NOT_LOOKED, NOT_SEEN_YET, OTHER_PROGRAM, Seen
from synapse.watch.screen.errors import UNTOLD, DetectedError
from synapse.watch.screen.prompt_line import PromptLine
from synapse.watch.screen.questions import InputPrompt
from synapse.watch.screen.reader import Place, ScreenReader
from synapse.watch.sent import WHY, SentMessage
from synapse.watch.signals import SignalReader
from synapse.watch.status import StatusModel, Verdict
from synapse.watch.turns import Turn, TurnTracker


class Observer:
    def __init__(
        self,
        profile: Profile,
        screen: Screen,
        channel: Channel,
        on_status: Callable[[Verdict], None],
        channels: bool = True,  # off: the screen and silence alone, to measure what they are worth
        foreground: Callable[[], bool | None] = lambda: None,  # whether the program itself has the terminal
    ) -> None:
        self._screen = screen
        self._channel = channel if channels else Channel(channel.surroundings)
        self.knows = self._channel.knows  # see there
        self._on_status = on_status
        self._idle = detector_of(profile.idle_detection)
        self._signals = SignalReader(profile, titles=channels)
        self._reader = ScreenReader(profile, screen, channel)
        self._channel.shown = self._reader.contents
        self._line = PromptLine()
        self._foreground = foreground
        self._model = StatusModel()
        self._has_started = self._was_ready = False
        self._last = Moments()
        self._sent = SentMessage()
        self.turns = TurnTracker(self._reader.reply)
        self._endings = Endings(self.turns, self._reader, self._channel, self._signals, self._last)
        self.verdict = self._model.verdict(0.0)
        self.prompt: InputPrompt | None = None
        self.menu = OwnMenu()
        self.composer = self._glanced = NOT_LOOKED
        self.is_prompt_line = False  # `composer` is what is behind the prompt of an unknown program
        self._on_composer: Callable[[Seen], None] | None = None
        self.error: DetectedError | None = None
        self._asked: InputPrompt | None = None  # what the last look showed, also where it was not settled
        self.on_file_changed: Callable[[str, float], None] = lambda path, at: None

    @property
    def is_composer_current(self) -> bool:
        """Whether `composer` shows what the last key did."""
        return not self._last.pressed

    @property
    def has_seen_all(self) -> bool:
        """Whether the last look at the screen shows all output, so that `prompt` is what is asked now."""
        return self._last.look > moments.LONG_AGO and not self._last.unseen

    @property
    def sees_composer(self) -> bool:
        """Whether the program's composer is known, so that `composer` tells whether it is there."""
        return self._reader.knows_composer

    def is_elsewhere(self, line: str) -> str:
        """Why a line that was typed is not in the program's composer; empty if that cannot be told."""
        return "" if self.sees_composer else self._line.is_elsewhere(self._screen, line)

    def on_composer(self, callback: Callable[[Seen], None]) -> None:
        """`callback` gets what is in the composer when that changes, and again after each key."""
        self._on_composer = callback

    def output(self, now: float) -> None:
        """The agent has written, and the screen model has it already."""
        if self._asks_to_permit:
            self._last.asked = now
        repaints = self.verdict.status == READY and self._idle.goes_on(self._reader.text, self._screen.mode)
        is_echo, self._last.output = self._last.is_echo(now), now
        if not repaints:
            self._last.change = now
        self._idle.output(now)
        self._signals.read(self._screen, self._model, now)
        if not self._asks_on():
            self._last.unseen = True
            if self.verdict.status != READY or not (repaints or is_echo):
                self._last.entered, self._last.news = False, True
                self._model.forget(SCREEN)  # what it shows is unknown until the next look
                self._model.observe(SILENCE, PROCESSING, now, "output")
        self._resolve(now)
        self._endings.end_marked(now)

    def quiet(self, now: float) -> float:
        """Seconds without output, or with none but what an idle agent goes on painting."""
        return now - self._last.change

    def event(self, event: Mapping[str, Any], now: float) -> None:
        known = len(self._channel.requests())
        self._take(self._channel.on_event(event), now)
        if self.prompt is not None and len(self._channel.requests()) > known:
            # Claude draws its dialog beside the hook, which may come later and says what the dialog is about.
            self._last.unseen = True
        self._resolve(now)

    def key(self, submits: bool, now: float, line: str | None = None, text: bool = False) -> None:
        """A human has typed; `line` is what was submitted, if that is known. `text`: it must show."""
        self._last.key = now
        self._last.pressed, self._last.echoes = True, text
        self._line.key()
        if submits:
            self.submit(now, line=line)

    def submit(
        self, now: float, prompt: str | None = None, place: Place | None = None, line: str | None = None
    ) -> None:
        """Enter was pressed: by a human, or by Synapse, which knows the prompt."""
        self._last.entered = True
        self._last.submit = now
        self._last.pressed, self._last.echoes = True, False
        self._line.submitted()
        if not self.is_prompt_line and self._sent.submitted(self.composer, prompt, now):
            self._model.observe(SCREEN, PROCESSING, now, WHY)
        self._channel.submitted(prompt if prompt is not None else line)
        if not self._channel.reports():
            self._reader.turn_begins(place)
            self.turns.submitted(now, prompt)

    def leave(self, now: float) -> None:
        """End the turn where no key does: see Channel.leave."""
        self._take(self._channel.leave(), now)
        self._resolve(now)

    def taken_up(self, mark: str) -> None:
        """An earlier host has submitted the message with this mark."""
        self._channel.submitted(mark)

    def place(self) -> Place:
        """The screen now, before a message is typed."""
        return self._reader.place()

    def is_unsent(self, prompt: str) -> bool:
        return self._reader.is_unsent(prompt)

    def reply_so_far(self) -> str:
        turn = self.turns.current
        if turn is None:
            return ""
        said = "\n\n".join(turn.messages.values())
        if said or self._channel.reports():
            return said
        shown = self._reader.reply(turn.prompt)
        return shown.text if shown is not None else ""

    def is_behind(self, turn: Turn, now: float) -> bool:
        self._take(self._channel.poll(), now)  # what is still to come of a turn that has ended
        return self._channel.is_behind(turn.reply)

    def exited(self, status: int, now: float) -> None:
        self._endings.release(now)
        self.error = self._reader.errors.detect_exit(status, self._reader.text())
        self._model.observe(PROCESS, PROCESSING, now, f"it has ended with status {status}")
        self.turns.abandon("failed", self.error.to_a2a_error(), now)

    def check(self, now: float) -> float | None:
        """Do what is due now. Returns the seconds until the next check, if one is due."""
        if self._last.output == moments.LONG_AGO:  # a program may wait for input without a word
            self._last.output, self._last.change, self._last.unseen = now, now, True
            self._idle.output(now)
        busy = self.turns.current is not None or self.verdict.status != READY
        if self._last.is_time_to_poll(now, busy, self._is_entered(now)):
            self._last.poll = now
            self._take(self._channel.poll(), now)
        is_quiet = self._last.quiet(now) >= moments.SETTLE
        if self._last.is_time_to_look(now):
            self._look(now, settled=is_quiet)
        elif self._last.is_time_to_confirm(now):
            self._see(now)
        self._listen(now)
        self._resolve(now)
        self._endings.end_marked(now)
        if self._endings.is_holding:
            self._endings.release_if_due(now, is_quiet)
        elif self.verdict.status == READY:
            self._settle_turn(now)
        return self._next(now)

    def _look(self, now: float, settled: bool) -> None:
        self._last.look = now
        question, before = self._question(), self._asked
        self._asked = question
        if question is not None and question == before and self._model.hears(INPUT_REQUIRED):
            settled = True  # the output never pauses, but it says that it asks, and two looks show what
        self._last.unseen = not settled
        self.prompt = question if settled else None
        if settled:
            self._look_for_menu(now)
            self._see(now)
        else:
            self._glance(now)
        if self.prompt is not None:
            self._sent.forget()
            if self.prompt.permission and self.turns.current is not None:
                self._last.asked = now
                self.turns.current.asked = self.prompt.subject or self.prompt.question or ""
            self._model.observe(SCREEN, INPUT_REQUIRED, now, f"screen: {self.prompt.prompt_text[:60]!r}")
            return
        if means := self._signals.means(self._reader.text()):
            self._model.observe(SCREEN, means, now, "screen: the mark of its profile")
            self._sent.forget()
            return
        if settled:
            self._sent.look(self.composer, self._reader.text(), self._reader.contents)
            if self._last.news:  # otherwise a human is typing: a draft says nothing about the agent
                self._model.observe(SCREEN, (READY, PROCESSING), now, "screen: no question on it")
            self._last.news = False
            self.error = self._reader.error()
            if self.error is not None and self.error.fatal:
                self.turns.explain(UNTOLD, self.error.to_a2a_error())

    def _look_for_menu(self, now: float) -> None:
        if self.prompt is not None and self._channel.reports():
            self._take(self._channel.poll(), now)  # a turn may have begun that is not reported yet
        opened = self._was_ready and now - self._last.key < OPENS_WITHIN
        self.menu.look(self.prompt, opened, self._is_in_turn())
        if self.menu.is_open and self.turns.current is not None:
            self.turns.forget()  # Enter has opened the menu, and begun no turn

    def _is_in_turn(self) -> bool:
        """Enter alone is no turn of a CLI that shows its state: it must have been busy since."""
        turn = self.turns.current
        if turn is None or turn.accepted or turn.prompt is not None or not self._signals.tells_states:
            return turn is not None
        return turn.busy and not self.menu.is_open

    def _see(self, now: float) -> None:
        """What is in the composer now: the screen has settled, also after the last key."""
        if self.prompt is not None:
            asks = "a menu is open" if self.menu.is_open else "it asks"
            seen = Seen(DIALOG, why=f"{asks}: {self.prompt.prompt_text[:60]!r}")
        elif self._foreground() is False:
            seen = OTHER_PROGRAM
        else:
            seen = self._reader.composer()
            self.is_prompt_line = seen is NOT_SEEN_YET
            if self.is_prompt_line:
                seen = self._line.read(self._screen, self.verdict.status == READY)
        self._set_composer(seen, now)

    def _set_composer(self, seen: Seen, now: float) -> None:
        before, self.composer, self._glanced = self.composer, seen, seen
        is_answered = self._last.is_answered(now, shows_text=seen.state != EMPTY)
        was_pressed, self._last.pressed = self._last.pressed, not is_answered
        if self._on_composer is not None and (seen != before or was_pressed != self._last.pressed):
            self._on_composer(seen)

    def _glance(self, now: float) -> None:
        """While the output never pauses, what two looks show in the composer counts, if it is there."""
        seen = self._reader.composer()
        if seen.state not in (EMPTY, DRAFT):
            return  # it may be half painted
        before, self._glanced = self._glanced, seen
        if seen == before and (not self._last.pressed or now - self._last.key >= moments.ECHO):
            self._set_composer(seen, now)

    def _question(self) -> InputPrompt | None:
        prompt = self._reader.question()
        if prompt is None or prompt.input_type != "text":
            return prompt
        # `name> ` may be how this agent waits for its next message.
        return None if self._idle.shows_idle(self._reader.text, self._screen.mode) else prompt

    def _asks_on(self) -> bool:
        """Whether it shows the same question since the last look, and no key was pressed. Codex goes on
        writing, many times a second, while it asks about the tool of an MCP server."""
        if self.prompt is None:
            return self.verdict.status == INPUT_REQUIRED and self._signals.asks(self._reader.text())
        return self._last.is_seen and self._question() == self.prompt

    def _listen(self, now: float) -> None:
        """Apply the idle strategy of the profile to the screen and to silence."""
        if self.prompt is not None or not self._idle.is_idle(now, self._reader.text, self._screen.mode):
            return
        if self._sent.left(now) is not None or self._signals.shows_work(self._reader.text()):
            return
        if self._idle.by_pattern:
            self._model.observe(SCREEN, READY, now, "screen: the idle pattern of its profile")
        elif self._takes_input(now) and not (self.sees_composer and self.composer.is_absent):
            self._model.observe(SILENCE, READY, now, f"no output for {self._last.quiet(now):.1f} s")

    def _takes_input(self, now: float) -> bool:
        """Whether it has ever shown that it takes input: until then it is starting."""
        shown = self._has_started or self.verdict.status == READY or self._reader.shows_input()
        long_quiet = self._last.quiet(now) >= moments.UNSHOWN and bool(self._reader.text().strip())
        self._has_started = shown or long_quiet
        return self._has_started

    def _take(self, facts: list[Fact], now: float) -> None:
        for fact in facts:
            if isinstance(fact, PromptAccepted | TurnEnded):
                self._endings.release(now)
            if isinstance(fact, PromptAccepted):
                self._sent.forget()  # a long reply may move the message off the screen
            if isinstance(fact, StateSeen):
                self._model.observe(fact.source, fact.says, now, fact.why)
            elif isinstance(fact, FileChanged):
                self.on_file_changed(fact.path, fact.at)
            elif isinstance(fact, TurnEnded) and fact.outcome == "interrupted":
                self._endings.hold(fact, self._asks_to_permit, now)
            elif isinstance(fact, Failed) or (isinstance(fact, TurnEnded) and fact.error is not None):
                self.turns.take(replace(fact, error=self._reader.explained_error(fact.error or {})), now)
            else:
                self.turns.take(fact, now)

    @property
    def _asks_to_permit(self) -> bool:
        return self.prompt is not None and self.prompt.permission

    def _is_entered(self, now: float) -> bool:
        """Whether a turn may have begun that is not reported yet: a transcript lags behind the screen."""
        waits = self._channel.tells and self.turns.current is None
        return waits and now - self._last.submit < moments.ENTERED

    def _resolve(self, now: float) -> None:
        before, self.verdict = self.verdict, self._model.verdict(now)
        if self.verdict.status != READY:
            if self.turns.current is not None:
                self.turns.current.busy = True
        elif before.status != READY:
            self._last.ready, self._was_ready = now, True
            if not self._last.unseen:
                self._see(now)  # what stands before the cursor is a prompt
        if self.verdict.status != before.status:
            self._on_status(self.verdict)

    def _settle_turn(self, now: float) -> None:
        """End a turn whose end was not reported, when the agent has been READY for long enough."""
        turn = self._endings.unreported()
        if turn is None:
            return
        self._take(self._channel.poll(), now)
        if self.turns.current is turn and not self._endings.is_holding and self._endings.is_due(turn, now):
            self._endings.settle(turn, self._asks_to_permit, self.error, now)

    def _next(self, now: float) -> float | None:
        is_ready, turn = self.verdict.status == READY, self.turns.current
        waits = [self._idle.next_check(now), self.verdict.overruled_in]
        waits += [self._last.next_sight(now), self._sent.left(now)]
        if self._endings.is_holding or (turn is not None and is_ready):
            waits.append(moments.TURN_SETTLE)
        elif self._is_entered(now):
            waits.append(moments.POLL_ENTERED)
        elif turn is not None or (self._channel.tells and not is_ready):
            waits.append(moments.POLL_AT_LEAST)
        if not self._has_started and (left := moments.UNSHOWN - self._last.quiet(now)) > 0:
            waits.append(left)
        times = [wait for wait in waits if wait is not None]
        return max(min(times), moments.SOONEST) if times else None

    def explain(self, now: float) -> dict[str, Any]:
        verdict = self._model.verdict(now)
        return {
            "status": verdict.status,
            "reason": verdict.reason,
            "confidence": round(verdict.confidence, 2),
            "overruled_in": verdict.overruled_in,
            "evidence": [e.to_dict(now) for e in self._model.evidence()],
            "against": [e.why for e in verdict.against],
            "missing": [*self._channel.missing(), *map(patterns.SLOW.format, patterns.slow())],
            "channel": self._channel.name,
            "composer": {"state": self.composer.state, "text": self.composer.text, "why": self.composer.why},
            "prompt": self.prompt.to_a2a_format() if self.prompt else None,
            "menu": self.menu.is_open,
            "error": self.error.to_a2a_error() if self.error else None,
        }
