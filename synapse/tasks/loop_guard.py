"""Refuses messages that agents send to each other in a loop or too often.

A message has in `metadata["synapse"]` the agents that it came through (`hops`, the sender last) and those of
them that wait for the answer (`waiting`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

MAX_HOPS = 8
PAIR_PER_MINUTE = 20
KEY = "synapse"  # in the metadata
NOTICE = "notice"  # the sender wants the reply typed to it
WINDOW = 60.0  # seconds
PAIRS = 1000  # that are remembered
LONGEST = 200  # characters of a hop


class Chain(NamedTuple):
    """How a message came to be sent."""

    hops: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    used: Mapping[str, Any] = {}  # what the agents have used, as `tasks/conversation.py` writes it

    def then(self, agent: str, waits: bool) -> Chain:
        """The chain of a message that `agent` sends because of one with this chain.

        An agent that does not wait can finish its task, so those that wait for it do not wait for others."""
        return Chain((*self.hops, agent), (*self.waiting, agent) if waits else (), self.used)

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"hops": list(self.hops)}
        more = {"waiting": list(self.waiting), "used": dict(self.used)}
        return found | {key: value for key, value in more.items() if value}

    @classmethod
    def of(cls, *metadata: object) -> Chain:
        """The chain of the first metadata that has one; values that are not lists of text are ignored."""
        for held in metadata:
            said = held.get(KEY) if isinstance(held, Mapping) else None
            if isinstance(said, Mapping) and "hops" in said:
                hops = _texts(said.get("hops"))
                waits, used = said.get("waiting"), said.get("used")
                known = used if isinstance(used, Mapping) else {}
                return cls(hops, hops if waits is True else _texts(waits), known)
        return cls()


def wants_notice(*metadata: object) -> bool:
    """Whether the sender is an agent that did not wait, and wants a notice of the reply."""
    said = [held.get(KEY) for held in metadata if isinstance(held, Mapping)]
    return any(isinstance(held, Mapping) and held.get(NOTICE) is True for held in said)


class Loop(NamedTuple):
    sentence: str
    too_often: bool = False  # it may be accepted a moment later


class LoopGuard:
    """Keeps the times of the last minute's messages from each agent. `me`: the names of this agent."""

    def __init__(
        self,
        me: Sequence[str] = (),
        max_hops: int = MAX_HOPS,
        per_minute: int = PAIR_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._me = tuple(me)
        self._max_hops = max_hops
        self._per_minute = per_minute
        self._clock = clock
        self._times: dict[str, deque[float]] = {}

    def check(self, *metadata: object) -> Loop | None:
        """Why a message with this metadata is refused; None counts it as accepted."""
        chain = Chain.of(*metadata)
        if not chain.hops:
            return None
        now, sender = self._clock(), chain.hops[-1]
        times = self._times.pop(sender, None) or deque(maxlen=max(self._per_minute, 1))
        while times and now - times[0] >= WINDOW:
            times.popleft()
        found = self._objection(chain, len(times))
        if found is None:
            times.append(now)
        if times:
            self._times[sender] = times  # last in the order, so the last one to be dropped
        if len(self._times) > PAIRS:
            del self._times[next(iter(self._times))]
        return found

    def _objection(self, chain: Chain, recent: int) -> Loop | None:
        """`recent`: how many messages came from this sender in the last minute. A limit of 0 is none."""
        hops, most = len(chain.hops), self._max_hops
        if chain.hops[-1] in chain.waiting and any(name in chain.waiting for name in self._me):
            return Loop("this agent waits for an answer that waits for this one: send it without waiting.")
        if most and hops > most:
            return Loop(
                f"the message has been passed on {hops} times, more than the {most} that "
                "routing.max_hops allows: agents may be sending each other round in circles, so ask a human."
            )
        if self._per_minute and recent >= self._per_minute:
            return Loop(
                f"{recent} messages came from the same agent within a minute, as many as "
                "routing.pair_per_minute allows: if they only thank each other, stop here; else go on later.",
                too_often=True,
            )
        return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item)[:LONGEST] for item in value) if isinstance(value, list) else ()
