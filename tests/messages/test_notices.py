"""An agent that has sent something without waiting is told of the reply, once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from synapse.errors import TargetError
from synapse.messages.notices import Notices, notice
from synapse.peers.directory import Directory
from synapse.peers.local import LocalPeer, LocalSource
from synapse.peers.origin import Origin
from synapse.peers.task import A2ATask
from synapse.registry import AgentRegistry
from synapse.tasks.engine import TaskEngine
from synapse.tasks.loop_guard import KEY
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Task, text_message

WANTED = {KEY: {"hops": ["id-a"], "notice": True}}


class Here:
    """An agent b with an engine, and what it sends to others."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        registry = AgentRegistry(path)
        registry.register("id-a", "dummy", 8200, name="a")
        self.me = Origin("id-b", "b", in_turn=False)
        self.directory = Directory([LocalSource(registry, self.me)])
        self.engine = TaskEngine(TaskStore())
        self.sent: list[tuple[str, str, dict[str, Any]]] = []
        self.gone = False
        monkeypatch.setattr(LocalPeer, "submit", lambda peer, body, *_: self._submit(peer.name, body))

    def open_notices(self) -> None:
        notices = Notices(self.engine, self.directory, self.me)
        self.engine.store.on_event(notices.task_changed)
        notices.open()

    async def _submit(self, name: str, body: dict[str, Any]) -> A2ATask:
        if self.gone:
            raise TargetError("a has ended.")
        self.sent.append((name, body["message"]["parts"][0]["text"], body))
        return A2ATask("t")

    def task(self, metadata: Any = WANTED, sender: str = "id-a") -> Task:
        task = self.engine.submit(
            text_message("do it"), sender={"id": sender, "name": "a"}, metadata=metadata
        )
        self.engine.start(task)
        self.engine.given(task)
        return task


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    return Here(tmp_path, monkeypatch)


def test_the_reply_comes_once_however_many_hosts_there_are(here: Here) -> None:
    async def main() -> None:
        here.open_notices()
        task = here.task()
        here.engine.finish(task, "all done", "exact")
        await asyncio.sleep(0)
        ((name, text, more),) = here.sent
        assert (name, more["request_id"]) == ("a", f"reply/{task.id}")
        assert (
            text
            == f"Reply to your message {task.short_id} (for your information, it needs no answer): all done"
        )
        assert more["sender"] == {"id": "id-b", "name": "b"}
        assert more["metadata"] == {KEY: {"hops": ["id-a", "id-b"]}}, "and wants none itself"
        here.open_notices()
        await asyncio.sleep(0)
        assert [request["request_id"] for _, _, request in here.sent] == [f"reply/{task.id}"] * 2

    asyncio.run(main())


def test_nobody_is_told_who_did_not_ask_or_is_not_there(here: Here) -> None:
    async def main() -> None:
        here.open_notices()
        for task in (here.task({}), here.task({KEY: {"hops": ["id-a"]}}), here.task(sender="id-gone")):
            here.engine.finish(task, "done", "exact")
        canceled = here.task()
        here.engine.canceled(canceled, "nobody wants it")
        here.gone = True
        here.engine.finish(here.task(), "done", "exact")
        await asyncio.sleep(0.01)
        assert here.sent == []

    asyncio.run(main())


def test_what_it_says(here: Here) -> None:
    task = here.task()
    here.engine.fail(task, {"code": "X", "message": "the agent ended"})
    assert notice(task).endswith("it was not done: failed, the agent ended")
    task = here.task()
    here.engine.finish(task, "one\ntwo", "exact")
    assert notice(task).endswith("answer):\n\none\ntwo")
