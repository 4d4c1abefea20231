"""Ends and faults: an agent that ends while it is sent tasks, and files that somebody removes meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from synapse.base.states import END_STATES
from synapse.errors import TargetError
from synapse.peers.local import LocalPeer
from tests.support.home import Home, hosts, wait
from tests.support.ports import free_port


class Receiver(ThreadingHTTPServer):
    """Takes callbacks, or refuses them with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/done"
        self.status = 200
        self.documents: list[dict[str, Any]] = []

    @property
    def told(self) -> set[str]:
        return {document["request_id"] for document in self.documents}


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.documents.append(document)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Load:
    """Sends messages with a callback, as fast as they are answered, until the agent answers no more."""

    def __init__(self, port: int, callback: str) -> None:
        self.accepted: list[str] = []
        self.refused: set[int] = set()
        self._stop = threading.Event()
        self._body = {"content": "hello", "callback_url": callback}
        self.port = port
        self._threads = [threading.Thread(target=self._send) for _ in range(4)]
        for thread in self._threads:
            thread.start()

    def _send(self) -> None:
        with httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60) as client:
            while not self._stop.is_set():
                try:
                    answer = client.post("/message", json=self._body)
                except httpx.TransportError:
                    continue  # not accepted: the sender knows that it must send again
                if answer.status_code == 200:
                    self.accepted.append(answer.json()["task_id"])
                else:
                    self.refused.add(answer.status_code)
                    self._stop.wait(0.01)

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def states(home: Home, agent_id: str) -> dict[str, str]:
    path = home.path / "synapse" / "agents" / agent_id / "tasks.db"
    with sqlite3.connect(path) as db:
        return dict(db.execute("SELECT id, state FROM tasks").fetchall())


def agent_process(home: Home, name: str) -> int:
    """The CLI itself: the one in the session that the relay made, not its leader."""
    relay = int(str(home.agents()[name]["pid"]))
    for pid in home.processes():
        try:
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{parent}/stat") as file:
                grandparent = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if grandparent == relay:
            return pid
    raise AssertionError("the agent is not running")


def leaves(home: Home) -> None:
    home.run("send", "a", "--no-wait", "--priority", "4", "exit 3")


def is_killed(home: Home) -> None:
    os.kill(agent_process(home, "a"), signal.SIGKILL)


def is_stopped(home: Home) -> None:
    home.run("stop", "a")


ENDS = [leaves, is_killed, is_stopped]


@contextmanager
def loaded(home: Home, url: str) -> Iterator[Load]:
    port = free_port()
    home.run("start", "dummy", "--name", "a", "--port", str(port))
    load = Load(port, url)
    try:
        wait(lambda: len(load.accepted) >= 20, "accepted tasks")
        yield load
    finally:
        load.end()


@pytest.mark.parametrize("ends", ENDS)
def test_what_was_accepted_ends_and_its_callback_arrives(
    home: Home, receiver: Receiver, ends: Callable[[Home], None]
) -> None:
    with loaded(home, receiver.url) as load:
        agent_id = str(home.agents()["a"]["agent_id"])
        ends(home)
        wait(lambda: not home.agents(), "the end of the agent")
        wait(lambda: not home.registry.is_alive(agent_id), "the release of its id")
    assert load.refused <= {429, 503}
    found = states(home, agent_id)
    assert {task: found[task] for task in load.accepted if found[task] not in END_STATES} == {}
    owed = set(load.accepted)
    if owed - receiver.told:  # there was no time for all: the next host sends the rest
        home.run("start", "dummy", "--name", "a", "--port", str(load.port))
        wait(lambda: owed <= receiver.told, "the other callbacks")
    assert len(receiver.documents) == len(owed)  # none twice


def test_what_a_receiver_did_not_take_is_sent_by_the_next_host(home: Home, receiver: Receiver) -> None:
    receiver.status = 503
    home.run("start", "dummy", "--name", "a")
    port = home.agents()["a"]["port"]
    body = {"content": "hello", "callback_url": receiver.url}
    task = httpx.post(f"http://127.0.0.1:{port}/message", json=body, timeout=60).json()["task_id"]
    home.run("stop", "a")
    assert receiver.documents == []
    receiver.status = 200
    home.run("start", "dummy", "--name", "a")
    wait(lambda: receiver.told == {task}, "the callback")


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL])
def test_a_host_that_cannot_end_its_tasks_keeps_neither_port_nor_processor(
    home: Home, receiver: Receiver, number: signal.Signals
) -> None:
    """A stopped host is killed, and the next host of the agent ends what it left."""
    home.run("start", "dummy", "--name", "a")
    port = home.agents()["a"]["port"]
    body = {"content": "honour 1000", "callback_url": receiver.url}
    task = httpx.post(f"http://127.0.0.1:{port}/message", json=body, timeout=60).json()["task_id"]
    (host,) = hosts(home, "a")
    os.kill(host, number)
    home.run("stop", "a")
    home.wait_no_process()
    home.run("start", "dummy", "--name", "a")
    wait(lambda: receiver.told == {task}, "the callback")
    assert receiver.documents[0]["status"] == "failed"


def test_a_live_agent_is_found_again_when_its_registry_entry_was_removed(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    entry = home.agents()["a"]
    path = home.path / "a2a" / "registry" / f"{entry['agent_id']}.json"
    for damage in (path.unlink, lambda: path.write_text("{")):
        damage()
        wait(lambda: "a" in home.agents(), "the entry")
        found = home.agents()["a"]
        assert {**found, "status": ""} == {**entry, "status": ""}
    path.unlink()
    home.run("start", "dummy", "--name", "b")  # not blocked, and with an id of its own
    wait(lambda: sorted(home.agents()) == ["a", "b"], "both")


def test_a_stale_address_does_not_reach_another_agent(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    entry = home.agents()["a"]
    url = f"http://127.0.0.1:{entry['port']}/status"
    assert httpx.get(url, headers={"X-Synapse-Agent": str(entry["agent_id"])}, timeout=60).status_code == 200
    assert httpx.get(url, headers={"X-Synapse-Agent": "0" * 64}, timeout=60).status_code == 421
    stale = LocalPeer(home.registry, {**entry, "agent_id": "0" * 64, "socket": ""})
    with pytest.raises(TargetError, match="another agent has its place"):
        asyncio.run(stale.get("x"))


def test_tasks_go_on_when_their_folder_was_removed(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    entry = home.agents()["a"]
    folder = home.path / "synapse" / "agents" / str(entry["agent_id"])
    url = f"http://127.0.0.1:{entry['port']}"
    first = httpx.post(f"{url}/message", json={"content": "honour 1000"}, timeout=60).json()["task_id"]
    shutil.rmtree(folder)
    second = httpx.post(f"{url}/message", json={"content": "say later"}, timeout=60)
    assert second.status_code == 200, second.text
    assert set(states(home, str(entry["agent_id"]))) == {first, second.json()["task_id"]}
    shutil.rmtree(folder)
    folder.write_text("no folder can be made here")
    refused = httpx.post(f"{url}/message", json={"content": "hello"}, timeout=60)
    assert refused.status_code == 503 and "make it, then send again" in refused.json()["detail"]
