"""What goes wrong between machines: each case with the real server. The machines are homes on loopback, and a
partition is a proxy that stops passing bytes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from synapse.errors import Refused
from synapse.mesh.mailbox import Lane
from synapse.mesh.server.state import ServerState, load_state
from synapse.peers.directory import open_directory
from synapse.peers.mesh.events import EventReader
from synapse.peers.mesh.link import MeshFull, linked
from synapse.peers.mesh.membership import load_membership
from synapse.peers.mesh.names import TASK, agent_key, task_id
from synapse.peers.mesh.peer import MeshPeer
from synapse.peers.task import A2ATask
from tests.support.home import wait
from tests.support.mesh import Mesh, new_mesh
from tests.support.ports import free_port


@pytest.fixture(scope="module")
def mesh() -> Iterator[Mesh]:
    with new_mesh("alpha", "beta", "gamma") as made:
        made.start("beta", "b")
        yield made


def peer(mesh: Mesh, machine: str, address: str) -> MeshPeer:
    with mesh[machine].ours():
        found = open_directory().find(address)
    assert isinstance(found, MeshPeer)
    return found


def tasks(mesh: Mesh, machine: str, agent: str) -> list[dict[str, Any]]:
    return list(json.loads(mesh[machine].run("tasks", agent, "--json", "-n", "500").stdout))


def state(mesh: Mesh) -> ServerState:
    with mesh[mesh.first].ours():
        found = load_state()
    assert found is not None
    return found


def test_the_server_is_killed_in_the_middle_of_a_task_and_the_reply_arrives(mesh: Mesh) -> None:
    async def main() -> A2ATask:
        sending = asyncio.ensure_future(
            peer(mesh, "alpha", "b@beta").send("silent 3 after the kill", wait=True, timeout=90)
        )
        await asyncio.sleep(1.5)
        mesh.kill_server()
        return await sending

    with mesh["alpha"].ours():
        assert "after the kill" in asyncio.run(main()).text
    mesh.wait_served()


def test_a_message_that_is_sent_while_the_server_is_away_arrives(mesh: Mesh) -> None:
    b = peer(mesh, "alpha", "b@beta")
    mesh.kill_server()  # `mesh serve` starts it again
    with mesh["alpha"].ours():
        assert asyncio.run(b.send("say here", wait=True, timeout=90)).text == "here"


@contextmanager
def asleep(mesh: Mesh, machine: str) -> Iterator[None]:
    """All processes of a machine stand still."""
    stopped = mesh[machine].processes()
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_message_to_a_machine_that_sleeps_waits_for_it(mesh: Mesh) -> None:
    b = peer(mesh, "alpha", "b@beta")

    async def send() -> A2ATask:
        return await b.send("say good morning")

    async def follow(task: A2ATask) -> A2ATask:
        return await b.follow(task.id, timeout=90)

    with mesh["alpha"].ours():
        with asleep(mesh, "beta"):
            task = asyncio.run(send())
            assert task.status == "submitted" and not task.delivered
        assert asyncio.run(follow(task)).text == "good morning"


class Proxy:
    """Between a machine and the server. `cut` stops the bytes without closing the connections."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._passing = threading.Event()
        self._passing.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._open = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._passing.clear()

    def heal(self) -> None:
        self._passing.set()

    def close(self) -> None:
        self._open = False
        self._passing.set()
        self._listener.close()

    def _accept(self) -> None:
        while self._open:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                continue
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65536):
                self._passing.wait()
                other.sendall(data)
        for each in (one, other):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def test_a_partition_in_the_middle_of_a_task(mesh: Mesh) -> None:
    """The machine that sends is cut off while the agent works; afterwards it reads on where it was."""
    proxy = Proxy(mesh.port)
    path = mesh["gamma"].path / "synapse" / "mesh" / "joined.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "urls": [f"nats://127.0.0.1:{proxy.port}"]}))
    try:

        async def main() -> A2ATask:
            b = peer(mesh, "gamma", "b@beta")
            sending = asyncio.ensure_future(b.send("silent 4 beyond", wait=True, timeout=120))
            await asyncio.sleep(2)
            proxy.cut()
            await asyncio.sleep(5)
            proxy.heal()
            return await sending

        with mesh["gamma"].ours():
            assert asyncio.run(main()).text == "beyond"
    finally:
        proxy.close()
        path.write_text(json.dumps(told))


def test_a_message_that_is_delivered_twice_becomes_one_task(mesh: Mesh) -> None:
    """The same request, twice in the mailbox: the window in which the server recognises it is over."""
    with mesh["alpha"].ours():
        member = load_membership()
    assert member is not None
    b = peer(mesh, "alpha", "b@beta").agent

    async def main() -> None:
        async with linked(member) as link:
            await link.ready(30)
            body = {"message": "say once", "request_id": "twice", "priority": 1}
            for number in range(2):
                subject = link.names.subject(TASK, "beta", b.key, "alpha")
                await link.publish(subject, json.dumps(body).encode(), f"alpha/{b.key}/{number}")

    asyncio.run(main())
    wanted = task_id("alpha", b.key, "twice")

    def ours() -> list[dict[str, Any]]:
        return [task for task in tasks(mesh, "beta", "b") if "say once" in str(task["message"])]

    wait(lambda: [task["state"] for task in ours()] == ["completed"], "one task")
    assert [task["id"] for task in ours()] == [wanted]
    wait(lambda: mesh.status("beta")["waiting"] == 0, "both acknowledged")
    assert len(ours()) == 1


def test_events_that_come_out_of_order_are_sorted(mesh: Mesh) -> None:
    with mesh["alpha"].ours():
        member = load_membership()
    assert member is not None
    found: list[int] = []

    async def main() -> None:
        async with linked(state(mesh).admin()) as admin, linked(member) as link:
            await link.ready(30)
            await admin.ready(30)
            async with EventReader(link, "beta", "sorting") as reader:
                subject = link.names.subject("event", "alpha", "sorting", "beta")
                for number in (2, 1, 4, 4, 3, 1, 5):
                    await admin.publish(subject, json.dumps({"number": number, "event": "x"}).encode())
                for _ in range(5):
                    found.append((await reader.next())["number"])

    asyncio.run(main())
    assert found == [1, 2, 3, 4, 5]


def test_a_clock_that_is_an_hour_wrong_does_not_change_the_age_of_a_message() -> None:
    """The server's clock counts: the difference is measured when the mailbox is opened."""

    async def take(*_: object) -> None: ...

    lane = Lane(None, TASK, "key", lambda: 1, take)  # type: ignore[arg-type]
    for skew in (-3600.0, 0.0, 3600.0):
        lane._skew = skew
        stored = int((time.time() + skew - 5) * 1e9)
        assert lane._age(f"$JS.ACK.stream.consumer.1.2.3.{stored}.0") == pytest.approx(5, abs=1)


def test_a_second_machine_with_the_same_name_is_refused(mesh: Mesh) -> None:
    invitation = (mesh["beta"].path / "synapse" / "mesh" / "joined.json").read_text()
    copied = mesh["gamma"].path / "synapse" / "mesh" / "joined.json"
    own = copied.read_text()
    copied.unlink()
    try:
        from synapse.mesh.server.invitation import written
        from synapse.peers.mesh.membership import Membership

        text = written(Membership.of(json.loads(invitation)))
        done = mesh["gamma"].run("mesh", "join", "-", input=text, check=False)
        assert done.returncode == 1 and "another machine is in the mesh as 'beta'" in done.stderr, done
    finally:
        copied.write_text(own)
    again = mesh["alpha"].run("mesh", "invite", "beta", check=False)
    assert again.returncode == 2 and "there is a machine 'beta' already" in again.stderr


def test_a_message_of_another_version_is_refused_with_the_reason(mesh: Mesh) -> None:
    with mesh["alpha"].ours():
        member = load_membership()
    assert member is not None
    b = peer(mesh, "alpha", "b@beta").agent

    async def main() -> dict[str, Any]:
        async with linked(member) as link:
            await link.ready(30)
            wanted = task_id("alpha", b.key, "new")
            async with EventReader(link, "beta", wanted) as reader:
                subject = link.names.subject(TASK, "beta", b.key, "alpha")
                headers = {"Synapse-Mesh": "2"}
                await link.publish(subject, b"\x00 not JSON", f"alpha/{b.key}/new", headers=headers)
                return await reader.next()

    assert asyncio.run(main())["refused"]["code"] == "VERSION_NOT_SUPPORTED"


def test_who_may_send_is_the_receivers_choice(mesh: Mesh) -> None:
    home = mesh.homes["gamma"]
    home.run("mesh", "leave")
    mesh["alpha"].run("mesh", "revoke", "gamma")
    mesh.join("gamma", "--owner", "somebody-else")
    with home.ours(), pytest.raises(Refused, match="gamma may not send to b@beta"):
        asyncio.run(peer(mesh, "gamma", "b@beta").send("say hello", wait=True, timeout=60))


def test_a_revoked_machine_is_refused_at_once(mesh: Mesh) -> None:
    mesh["alpha"].run("mesh", "revoke", "gamma")
    status = mesh.status("gamma")
    assert "does not accept gamma" in status["problem"], status
    done = mesh["gamma"].run("send", "b@beta", "hello", check=False)
    assert done.returncode != 0


def test_ten_thousand_messages_for_a_busy_agent(mesh: Mesh) -> None:
    """They wait in its mailbox; the agent's own queue stays short, and an urgent message passes them."""
    with mesh["alpha"].ours():
        member = load_membership()
    assert member is not None
    b = peer(mesh, "alpha", "b@beta")
    count = 10_000

    async def main() -> A2ATask:
        async with linked(member) as link:
            await link.ready(30)
            await b.send("honour 60")
            subject = link.names.subject(TASK, "beta", b.agent.key, "alpha")

            async def publish(number: int) -> None:
                body = {"message": f"say {number}", "request_id": f"many-{number}", "priority": 1}
                await link.publish(subject, json.dumps(body).encode(), f"alpha/{b.agent.key}/many-{number}")

            for start in range(0, count, 500):
                await asyncio.gather(*(publish(number) for number in range(start, start + 500)))
            return await b.send("say first", priority=5, wait=True, timeout=120)

    with mesh["alpha"].ours():
        assert asyncio.run(main()).text == "first"
    waiting = mesh.status("beta")["waiting"]
    assert waiting > count / 2
    known = tasks(mesh, "beta", "b")
    assert len([task for task in known if task["state"] in ("submitted", "working")]) <= 60
    assert len({str(task["message"]) for task in known}) == len(known)


def test_what_is_in_the_mailbox_of_an_agent_that_ends_fails_with_the_reason(mesh: Mesh) -> None:
    """After the test above its mailbox is full."""
    b = peer(mesh, "alpha", "b@beta")
    wanted = task_id("alpha", b.agent.key, "many-9999")
    mesh.start("beta", "other")  # somebody of that machine tells the senders, if the agent has no time
    mesh["beta"].run("stop", "b")
    with mesh["alpha"].ours():
        task = asyncio.run(b.follow(wanted, timeout=180))
    assert task.status == "failed" and task.error is not None
    assert task.error["code"] == "AGENT_GONE" and "mailbox" in task.error["message"]


def test_a_full_server_says_so_and_goes_on_when_there_is_room() -> None:
    with new_mesh("alpha", options=("--storage", "1")) as mesh:
        with mesh["alpha"].ours():
            member = load_membership()
        assert member is not None

        async def main() -> None:
            async with linked(member) as link:
                await link.ready(30)
                subject = link.names.subject(TASK, "alpha", "0" * 16, "alpha")
                with pytest.raises(MeshFull, match="no room for the message"):
                    for _ in range(100):
                        await link.publish(subject, b"x" * 100_000)
                told = await link.api(f"STREAM.INFO.{link.names.mail('alpha')}")
                for sequence in range(told["state"]["first_seq"], told["state"]["last_seq"] + 1):
                    await link.api(f"STREAM.MSG.DELETE.{link.names.mail('alpha')}", {"seq": sequence})
                await link.publish(subject, b"x" * 1000)

        asyncio.run(main())


def test_wrong_credentials_and_no_server_are_sentences(mesh: Mesh) -> None:
    gamma = mesh["gamma"]
    gamma.run("mesh", "leave")
    seed = gamma.path / "seed"
    seed.write_text("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY")
    seed.chmod(0o600)
    url = f"nats://127.0.0.1:{mesh.port}"
    wrong = gamma.run("mesh", "join", url, "--nkey", str(seed), "--machine", "gamma", check=False)
    assert wrong.returncode == 1 and "does not accept gamma" in wrong.stderr, wrong
    nobody = gamma.run("mesh", "join", f"nats://127.0.0.1:{free_port()}", "--machine", "gamma", check=False)
    assert nobody.returncode == 1 and "cannot be reached" in nobody.stderr, nobody
    secret = gamma.run("mesh", "join", "synapse-mesh:abc", check=False)
    assert secret.returncode == 2 and "standard input" in secret.stderr
    half = gamma.run("mesh", "join", "-", input="synapse-mesh:abc", check=False)
    assert half.returncode == 2 and "no whole invitation" in half.stderr
    assert agent_key("0123456789abcdef00") == "0123456789abcdef"
