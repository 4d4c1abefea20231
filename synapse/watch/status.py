"""The status of an agent, resolved from evidence.

Each source reports what it last saw, and when. Sources are trusted in this order: the process itself; hooks,
notifications and transcripts, which report events; titles and OSC sequences, which show a state; the rendered
screen; silence. A more trusted source wins, but not for ever: events get lost, so a less trusted source wins
if it is newer and still says the same after a bounded time.
"""

from __future__ import annotations

from dataclasses import dataclass

from synapse.agents.base import HOOK, OSC, PROCESS, SCREEN, SILENCE, TITLE, TRANSCRIPT
from synapse.registry import INPUT_REQUIRED, PROCESSING

TRUST = {PROCESS: 6, HOOK: 5, TRANSCRIPT: 5, OSC: 4, TITLE: 3, SCREEN: 2, SILENCE: 1}
CONFIDENCE = {6: 1.0, 5: 0.99, 4: 0.97, 3: 0.95, 2: 0.8, 1: 0.5, 0: 0.3}

# Seconds for which a newer, less trusted source must contradict before it wins. A title follows its hook by
# up to 0.1 s, and a transcript by as much again; two sources that agree need less time.
HEAL_ALONE = 1.5
HEAL_TOGETHER = 0.5

SAME_QUESTION = 2.0  # seconds within which a question that is seen again goes on: its program repaints


@dataclass(frozen=True)
class Evidence:
    source: str
    says: tuple[str, ...]  # the possible statuses: a title may not distinguish idle from waiting
    since: float  # when it began to say so
    at: float  # when it last did
    why: str

    @property
    def trust(self) -> int:
        return TRUST[self.source]

    def to_dict(self, now: float) -> dict[str, object]:
        age, since = round(now - self.at, 2), round(now - self.since, 2)
        return {"source": self.source, "says": list(self.says), "why": self.why, "age": age, "since": since}

    def is_same_question(self, says: tuple[str, ...], at: float, why: str) -> bool:
        asks = self.says == says == (INPUT_REQUIRED,)
        return asks and self.why == why and at - self.at <= SAME_QUESTION

    def contradicts(self, other: Evidence) -> bool:
        return self.at > other.at and not set(self.says) & set(other.says)


@dataclass(frozen=True)
class Verdict:
    status: str
    reason: str
    confidence: float
    against: tuple[Evidence, ...] = ()
    overruled_in: float | None = None  # seconds until `against` wins if nothing changes


class StatusModel:
    """The latest evidence of each source."""

    def __init__(self) -> None:
        self._latest: dict[str, Evidence] = {}
        self._forgotten: dict[str, Evidence] = {}
        self._status = PROCESSING  # the last verdict, which holds while the evidence is ambiguous

    def observe(self, source: str, says: str | tuple[str, ...], at: float, why: str) -> None:
        says = (says,) if isinstance(says, str) else says
        before = self._latest.get(source)
        last = self._forgotten.pop(source, None)
        if before is None and last is not None and last.is_same_question(says, at, why):
            before = last
        # An event is new each time; a state that is seen again continues.
        goes_on = before is not None and before.says == says and source not in (HOOK, TRANSCRIPT)
        since = before.since if before is not None and goes_on else at
        self._latest[source] = Evidence(source, says, since, at, why)

    def forget(self, source: str) -> None:
        if (last := self._latest.pop(source, None)) is not None:
            self._forgotten[source] = last

    def evidence(self) -> list[Evidence]:
        """The most trusted first, then the newest."""
        return sorted(self._latest.values(), key=lambda e: (-e.trust, -e.at))

    def hears(self, status: str) -> bool:
        """Whether a source says just this, even if it is overruled: an event may have been read late."""
        return any(evidence.says == (status,) for evidence in self._latest.values())

    def verdict(self, now: float) -> Verdict:
        known = self.evidence()
        if not known:
            return Verdict(PROCESSING, "it has only just started: nothing has been seen yet", CONFIDENCE[0])
        best = known[0]
        against = tuple(e for e in known if e.contradicts(best) and e.source != SILENCE)
        wins_at = _overruled_at(best, against, known)
        if wins_at is not None and now >= wins_at:
            healed = against[0]
            reason = f"{healed.why}, for {now - healed.since:.1f} s, against an older {best.why}"
            self._status = self._narrow(healed, known)
            return Verdict(self._status, reason, CONFIDENCE[healed.trust] * 0.9, (best,))
        confidence = CONFIDENCE[best.trust] * (0.9 if against else 1.0)
        overruled_in = None if wins_at is None else wins_at - now
        self._status = self._narrow(best, known)
        return Verdict(self._status, best.why, confidence, against, overruled_in)

    def _narrow(self, chosen: Evidence, known: list[Evidence]) -> str:
        """If the evidence allows several statuses, less trusted sources decide between them."""
        left = chosen.says
        for other in known:
            common = tuple(status for status in left if status in other.says)
            if other.trust < chosen.trust and common:
                left = common
        return left[0] if len(left) == 1 else self._status


def _overruled_at(best: Evidence, against: tuple[Evidence, ...], known: list[Evidence]) -> float | None:
    """When the contradiction wins. Never, if it is an ambiguous screen, or if a title or sequence that is
    trusted more confirms the event."""
    confirmed = max(
        (e.trust for e in known if e.source in (OSC, TITLE) and set(e.says) <= set(best.says)), default=0
    )
    weighty = [e for e in against if e.trust > confirmed and (len(e.says) == 1 or e.trust > TRUST[SCREEN])]
    if not weighty:
        return None
    begun = sorted(max(best.at, e.since) for e in weighty if set(e.says) & set(weighty[0].says))
    alone = max(best.at, weighty[0].since) + HEAL_ALONE
    return min([alone, *(moment + HEAL_TOGETHER for moment in begun[1:2])])  # a second source only hastens it
