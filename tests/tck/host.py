"""The host of the agent that the kit speaks to: the real one, with the kit's engine and handler in it."""

from __future__ import annotations

import asyncio
import functools
import os
from typing import Any
from unittest.mock import patch

from starlette.routing import BaseRoute

from synapse.base.urls import Pinned, pin_url, resolve
from synapse.host import __main__ as host
from synapse.host import assembly
from synapse.server import outbound
from synapse.server.about import About
from synapse.server.push import PushSender
from synapse.server.standard import routes as a2a_routes
from synapse.server.standard.card import agent_card
from synapse.server.standard.routes import standard_routes
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.loop_guard import LoopGuard
from synapse.tasks.store import TaskStore
from tests.tck.handler import KitHandler, StandIn

KIT = "SYNAPSE_TCK_KIT"


def _engine(store: TaskStore, _: Limits, refusing: str, guard: LoopGuard, **__: Any) -> StandIn:
    made = StandIn(store, refusing=refusing)
    made.guard = guard
    made.kit = os.environ[KIT]
    return made


def _routes(engine: TaskEngine, about: About, push: PushSender, **_: Any) -> list[BaseRoute]:
    strict = os.environ[KIT] == "1.0"  # which has an extended card too, though nobody asks for a token
    card = functools.partial(agent_card, about, strict=strict, token_set=True, full=True)
    handler = KitHandler(engine, push, card if strict else None)
    return standard_routes(engine, about, push, strict=strict, token_set=strict, handler=handler)


async def _pin(url: str, *_: Any, **__: Any) -> Pinned:
    """The kit's webhooks are on loopback; the one that it only names has no address without a network."""

    def find(host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if host == "example.com" else resolve(host, port)

    return await asyncio.to_thread(pin_url, url, allow_loopback=True, resolver=find)


if __name__ == "__main__":
    with (
        patch.object(assembly, "TaskEngine", _engine),
        patch.object(a2a_routes, "standard_routes", _routes),
        patch.object(outbound, "pin_url_async", _pin),
    ):
        host.main()
