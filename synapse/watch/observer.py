"""Watches one agent: bytes, events, keys and the clock in; status, prompts, errors and turns out.

Live in the host, and the same over a recording: it reads no clock and no terminal of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from synapse.agents.base import OSC, PROCESS, SCREEN, SILENCE, TITLE, Channel
from synapse.agents.facts import Fact, Failed, PromptAccepted, StateSeen, TurnEnded
from synapse.profiles.loader import MODE_NAMES, Profile, Signal
from synapse.registry import INPUT_REQUIRED, PROCESSING, READY
from synapse.terminal.screen import Screen
from synapse.watch.errors import UNTOLD, DetectedError, ErrorDetector
from synapse.watch.idle import IdleDetector
from synapse.watch.looks import look_of
from synapse.watch.questions import InputPrompt, InputRequiredDetector
from synapse.watch.screen_reply import extract_reply
from synapse.watch.status import StatusModel, Verdict
from synapse.watch.turns import Turn, TurnTracker

SETTLE = 0.15  # seconds without output before the screen is read
LOOK_AT_LEAST = 0.5  # seconds between two looks while output never pauses
POLL_AT_LEAST = 1.0  # seconds between two looks at the transcript during a turn
POLL_ENTERED = 0.25  # the same after Enter, until a turn has begun: the screen may be silent by then
ENTERED = 3.0  # seconds for which that goes on
ECHO = 0.5  # seconds after a key in which output is its echo
TURN_SETTLE_UNFINISHED = 2.0  # the same for one whose channel expects more: the human has refused a tool
TURN_SETTLE_UNSEEN = 1.0  # the same for one that was never seen to be busy: it may not have begun
STOPPED_SETTLE = 0.3  # seconds that an interrupted turn waits for the screen to show what was said
TURN_SETTLE = 0.15  # seconds of READY before a turn that nobody has ended is over: its transcript lags


class Observer:
    def __init__(
        self,
        profile: Profile,
        screen: Screen,
        channel: Channel,
        on_status: Callable[[Verdict], None],
        channels: bool = True,  # off: the screen and silence alone, to measure what they are worth
    ) -> None:
        self._profile = profile
        self._screen = screen
        self._channel = channel
        self._on_status = on_status
        self._channels = channels
        idle = profile.idle_detection
        self._idle = IdleDetector(idle.strategy, idle.pattern, idle.pattern_use, idle.timeout, MODE_NAMES)
        patterns = [
            (p.pattern, p.type, list(p.options) or None) for p in profile.input_detection.additional_patterns
        ]
        self._appearance = look_of(profile)
        self._prompts = InputRequiredDetector(patterns, profile.input_detection.enabled, self._appearance)
        self._errors = ErrorDetector(self._appearance, channel.read_error)
        self._model = StatusModel()
        self._title_rules = _compiled(profile.signals.title)
        self._osc_rules = _compiled(profile.signals.osc)
        self._screen_rules = _compiled(profile.signals.screen)
        self._title = ""
        self._osc_seen: dict[int, str] = {}
        self._last_output = -1e9
        self._last_look = -1e9
        self._last_poll = -1e9
        self._last_key = -1e9
        self._last_submit = -1e9
        self._fresh = False  # output that has not been looked at
        self._news = False  # the same, of output that is no echo
        self._submitted = False
        self._ready_since: float | None = None
        self._start_line: int | None = None
        self._stopped: tuple[TurnEnded, float] | None = None  # an end whose reply only the screen has
        self.turns = TurnTracker(self._read_screen)
        self.verdict = self._model.verdict(0.0)
        self.prompt: InputPrompt | None = None
        self.error: DetectedError | None = None

    # --- what happens -------------------------------------------------------------------------------------

    def output(self, now: float) -> None:
        """The agent has written, and the screen shows it."""
        self._last_output = now
        self._fresh = True
        self._idle.output(now)
        if self._channels:
            self._read_signals(now)
        if not self._is_echo(now):
            self._submitted = False
            self._news = True
            self._model.forget(SCREEN)  # it shows something else now: unknown until looked at
            self._model.observe(SILENCE, PROCESSING, now, "output")
        self._resolve(now)

    def event(self, event: Mapping[str, Any], now: float) -> None:
        """A hook or a notification of the CLI."""
        if self._channels:
            self._take(self._channel.on_event(event), now)
            self._resolve(now)

    def key(self, submits: bool, now: float) -> None:
        """A human has typed."""
        self._last_key = now
        if submits:
            self.submit(now)

    def submit(self, now: float, prompt: str | None = None, start_line: int | None = None) -> None:
        """Enter was pressed, by a human or, with a prompt that is known, for us."""
        self._submitted = True
        self._last_submit = now
        self._channel.submitted()
        if self._is_told():
            return
        self._start_line = self.first_line() if start_line is None else start_line
        self.turns.submitted(now, prompt)

    def first_line(self) -> int:
        """The number of the line at the top of the screen, counted from the start of the scrollback."""
        rows = len(self._screen.text().split("\n"))
        return max(self._screen.contents().count("\n") + 1 - rows, 0)

    def reply_so_far(self) -> str:
        """Of the turn under way."""
        turn = self.turns.current
        if turn is None:
            return ""
        said = "\n\n".join(turn.messages.values())
        return said or ("" if self._is_told() else self._read_screen(turn.prompt))

    def _is_told(self) -> bool:
        """Whether the channel tells of turns; else there is the screen."""
        return self._channels and self._channel.tells and not self._channel.missing()

    def exited(self, status: int, now: float) -> None:
        self._end_stopped(now)
        self.error = self._errors.detect_exit(status)
        self._model.observe(PROCESS, PROCESSING, now, f"it has ended with status {status}")
        self.turns.abandon("failed", self.error.to_a2a_error(), now)

    def check(self, now: float) -> float | None:
        """Look, where it is time to; seconds until the next time, if there is one."""
        if self._channels and self._polls(now) and now - self._last_poll >= self._poll_every(now):
            self._last_poll = now
            self._take(self._channel.poll(), now)
        quiet = now - self._last_output
        if self._fresh and (quiet >= SETTLE or now - self._last_look >= LOOK_AT_LEAST):
            self._look(now, settled=quiet >= SETTLE)
        self._listen(now)
        self._resolve(now)
        if self._stopped is not None:
            waited = now - self._stopped[1]
            if waited >= (STOPPED_SETTLE if quiet >= SETTLE else LOOK_AT_LEAST * 2):
                self._end_stopped(now)
        else:
            self._settle_turn(now)
        return self._next(now)

    # --- evidence -----------------------------------------------------------------------------------------

    def _read_signals(self, now: float) -> None:
        title = self._screen.title
        if title != self._title:
            self._title = title
            self._observe_rule(TITLE, self._title_rules, title, now, "title")
        for rule, regex in self._osc_rules:
            payload = self._screen.osc(rule.number)
            if payload != self._osc_seen.get(rule.number) and regex.search(payload):
                self._osc_seen[rule.number] = payload
                self._model.observe(OSC, rule.means, now, f"OSC {rule.number} {payload[:60]}")

    def _observe_rule(self, source: str, rules: Rules, text: str, now: float, what: str) -> None:
        for rule, regex in rules:
            if regex.search(text):
                self._model.observe(source, rule.means, now, f"{what} {text.strip()[:40]!r}")
                return
        self._model.forget(source)  # it has gone back to a title that tells nothing

    def _look(self, now: float, settled: bool) -> None:
        self._last_look = now
        self._fresh = not settled
        text = self._screen.text()
        lines = text.split("\n")
        self.prompt = self._detect_prompt(lines) if settled else None
        if self.prompt is not None:
            self._model.observe(SCREEN, INPUT_REQUIRED, now, f"screen: {self.prompt.prompt_text[:60]!r}")
            return
        for rule, regex in self._screen_rules:
            if regex.search(text):
                self._model.observe(SCREEN, rule.means, now, "screen: the mark of its profile")
                return
        if settled:
            if self._news:  # else a human types: a draft tells nothing of the agent
                self._model.observe(SCREEN, (READY, PROCESSING), now, "screen: no question on it")
            self._news = False
            self.error = self._error_on_screen()
            if self.error is not None and self.error.fatal:
                self.turns.explain(UNTOLD, self.error.to_a2a_error())

    def _detect_prompt(self, lines: list[str]) -> InputPrompt | None:
        prompt = self._prompts.detect_screen(lines, self._screen.cursor, self._screen.cursor_visible)
        if prompt is None or prompt.input_type != "text":
            return prompt
        # `name> ` may be how this agent waits for its next message.
        return None if self._idle.shows_idle(self._screen.text, self._screen.mode) else prompt

    def _listen(self, now: float) -> None:
        """What the idle strategy of the profile makes of screen and silence."""
        if self.prompt is not None or not self._idle.is_idle(now, self._screen.text, self._screen.mode):
            return
        if self._busy_on_screen():
            return
        if self._idle.by_pattern:
            self._model.observe(SCREEN, READY, now, "screen: the idle pattern of its profile")
        else:
            quiet = now - self._last_output
            self._model.observe(SILENCE, READY, now, f"no output for {quiet:.1f} s")

    def _busy_on_screen(self) -> bool:
        text = self._screen.text()
        return any(PROCESSING in rule.means and regex.search(text) for rule, regex in self._screen_rules)

    def _is_echo(self, now: float) -> bool:
        """Whether output just now is what a human types at an idle agent."""
        idle = self.verdict.status == READY and not self._submitted
        return idle and now - self._last_key < ECHO

    def _take(self, facts: list[Fact], now: float) -> None:
        for fact in facts:
            if isinstance(fact, PromptAccepted | TurnEnded):
                self._end_stopped(now)
            if isinstance(fact, StateSeen):
                self._model.observe(fact.source, fact.says, now, fact.why)
            elif isinstance(fact, TurnEnded) and fact.outcome == "interrupted" and self._stopped is None:
                self._stopped = (fact, now)
            elif isinstance(fact, Failed) or (isinstance(fact, TurnEnded) and fact.error is not None):
                self.turns.take(replace(fact, error=self._explained(fact.error or {})), now)
            else:
                self.turns.take(fact, now)

    def _end_stopped(self, now: float) -> None:
        if self._stopped is not None:
            self.turns.take(self._stopped[0], now)
            self._stopped = None

    def _explained(self, event: dict[str, Any]) -> dict[str, Any]:
        """What a channel tells of an error, with a code and a message; some leave that to the screen."""
        found = self._errors.detect_event(event)
        if found is None and all(isinstance(event.get(key), str) for key in ("code", "message")):
            return event  # an agent that tells by itself has said both
        if found is None or found.message == UNTOLD:
            found = self._error_on_screen() or found
        return (found or DetectedError("AGENT_ERROR", UNTOLD)).to_a2a_error()

    def _error_on_screen(self) -> DetectedError | None:
        lines = self._screen.text().split("\n")
        found = self._errors.detect_screen(lines, self._screen.cursor, self._screen.cursor_visible)
        return self._errors.get_primary_error(found)

    def _polls(self, now: float) -> bool:
        busy = self.turns.current is not None or self.verdict.status != READY
        return busy or self._last_output >= self._last_poll or self._is_entered(now)

    def _poll_every(self, now: float) -> float:
        if self._last_output >= self._last_poll:
            return 0.1
        return POLL_ENTERED if self._is_entered(now) else POLL_AT_LEAST

    def _is_entered(self, now: float) -> bool:
        """Whether a turn may have begun that nobody has told of yet: a transcript lags behind the screen."""
        waits = self._channels and self._channel.tells and self.turns.current is None
        return waits and now - self._last_submit < ENTERED

    # --- verdict ------------------------------------------------------------------------------------------

    def _resolve(self, now: float) -> None:
        before, self.verdict = self.verdict, self._model.verdict(now)
        if self.verdict.status == READY:
            if before.status != READY or self._ready_since is None:
                self._ready_since = now
        else:
            self._ready_since = None
            if self.turns.current is not None:
                self.turns.current.busy = True
        if self.verdict.status != before.status:
            self._on_status(self.verdict)

    def _settle_turn(self, now: float) -> None:
        """READY, and settled: a turn that nobody has ended is over."""
        turn = self.turns.current
        if turn is None or self._ready_since is None or self._fresh:
            return
        if turn.prompt is None and self._last_output < turn.started_at:
            return  # only Enter was seen: it has not even been echoed
        was_busy = turn.busy or self._ready_since > turn.started_at
        settled_at = max(self._ready_since, self._last_output, turn.started_at)
        settle = TURN_SETTLE if was_busy else TURN_SETTLE_UNSEEN
        if self._channels:
            self._take(self._channel.poll(), now)
            settle = TURN_SETTLE_UNFINISHED if self._channel.unfinished() else settle
        if now - settled_at < settle or self.turns.current is not turn or self._stopped is not None:
            return
        if not was_busy and not turn.accepted and self._would_tell(turn):
            self.turns.forget()  # a command of its own, or a prompt that it queues
        else:
            self.turns.settle(*self._outcome(turn), now)

    def _would_tell(self, turn: Turn) -> bool:
        """Whether a title or a channel tells of every turn of this CLI."""
        if not self._channels or not (self._title_rules or self._osc_rules):
            return False
        return turn.prompt is None or self._channel.tells_all

    def _outcome(self, turn: Turn) -> tuple[str, dict[str, Any] | None]:
        """How a turn has ended of whose end nobody has told, as the screen shows it."""
        lines = self._screen.text().split("\n")
        cursor, visible = self._screen.cursor, self._screen.cursor_visible
        if self._errors.detect_interrupt(lines, cursor, visible, turn.prompt):
            return "interrupted", None
        if self.error is None:
            return "completed", None
        return "failed" if self.error.fatal else "completed", self.error.to_a2a_error()

    def _next(self, now: float) -> float | None:
        waits = []
        if self._fresh:
            waits.append(max(min(self._last_output + SETTLE, self._last_look + LOOK_AT_LEAST) - now, 0.01))
        if (idle := self._idle.next_check(now)) is not None:
            waits.append(idle)
        if self.verdict.overruled_in is not None:
            waits.append(self.verdict.overruled_in)
        if self._stopped is not None:
            waits.append(TURN_SETTLE)
        if self.turns.current is not None:
            waits.append(TURN_SETTLE if self._ready_since is not None else POLL_AT_LEAST)
        elif self._is_entered(now):
            waits.append(POLL_ENTERED)
        elif self._channels and self.verdict.status != READY and self._channel.tells:
            waits.append(POLL_AT_LEAST)
        return max(min(waits), 0.01) if waits else None

    def _read_screen(self, prompt: str | None) -> str:
        lines = self._screen.contents().split("\n")
        width = self._screen.size[0]
        reply = extract_reply(lines, prompt, self._start_line, self._appearance.reply, width)
        if self._profile.response_end:
            reply = reply.replace(self._profile.response_end, "").rstrip()
        return reply

    # --- for people ---------------------------------------------------------------------------------------

    def explain(self, now: float) -> dict[str, Any]:
        """The verdict and everything behind it."""
        verdict = self._model.verdict(now)
        return {
            "status": verdict.status,
            "reason": verdict.reason,
            "confidence": round(verdict.confidence, 2),
            "overruled_in": verdict.overruled_in,
            "evidence": [
                {
                    "source": e.source,
                    "says": list(e.says),
                    "why": e.why,
                    "age": round(now - e.at, 2),
                    "since": round(now - e.since, 2),
                }
                for e in self._model.evidence()
            ],
            "against": [e.why for e in verdict.against],
            "missing": self._channel.missing(),
            "channel": self._channel.name,
            "prompt": self.prompt.to_a2a_format() if self.prompt else None,
            "error": self.error.to_a2a_error() if self.error else None,
        }


Rules = list[tuple[Signal, re.Pattern[str]]]


def _compiled(signals: tuple[Signal, ...]) -> Rules:
    return [(signal, re.compile(signal.pattern)) for signal in signals]
