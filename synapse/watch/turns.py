"""The turns of an agent: the prompt, the tool calls, and exactly what the agent said.

The input is the facts of a channel and the status. The rendered screen is read only if there is nothing
better. A turn that a human starts by typing is tracked like any other.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from synapse.agents.base import mark_in
from synapse.agents.facts import (
    Denied,
    Fact,
    Failed,
    PromptAccepted,
    Said,
    Steered,
    TokensUsed,
    ToolUsed,
    TurnEnded,
)
from synapse.watch.screen.reply import ScreenReply

HISTORY = 100
EXACT, TRANSCRIPT, SCREEN = "exact", "transcript", "screen"
SURE, UNSURE = 0.8, 0.4  # the confidence in a reply that the screen shows
STEERED = "its human added a message while it worked on this one"
NO_REPLY = {
    "code": "NO_REPLY",
    "message": "the screen does not show where the reply begins, so no text on it can be taken for one",
}


@dataclass
class Turn:
    number: int
    started_at: float
    prompt: str | None = None
    ended_at: float | None = None
    outcome: str | None = None  # completed | interrupted | failed
    reply: str = ""
    source: str | None = None  # exact | transcript | screen
    confidence: float = 1.0
    accepted: bool = False  # the CLI itself has reported that it took this prompt
    busy: bool = False  # it was seen at work
    steered: bool = False  # its human has added a message in the middle
    messages: dict[str, str] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)
    error: dict[str, Any] | None = None
    asked: str = ""  # what the human was last asked to permit
    permitted: bool = False  # the answer that Synapse gave to that was not no
    denied: str | None = None  # what the human has denied, if nothing came after that
    denied_by: str = ""  # how it is known whether it was denied: a key of `denials.EVIDENCE`

    @property
    def evidence(self) -> dict[str, Any]:
        """Where the reply comes from, for its receipt."""
        return {"source": self.source} | ({"steered": STEERED} if self.steered else {})

    def to_dict(self) -> dict[str, Any]:
        plain = ("number", "prompt", "started_at", "ended_at", "outcome", "reply", "source", "confidence")
        counts = list(self.tokens.values())
        return {
            **{name: getattr(self, name) for name in plain},
            "messages": list(self.messages.values()),
            "tools": list(self.tools.values()),
            "usage": {
                "input_tokens": sum(count for count, _ in counts),
                "output_tokens": sum(count for _, count in counts),
            },
            "error": self.error,
        }


class TurnTracker:
    """`read_screen` returns the reply that the screen shows, to the prompt if that is known; None if it
    cannot be found."""

    def __init__(self, read_screen: Callable[[str | None], ScreenReply | None]) -> None:
        self._read_screen = read_screen
        self._count = 0
        self._begun: list[Callable[[Turn], None]] = []
        self._ended: list[Callable[[Turn], None]] = []
        self._said: list[Callable[[Turn], None]] = []
        self.current: Turn | None = None
        self.finished: deque[Turn] = deque(maxlen=HISTORY)

    def on_turn(self, begun: Callable[[Turn], None], ended: Callable[[Turn], None]) -> Callable[[], None]:
        """Call these for each turn from now on, until the returned function is called."""
        self._begun.append(begun)
        self._ended.append(ended)

        def forget() -> None:
            self._begun.remove(begun)
            self._ended.remove(ended)

        return forget

    def on_said(self, said: Callable[[Turn], None]) -> None:
        self._said.append(said)

    def take(self, fact: Fact, now: float) -> None:
        if isinstance(fact, PromptAccepted):
            if self.current is None or not fact.if_idle:
                self._accept(fact.text, now)
        elif isinstance(fact, Steered):
            self._steer(fact.text, now)
        elif isinstance(fact, TurnEnded) and not self._is_repeated(fact):
            turn = self.current or self._begin(None, now)
            turn.error = fact.error
            self._end(turn, fact.outcome, now, fact.reply)
        elif isinstance(fact, Denied):
            if self.current is not None:
                self.current.denied = fact.subject or self.current.asked
                self.current.denied_by = fact.source
        elif isinstance(fact, Failed):
            if self.current is not None:
                self.current.error = fact.error
        elif isinstance(fact, Said | ToolUsed | TokensUsed):
            late = self.current or self._latecomer()
            if late is not None:
                _note(late, fact)
            if isinstance(fact, Said) and self.current is not None:
                self.current.error = None  # the CLI has tried again
                for callback in self._said:
                    callback(self.current)

    def submitted(self, now: float, prompt: str | None = None) -> None:
        """Enter was pressed in a CLI that does not report prompts, or has not reported this one yet."""
        if self.current is None:
            self._begin(prompt, now)

    def take_up(self, prompt: str, now: float) -> None:
        if self.current is None:
            self._begin(prompt, now).busy = True

    def settle(self, outcome: str, error: dict[str, Any] | None, now: float) -> None:
        """The agent is READY, so the current turn is over. An error from the channel counts first."""
        turn = self.current
        if turn is not None:
            outcome = "failed" if turn.error else outcome
            if outcome == "completed" and turn.denied is not None:
                outcome = "interrupted"  # it has done nothing after that
            turn.error = turn.error or error
            self._end(turn, outcome, now, None)

    def forget(self) -> None:
        """What looked like the beginning of a turn was not one."""
        self.current = None
        self._count -= 1

    def explain(self, untold: str, error: dict[str, Any]) -> None:
        """Set the error that the screen shows if the channel gave the last turn only the message `untold`."""
        last = self.finished[-1] if self.finished else None
        if self.current is None and last is not None and last.error and last.error["message"] == untold:
            last.error = error

    def abandon(self, outcome: str, error: dict[str, Any] | None, now: float) -> None:
        if self.current is not None:
            self.current.error = error
            self._end(self.current, outcome, now, None)

    def _accept(self, prompt: str, now: float) -> None:
        turn = self.current
        if turn is not None and not turn.accepted and _same(turn.prompt, prompt):
            turn.prompt, turn.accepted = prompt, True  # begun by Enter, then reported by the channel
            for callback in self._begun:
                callback(turn)
            return
        if turn is not None:
            self._end(turn, "completed", now, None)  # the next prompt has cut it off
        self._begin(prompt, now, accepted=True)

    def _steer(self, text: str, now: float) -> None:
        """A message that Synapse has typed counts as a turn of its own, whose reply is what follows."""
        if mark_in(text) or self.current is None:
            self._accept(text, now)
        else:
            self.current.steered = True

    def _begin(self, prompt: str | None, now: float, accepted: bool = False) -> Turn:
        self._count += 1
        turn = Turn(self._count, now, prompt, accepted=accepted)
        self.current = turn
        for callback in self._begun:
            callback(turn)
        return turn

    def _end(self, turn: Turn, outcome: str, now: float, reply: str | None) -> None:
        turn.outcome, turn.ended_at = outcome, now
        messages = list(turn.messages.values())
        if reply is not None:
            turn.reply, turn.source = reply, EXACT
        elif messages:
            turn.reply, turn.source = messages[-1], TRANSCRIPT
        elif outcome != "failed":
            self._read(turn)
        self.current = None
        self.finished.append(turn)
        for callback in self._ended:
            callback(turn)

    def _read(self, turn: Turn) -> None:
        shown = self._read_screen(turn.prompt)
        turn.source = SCREEN
        if shown is not None:
            turn.reply, turn.confidence = shown.text, SURE if shown.sure else UNSURE
        elif turn.outcome == "completed":
            turn.outcome, turn.error = "failed", turn.error or dict(NO_REPLY)

    def _is_repeated(self, fact: TurnEnded) -> bool:
        last = self.finished[-1] if self.finished and self.current is None else None
        if last is None or last.outcome != fact.outcome:
            return False
        return fact.outcome == "interrupted" or (fact.reply is not None and last.reply == fact.reply)

    def _latecomer(self) -> Turn | None:
        """The turn that has just ended: a transcript lags behind its hook."""
        return self.finished[-1] if self.finished and self.finished[-1].source == EXACT else None


def _same(known: str | None, told: str) -> bool:
    """Compares words: CLIs change white space, and of some prompts only the beginning is known."""
    words = [] if known is None else known.split()
    return words == told.split()[: len(words)]


def _note(turn: Turn, fact: Said | ToolUsed | TokensUsed) -> None:
    if not isinstance(fact, TokensUsed):
        turn.denied, turn.denied_by = None, ""  # it goes on
    turn.busy = True  # even if it was over before the next look
    if isinstance(fact, Said):
        turn.messages[fact.key or str(len(turn.messages))] = fact.text
    elif isinstance(fact, ToolUsed):
        turn.tools[fact.key or str(len(turn.tools))] = {"name": fact.name, "input": fact.detail}
    else:
        turn.tokens[fact.key or str(len(turn.tokens))] = (fact.input_tokens, fact.output_tokens)
