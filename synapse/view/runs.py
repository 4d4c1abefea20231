"""The runs that are executed now or have just ended, as `synapse view` and `synapse top` show them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from synapse.run import listing

logger = logging.getLogger(__name__)

LOOK_EVERY = 1.0  # seconds
STEPS = 200  # at most, the last ones
LINE = 200  # characters of a prompt

Json = dict[str, Any]


class Runs:
    """`known` is what there is to show, the newest first; `changed` is called when it has changed."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.known: list[Json] = []

    async def run(self) -> None:
        while True:
            try:
                found = await asyncio.to_thread(lambda: [document(run) for run in listing.recent()])
            except OSError:
                logger.exception("the runs cannot be read")
                found = self.known
            if found != self.known:
                self.known = found
                self._changed()
            await asyncio.sleep(LOOK_EVERY)


def document(run: listing.Listed) -> Json:
    steps = run.steps
    return {
        "id": run.id,
        "state": run.state,
        "error": run.error,
        "done": sum(step.state == "completed" for step in steps),
        "total": len(steps),
        "left": any(step.state == "working" for step in steps),  # also when the run has ended
        "tokens": run.record.tokens,
        "created_at": run.created_at,
        "steps": [
            {
                "key": step.key,
                "agent": step.agent,
                "state": step.state,
                "asked_at": step.asked_at,
                "ended_at": step.ended_at,
                "depth": step.depth,
                "tokens": step.tokens,
                "text": step.error or " ".join(step.prompt[:LINE].split()),
            }
            for step in steps[-STEPS:]
        ],
    }
