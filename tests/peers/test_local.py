"""Agents on this machine that have only the specifications' endpoints, on a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from synapse.a2a_client import AsyncA2AClient
from synapse.errors import Refused
from synapse.registry import AgentRegistry
from tests.support.fake_agent import Answering, FakeAgent, fake_agent
from tests.support.patience import PATIENCE

TASK = {"id": "t", "message": {"role": "user", "parts": []}, "artifacts": []}


class SeedServer:
    """`POST /tasks/send` and `GET /tasks/t`, with the states that a test gives."""

    def __init__(self, fake: FakeAgent, states: list[str]) -> None:
        self.sent: list[Any] = []
        self.states = states
        fake.on |= {"/tasks/send": self._send, "/tasks/t": self._get}

    async def _send(self, request: Answering) -> None:
        self.sent.append(request.body["message"]["parts"][0]["text"])
        await request.json({"task": TASK | {"status": "submitted"}})

    async def _get(self, request: Answering) -> None:
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        artifacts = [{"type": "text", "data": "sun"}] if state == "completed" else []
        await request.json(TASK | {"status": state, "artifacts": artifacts})


async def page(request: Answering) -> None:
    """Not found, as a server says it to people."""
    await request.begin(404, "text/plain")
    await request.piece(b"Not Found")
    await request.end()


@pytest.mark.parametrize("by_entry", [True, False])
def test_it_is_sent_to_once_and_polled(tmp_path: Path, by_entry: bool) -> None:
    async def main(fake: FakeAgent) -> None:
        server = SeedServer(fake, ["submitted", "working", "completed"])
        if by_entry:
            fake.on |= {"/tasks/send-priority": page, "/tasks/t/subscribe": page}
        registry = AgentRegistry(tmp_path)
        port = int(fake.url.rpartition(":")[2])
        entry = registry.register("e" * 64, "gemini", port, name="gemini")
        client = AsyncA2AClient(local=registry, timeout=PATIENCE)
        told: list[str] = []
        target = entry if by_entry else fake.url
        task = await client.send_to_local(
            target, "rain?", wait=True, on_event=lambda kind, data: told.append(kind)
        )
        assert (task.status, task.text, server.sent) == ("completed", "sun", ["rain?"])
        assert list(dict.fromkeys(told)) == ["queued", "delivered", "working", "partial", "done"]
        assert (await client.follow_local(target, "t")).text == "sun"
        registry.unregister("e" * 64)

    with fake_agent() as fake:
        asyncio.run(main(fake))


def test_what_it_asks_ends_the_wait_and_what_it_refuses_is_said(tmp_path: Path) -> None:
    async def main(fake: FakeAgent) -> None:
        server = SeedServer(fake, ["working", "input_required"])
        client = AsyncA2AClient(local=AgentRegistry(tmp_path), timeout=PATIENCE)
        assert (await client.send_to_local(fake.url, "delete it", wait=True)).asks
        with pytest.raises(Refused):
            await client.answer_local(fake.url, "t", "yes")
        with pytest.raises(Refused):
            await client.follow_local(fake.url, "unknown")
        assert server.sent == ["delete it"]

    with fake_agent() as fake:
        asyncio.run(main(fake))
