"""Events are taken from the agent's own processes, and from no others."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from synapse.agents import receiver
from synapse.agents.flags import HOOK_PROGRAM
from synapse.agents.receiver import EventListener
from synapse.agents.senders import Sender, SenderNotes, sender_of
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is read")

STOP = {"hook_event_name": "Stop", "last_assistant_message": "日本" * 50_000}
HOOK = [sys.executable, "-I", "-S", HOOK_PROGRAM, "claude"]
# Runs a command and gives its status on: an ancestor of the command, as a CLI is of its hooks.
RUN = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
# Sends and is gone before anybody looks.
SEND_AND_GO = """if True:
    import os, socket, sys
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(os.environ["SYNAPSE_EVENTS"])
    try:
        sock.sendall(sys.argv[1].encode() + b"\\n" + sys.stdin.buffer.read())
    except OSError:
        pass  # it was refused
"""


class Agent:
    """The socket of an agent, and what a host has taken from it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.events: list[Mapping[str, Any]] = []
        self.senders: list[Sender] = []
        self.known: set[str] = set()  # the ids of its conversations
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()

    def take_from(
        self, session: int, *commands: list[str], until: Callable[[], object], body: str = json.dumps(STOP)
    ) -> list[int]:
        """Run the commands one after the other while a host listens. Returns their exit statuses."""

        async def main() -> list[int]:
            host = EventListener(
                self.listener,
                session,
                self.events.append,
                came=self.senders.append,
                knows=lambda event: event.get("session_id") in self.known,
            )
            await host.open()
            statuses = []
            try:
                async with asyncio.timeout(PATIENCE):
                    for command in commands:
                        statuses.append(await asyncio.to_thread(self.run, command, body))
                    while not until():
                        await asyncio.sleep(0.005)
            finally:
                await host.close()
            return statuses

        return uvloop.run(main())

    def run(self, command: list[str], body: str) -> int:
        env = {**os.environ, "SYNAPSE_EVENTS": self.path}
        done = subprocess.run(command, input=body.encode(), env=env, capture_output=True, timeout=PATIENCE)
        assert (done.stdout, done.stderr) == (b"", b"")
        return done.returncode


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    made = Agent(str(tmp_path / "s"))
    yield made
    made.listener.close()


@pytest.fixture
def another_session() -> Iterator[int]:
    """The leader of a session that the test is not in."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process.pid
    process.kill()
    process.wait()


def test_a_hook_in_the_agents_session_is_taken(agent: Agent) -> None:
    assert agent.take_from(os.getsid(0), HOOK, until=lambda: agent.events) == [0]
    assert agent.events == [{**STOP, "synapse_channel": "claude"}]
    assert agent.senders == [Sender(False, "")]


def test_a_hook_in_a_session_of_its_own_is_taken_if_the_agent_is_above_it(agent: Agent) -> None:
    """The test is the leader's place: the hook is below it, and in another session."""
    in_a_session = ["setsid", "--wait", sys.executable, "-c", RUN, "setsid", "--wait", *HOOK]
    assert agent.take_from(os.getpid(), in_a_session, until=lambda: agent.events) == [0]
    assert agent.senders == [Sender(False, "")]


def test_the_event_of_another_session_is_refused(
    agent: Agent, another_session: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert agent.take_from(another_session, HOOK, HOOK, until=lambda: len(agent.senders) == 2) == [0, 0]
    assert agent.events == []
    assert all(sender.is_refused for sender in agent.senders)
    assert "does not belong to the agent's session" in agent.senders[0].note
    assert [record.getMessage()[:24] for record in caplog.records] == ["an event was refused: pr"] * 2


def test_an_event_of_another_session_about_a_known_conversation_is_taken(
    agent: Agent, another_session: int
) -> None:
    agent.known.add("mine")
    event = {**STOP, "session_id": "mine"}
    agent.take_from(another_session, HOOK, until=lambda: agent.events, body=json.dumps(event))
    assert agent.events == [{**event, "synapse_channel": "claude"}] and agent.senders == []


def test_the_hook_of_a_shared_server_sends_to_its_own_agent(agent: Agent, tmp_path: Path) -> None:
    path, agent.path = agent.path, str(tmp_path / "another")  # what SYNAPSE_EVENTS says
    hook = [*HOOK, f"--socket={path}"]
    assert agent.take_from(os.getsid(0), hook, until=lambda: agent.events) == [0]


def test_the_events_of_another_session_are_refused(agent: Agent, another_session: int) -> None:
    state = '{"event": "state", "state": "ready"}\n'
    command = [
        sys.executable,
        "-c",
        f"{SEND_AND_GO}    import select; select.select([sock], [], [])",
        "events",
    ]
    agent.take_from(another_session, command, until=lambda: agent.senders, body=state)
    assert agent.events == [] and agent.senders[0].is_refused


def test_a_sender_that_is_gone_is_taken_and_noted(agent: Agent, another_session: int) -> None:
    """It sends while no host listens: the event waits in the backlog, and outlives its sender."""
    assert agent.run([sys.executable, "-c", SEND_AND_GO, "claude"], '{"hook_event_name": "Stop"}') == 0
    agent.take_from(another_session, until=lambda: agent.events)
    assert agent.events == [{"hook_event_name": "Stop", "synapse_channel": "claude"}]
    assert not agent.senders[0].is_refused and "is gone" in agent.senders[0].note


def test_the_hook_program_does_not_wait_for_a_host_that_hangs(agent: Agent) -> None:
    """Nobody accepts; the event is there when a host does."""
    assert agent.run(HOOK, '{"hook_event_name": "Stop"}') == 0
    agent.take_from(os.getsid(0), until=lambda: agent.events)
    assert agent.events == [{"hook_event_name": "Stop", "synapse_channel": "claude"}]


def test_an_event_counts_if_its_sender_goes_without_reading_the_byte(agent: Agent) -> None:
    """The connection is reset then."""
    wait = f"{SEND_AND_GO}    import select; select.select([sock], [], [])"
    command = [sys.executable, "-c", wait, "claude"]
    agent.take_from(os.getsid(0), command, until=lambda: agent.events)
    assert agent.events == [{**STOP, "synapse_channel": "claude"}]


def test_many_events_on_one_connection(agent: Agent, caplog: pytest.LogCaptureFixture) -> None:
    lines = [json.dumps({"event": "said", "text": "x" * size, "key": "1"}) for size in (1, 300_000, 2)]
    body = "\n".join([*lines, "[]", "nonsense", lines[0]]) + "\n"
    command = [sys.executable, "-c", SEND_AND_GO, "events"]
    agent.take_from(os.getsid(0), command, until=lambda: caplog.records, body=body)
    assert [len(event["text"]) for event in agent.events] == [1, 300_000, 2]


@pytest.mark.parametrize("body", ["", "nonsense", "[" * 100_000, "3", '{"a": "\\ud'])
def test_what_is_no_event_is_left_out(agent: Agent, body: str) -> None:
    assert agent.run([sys.executable, "-c", SEND_AND_GO, "claude"], body) == 0
    assert agent.run([sys.executable, "-c", SEND_AND_GO, "claude"], '{"last": 1}') == 0
    agent.take_from(os.getsid(0), until=lambda: agent.events)
    assert [event["last"] for event in agent.events] == [1]


def test_an_event_that_never_ends_is_left_out(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(receiver, "PATIENCE", 0.01)
    hangs = f"{SEND_AND_GO}    sock.recv(1); sock.recv(1)"
    agent.take_from(os.getsid(0), [sys.executable, "-c", hangs, "claude"], until=lambda: caplog.records)
    assert agent.events == []
    assert caplog.messages == ["an invalid event was left out: it did not come in time"]


def test_a_process_that_the_system_does_not_name_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one outside of the host's namespace (pid 0), and as on systems without SO_PEERCRED."""
    here, there = socket.socketpair()
    with here, there:
        monkeypatch.setattr("synapse.agents.senders._peer", lambda _: 0)
        sender = sender_of(here, 1)
    assert not sender.is_refused and "does not tell" in sender.note


def test_a_live_process_of_a_session_led_from_outside_the_namespace_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a container the session of `docker exec` reads 0; the agent's own never does."""
    here, there = socket.socketpair()
    with here, there:
        monkeypatch.setattr("synapse.base.processes.session_of", lambda _: 0)
        monkeypatch.setattr("synapse.base.processes.ancestors", lambda _: [1, 0])
        sender = sender_of(here, 4711)
    assert sender.is_refused and "does not belong to the agent's session" in sender.note


def test_what_why_says() -> None:
    now = 100.0
    notes = SenderNotes(lambda: now)
    notes.add(Sender())
    assert notes.sentences() == []
    notes.add(Sender(False, "process 7 is gone"))
    notes.add(Sender(True, "process 8 (nc) does not belong to the agent's session"))
    notes.add(Sender(True, "process 9 (nc) does not belong to the agent's session"))
    now = 103.0
    refused, accepted = notes.sentences()
    assert refused == (
        "events were refused (connections: 2, the last 3 s ago): "
        "process 9 (nc) does not belong to the agent's session"
    )
    assert accepted.startswith("events were accepted, though nothing proves that they are the agent's (conn")
