"""How the turns of an agent end: the CLI reports it, the screen shows it, or the agent stays READY.

The end of an interrupted turn is held back for a moment, until the screen shows what was said before it.
"""

from typing import Any

from synapse.agents.base import Channel
from synapse.agents.facts import TurnEnded
from synapse.watch import denials, moments
from synapse.watch.moments import Moments
from synapse.watch.screen.errors import DetectedError
from synapse.watch.screen.reader import ScreenReader
from synapse.watch.signals import SignalReader
from synapse.watch.turns import Turn, TurnTracker


class Endings:
    def __init__(
        self, turns: TurnTracker, reader: ScreenReader, channel: Channel, signals: SignalReader, last: Moments
    ) -> None:
        self._turns = turns
        self._reader = reader
        self._channel = channel
        self._signals = signals
        self._last = last
        self._held: tuple[TurnEnded, float] | None = None  # and when it was reported

    @property
    def is_holding(self) -> bool:
        return self._held is not None

    def hold(self, end: TurnEnded, asks: bool, now: float) -> None:
        """The CLI has reported an interrupt. `asks`: a permission prompt is on the screen."""
        self._was_denied(end.denied, asks, now)
        self._held = end, now

    def release(self, now: float) -> None:
        if self._held is None:
            return
        (end, _), self._held = self._held, None
        if self._turns.current is not None:
            denials.shown(self._turns.current, self._reader.denial())
        self._turns.take(end, now)

    def release_if_due(self, now: float, is_quiet: bool) -> None:
        settle = moments.STOPPED_SETTLE if is_quiet else moments.STOPPED_AT_MOST
        if self._held is not None and now - self._held[1] >= settle:
            self.release(now)

    def end_marked(self, now: float) -> None:
        """End a turn whose reply is read from the screen when the profile's `response_end` is there."""
        turn = self._turns.current
        if turn is None or not turn.prompt or self._channel.reports():
            return
        if self._reader.shows_end(turn.prompt):
            turn.busy = True
            self._turns.settle("completed", None, now)

    def unreported(self) -> Turn | None:
        """The turn that may be over, now that the agent is READY."""
        turn = self._turns.current
        if turn is None or self._last.unseen:
            return None
        if turn.prompt is None and self._last.output < turn.started_at:
            return None  # only Enter was seen, and there was no echo yet
        return turn

    def is_due(self, turn: Turn, now: float) -> bool:
        """Whether the agent has been READY for long enough."""
        settle = moments.TURN_SETTLE if self._was_busy(turn) else moments.TURN_SETTLE_UNSEEN
        if self._channel.unfinished():
            taken_back = self._was_busy(turn) and self._reader.is_taken_back(turn.prompt)
            settle = moments.TAKEN_BACK if taken_back else self._channel.patience
        if self._is_blank(turn):
            settle = moments.UNSHOWN
        return now - max(self._last.ready, self._last.output, turn.started_at) >= settle

    def settle(self, turn: Turn, asks: bool, error: DetectedError | None, now: float) -> None:
        """End it as the screen shows. `error`: what is on the screen."""
        if not self._was_busy(turn) and not turn.accepted and self._would_tell(turn):
            self._turns.forget()  # a command of the CLI itself, or a prompt that it queued
        else:
            self._turns.settle(*self._outcome(turn, asks, error), now)

    def _was_busy(self, turn: Turn) -> bool:
        return turn.busy or self._last.ready > turn.started_at

    def _is_blank(self, turn: Turn) -> bool:
        """Whether the screen shows no echo of the message yet, or nothing after it, not even a prompt."""
        if turn.accepted or self._channel.tells:
            return False
        shown = self._reader.reply(turn.prompt)
        return shown is None or not (shown.text or self._reader.shows_input())

    def _would_tell(self, turn: Turn) -> bool:
        """Whether a title or a channel would have reported this turn."""
        return self._signals.tells_states and (turn.prompt is None or self._channel.tells_all)

    def _outcome(
        self, turn: Turn, asks: bool, error: DetectedError | None
    ) -> tuple[str, dict[str, Any] | None]:
        if self._reader.was_stopped(turn.prompt):
            self._was_denied(None, asks, self._last.ready)
            denials.shown(turn, self._reader.denial())
            return "interrupted", None
        if turn.asked and not turn.permitted and self._reader.denial():
            denials.shown(turn, True)
        if error is None:
            return "completed", None
        return "failed" if error.fatal else "completed", error.to_a2a_error()

    def _was_denied(self, told: bool | None, asks: bool, stopped_at: float) -> None:
        turn = self._turns.current
        if turn is not None and told is not None:
            denials.told(turn, told)
        elif turn is not None:
            denials.deduce(turn, asks, stopped_at - self._last.asked)
