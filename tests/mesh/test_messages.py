"""Messages between the agents of three machines, each a home on loopback, with the real server."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from synapse.errors import Refused
from synapse.peers.directory import open_directory
from synapse.peers.mesh.names import BINDING
from synapse.peers.mesh.peer import MeshPeer
from synapse.peers.origin import Origin
from synapse.peers.task import A2AMessage, A2ATask, StillWorking
from tests.support.home import wait
from tests.support.mesh import Mesh, new_mesh


@pytest.fixture(scope="module")
def mesh() -> Iterator[Mesh]:
    with new_mesh("alpha", "beta", "gamma") as made:
        made.start("beta", "b")
        made.start("alpha", "a")
        made.wait_listed("alpha", "b@beta")
        yield made


def peer(mesh: Mesh, machine: str, address: str, origin: Origin | None = None) -> MeshPeer:
    with mesh[machine].ours():
        found = open_directory(origin).find(address)
    assert isinstance(found, MeshPeer)
    return found


def tasks(mesh: Mesh, machine: str, agent: str) -> list[dict[str, Any]]:
    return list(json.loads(mesh[machine].run("tasks", agent, "--json").stdout))


def test_a_command_sends_to_an_agent_of_another_machine_and_prints_its_reply(mesh: Mesh) -> None:
    done = mesh["gamma"].run("send", "b@beta", "--return", "hello over the mesh")
    assert "hello over the mesh" in done.stdout


def test_an_agent_sends_and_is_named_with_its_machine(mesh: Mesh) -> None:
    inside = mesh["alpha"].inside("a")
    done = mesh["alpha"].run("send", "b@beta", "--return", "from an agent", **inside)
    assert "from an agent" in done.stdout
    assert tasks(mesh, "beta", "b")[0]["sender"]["name"] == "a@alpha"


def test_the_list_and_the_status_name_the_agents_of_all_machines(mesh: Mesh) -> None:
    listed = json.loads(mesh["alpha"].run("list", "--json").stdout)
    assert {"a", "b@beta"} <= {entry["name"] for entry in listed}
    assert "b@beta" in mesh["gamma"].run("mesh", "status").stdout


def test_events_come_in_order_while_the_agent_works(mesh: Mesh) -> None:
    seen: list[str] = []
    with mesh["alpha"].ours():
        task = asyncio.run(
            peer(mesh, "alpha", "b@beta").send(
                "lines 5 every 0.1", wait=True, on_event=lambda kind, data: seen.append(kind)
            )
        )
    assert task.status == "completed" and "line 5" in task.text
    order = [seen.index(kind) for kind in ("queued", "delivered", "working", "done")]
    assert order == sorted(order), seen


def test_a_question_is_answered_from_another_machine(mesh: Mesh) -> None:
    async def main() -> A2ATask:
        b = peer(mesh, "alpha", "b@beta")
        asked = await b.send("confirm Delete it?", wait=True)
        assert asked.asks and "Delete it?" in str(asked.prompt)
        await b.answer(asked.id, "y")
        return await b.follow(asked.id, timeout=60)

    with mesh["alpha"].ours():
        assert "Confirmed." in asyncio.run(main()).text


def test_another_agent_may_not_answer(mesh: Mesh) -> None:
    origin = Origin(str(mesh["alpha"].agents()["a"]["agent_id"]), "a")

    async def main() -> None:
        b = peer(mesh, "alpha", "b@beta", origin)
        asked = await b.send("confirm Delete it?", wait=True)
        with pytest.raises(Refused, match="may not answer"):
            await b.answer(asked.id, "y")
        await b.cancel(asked.id)

    with mesh["alpha"].ours():
        asyncio.run(main())


def test_cancel_interrupts_the_agent_there(mesh: Mesh) -> None:
    async def main() -> A2ATask:
        b = peer(mesh, "alpha", "b@beta")
        with pytest.raises(StillWorking):
            await b.send("honour 60", wait=True, timeout=3, request_id="to-cancel")
        task = await b.send("honour 60", request_id="to-cancel")  # the same request is the same task
        return await b.cancel(task.id)

    with mesh["alpha"].ours():
        assert asyncio.run(main()).status == "canceled"


def test_priority_5_interrupts(mesh: Mesh) -> None:
    async def main() -> A2ATask:
        b = peer(mesh, "alpha", "b@beta")
        slow = await b.send("honour 60")
        urgent = await b.send("say now", priority=5, wait=True, timeout=60)
        await b.follow(slow.id, timeout=60)
        return urgent

    with mesh["alpha"].ours():
        assert asyncio.run(main()).text == "now"


def test_a_reply_and_a_message_above_512_kb_travel_by_the_object_store(mesh: Mesh) -> None:
    content = base64.b64encode(bytes(range(256)) * 2400).decode()  # 800 KB
    part = {"type": "file", "name": "big.bin", "mime_type": "application/octet-stream", "bytes": content}
    message = A2AMessage("user", [{"type": "text", "text": "say got it"}, part])
    with mesh["alpha"].ours():
        task = asyncio.run(peer(mesh, "alpha", "b@beta").send(message, wait=True, timeout=60))
    assert task.status == "completed", task
    held = tasks(mesh, "beta", "b")[0]
    stored = next(p for p in held["message"]["parts"] if p["type"] == "file")
    assert stored["bytes"] == content


def test_the_task_commands_know_tasks_of_other_machines(mesh: Mesh) -> None:
    sent = json.loads(mesh["gamma"].run("send", "b@beta", "say kept", "--json").stdout)
    short = f"{sent['id'][:8]}@beta"
    wait(lambda: "kept" in mesh["gamma"].run("task", short).stdout, "the reply")
    assert short in mesh["gamma"].run("tasks").stdout
    foreign = mesh["alpha"].run("task", short, check=False)
    assert foreign.returncode == 3, foreign.stdout  # a machine sees what it sent


def test_a_terminal_is_not_reached_over_the_mesh(mesh: Mesh) -> None:
    done = mesh["alpha"].run("screen", "b@beta", check=False)
    assert done.returncode == 1 and "carries messages only" in done.stderr


def test_an_agent_that_did_not_wait_gets_a_notice(mesh: Mesh) -> None:
    inside = mesh["alpha"].inside("a")
    mesh["alpha"].run("send", "b@beta", "--no-wait", "say for your information", **inside)
    wait(
        lambda: any(
            "for your information" in str(task["message"]) and task["sender"]["name"] == "b@beta"
            for task in tasks(mesh, "alpha", "a")
        ),
        "a notice at the agent that sent",
    )


def test_the_loop_guard_counts_over_machines(mesh: Mesh) -> None:
    hops = [f"agent-{number}" for number in range(9)]

    async def main() -> None:
        await peer(mesh, "alpha", "b@beta").send(
            "say round", wait=True, metadata={"synapse": {"hops": hops}}, timeout=60
        )

    with mesh["alpha"].ours(), pytest.raises(Refused, match="passed on 9 times"):
        asyncio.run(main())


def test_a_message_that_expires_in_the_queue_fails(mesh: Mesh) -> None:
    async def main() -> A2ATask:
        b = peer(mesh, "alpha", "b@beta")
        slow = await b.send("honour 60")
        late = await b.send("say too late", expires=1, wait=True, timeout=60)
        await b.cancel(slow.id)
        return late

    with mesh["alpha"].ours():
        task = asyncio.run(main())
    assert task.status == "failed" and task.error is not None and task.error["code"] == "EXPIRED"


def test_a_run_asks_agents_of_other_machines(mesh: Mesh) -> None:
    script = mesh["gamma"].work / "steps.py"
    script.write_text(
        "from synapse.run import ask\nprint(ask('b@beta', 'say one') + ask('a@alpha', 'say two'))\n"
    )
    began = time.monotonic()
    done = mesh["gamma"].run("run", str(script))
    assert "onetwo" in done.stdout + done.stderr, time.monotonic() - began


def test_the_card_lists_the_binding_while_the_machine_is_in_the_mesh(mesh: Mesh) -> None:
    url = mesh["beta"].run("url", "b", "--card").stdout.strip()
    card = httpx.get(url).json()
    found = [each for each in card["supportedInterfaces"] if each["protocolBinding"] == BINDING]
    assert len(found) == 1 and ".task.beta." in found[0]["url"]
