"""The profile's rules for titles, OSC sequences and the screen: which state each of them means."""

from typing import TypeVar

from synapse.agents.base import OSC, TITLE
from synapse.keys.patterns import Pattern
from synapse.profiles.fields import OscSignal, Profile, Signal
from synapse.registry import INPUT_REQUIRED, PROCESSING
from synapse.terminal.screen import Screen
from synapse.watch.status import StatusModel

Rule = TypeVar("Rule", Signal, OscSignal)


class SignalReader:
    """Adds a title or a sequence to the model once, when it changes. `titles` off: only the screen counts."""

    def __init__(self, profile: Profile, titles: bool) -> None:
        self._title_rules = _compiled(profile.signals.title if titles else ())
        self._osc_rules = _compiled(profile.signals.osc if titles else ())
        self._screen_rules = _compiled(profile.signals.screen)
        self._title = ""
        self._osc_seen: dict[int, str] = {}

    @property
    def tells_states(self) -> bool:
        return bool(self._title_rules or self._osc_rules)

    def read(self, screen: Screen, model: StatusModel, now: float) -> None:
        if screen.title != self._title:
            self._title = screen.title
            self._read_title(model, now)
        for rule, regex in self._osc_rules:
            payload = screen.osc(rule.number)
            if payload != self._osc_seen.get(rule.number) and regex.search(payload):
                self._osc_seen[rule.number] = payload
                model.observe(OSC, rule.means, now, f"OSC {rule.number} {payload[:60]}")

    def _read_title(self, model: StatusModel, now: float) -> None:
        for rule, regex in self._title_rules:
            if regex.search(self._title):
                model.observe(TITLE, rule.means, now, f"title {self._title.strip()[:40]!r}")
                return
        model.forget(TITLE)  # a title without a meaning

    def means(self, text: str) -> tuple[str, ...]:
        """The states that the first match on the screen means; empty if there is none."""
        return next((rule.means for rule, regex in self._screen_rules if regex.search(text)), ())

    def asks(self, text: str) -> bool:
        return INPUT_REQUIRED in self.means(text)

    def shows_work(self, text: str) -> bool:
        return any(PROCESSING in rule.means and regex.search(text) for rule, regex in self._screen_rules)


def _compiled(signals: tuple[Rule, ...]) -> list[tuple[Rule, Pattern]]:
    return [(signal, Pattern(signal.pattern)) for signal in signals]
