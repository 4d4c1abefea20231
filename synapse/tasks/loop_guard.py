"""No runaway: whether a message that an agent sends on is taken. Pure, but for a memory of the last minute.

A message carries in `metadata["synapse"]` the agents that it came through (`hops`, the sender last) and those
of them that wait for an answer and do nothing else meanwhile (`waiting`).
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

    def then(self, agent: str, waits: bool) -> Chain:
        """The chain of a message that `agent` sends because of one with this chain.

        One that does not wait will be done by itself, so that whoever waits for it waits for nobody else.
        """
        return Chain((*self.hops, agent), (*self.waiting, agent) if waits else ())

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"hops": list(self.hops)}
        return found | {"waiting": list(self.waiting)} if self.waiting else found

    @classmethod
    def of(cls, *metadata: object) -> Chain:
        """As the first of these has it that has one; anything else than lists of text says nothing."""
        for held in metadata:
            said = held.get(KEY) if isinstance(held, Mapping) else None
            if isinstance(said, Mapping) and "hops" in said:
                hops = _texts(said.get("hops"))
                waits = said.get("waiting")
                return cls(hops, hops if waits is True else _texts(waits))
        return cls()


def wants_notice(*metadata: object) -> bool:
    """Whether an agent has sent it without waiting, and is to be told of the reply."""
    said = [held.get(KEY) for held in metadata if isinstance(held, Mapping)]
    return any(isinstance(held, Mapping) and held.get(NOTICE) is True for held in said)


class Loop(NamedTuple):
    sentence: str
    too_often: bool = False  # a moment later it would be taken


def objection(
    chain: Chain,
    me: Sequence[str],
    times: Sequence[float],
    now: float,
    max_hops: int = MAX_HOPS,
    per_minute: int = PAIR_PER_MINUTE,
) -> Loop | None:
    """Why the message is refused by the agent that is called `me`; `times` are those of the pair's last ones.

    A limit of 0 is none.
    """
    if not chain.hops:
        return None  # no agent has sent it
    if chain.hops[-1] in chain.waiting and any(name in chain.waiting for name in me):
        return Loop("this agent waits for an answer that waits for this one: send it without waiting.")
    if max_hops and len(chain.hops) > max_hops:
        return Loop(
            f"the message has been passed on {len(chain.hops)} times, more than the {max_hops} that "
            "routing.max_hops allows: agents may be sending each other round in circles, so ask a human."
        )
    recent = sum(1 for at in times if now - at < WINDOW)
    if per_minute and recent >= per_minute:
        return Loop(
            f"{recent} messages came from the same agent within a minute, as many as "
            "routing.pair_per_minute allows: if they only thank each other, stop here; else go on later.",
            too_often=True,
        )
    return None


class LoopGuard:
    """The messages of the last minute from each agent to this one, which is called `me`."""

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
        """Why a message with this metadata is refused. One that is not counts from now on."""
        chain = Chain.of(*metadata)
        if not chain.hops:
            return None
        now, sender = self._clock(), chain.hops[-1]
        times = self._times.pop(sender, None) or deque(maxlen=max(self._per_minute, 1))
        while times and now - times[0] >= WINDOW:
            times.popleft()
        found = objection(chain, self._me, times, now, self._max_hops, self._per_minute)
        if found is None:
            times.append(now)
        if times:
            self._times[sender] = times  # the one that spoke last is the last to be forgotten
        if len(self._times) > PAIRS:
            del self._times[next(iter(self._times))]
        return found


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item)[:LONGEST] for item in value) if isinstance(value, list) else ()
