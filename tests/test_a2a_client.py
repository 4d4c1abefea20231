"""Sending to agents on this machine: over their private sockets, once, and followed to the end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from synapse.a2a_client import A2AClient, A2AMessage, A2ATask, AsyncA2AClient, Origin, StillWorking
from synapse.base import processes
from synapse.errors import Refused, TargetError
from synapse.peers import local as local_agents
from synapse.registry import AgentRegistry, Entry
from synapse.server.http_server import HttpServer
from tests.support.dialect_server import Server
from tests.support.home import Home, wait
from tests.support.patience import PATIENCE

Events = list[tuple[str, Any]]


@asynccontextmanager
async def agent(tmp_path: Path, name: str = "codex") -> AsyncIterator[tuple[Server, Entry, AgentRegistry]]:
    """The dialect on a Unix socket, and in the registry."""
    server = Server(None, None, {})
    path = str(tmp_path / f"{name}.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    registry = AgentRegistry(tmp_path / "registry")
    entry = registry.register("b" * 64, "codex", 8199, name=name, socket=path)
    http = HttpServer(server.app, listener)
    await http.open()
    try:
        async with asyncio.timeout(30):
            yield server, entry, registry
    finally:
        registry.unregister("b" * 64)
        await http.close()
        await server.courier.close()
        server.engine.store.close()


def run(
    tmp_path: Path, test: Callable[[Server, Entry, AsyncA2AClient], Any], origin: Origin | None = None
) -> None:
    async def main() -> None:
        async with agent(tmp_path) as (server, entry, registry):
            await test(server, entry, AsyncA2AClient(origin, local=registry, timeout=PATIENCE))

    asyncio.run(main())


def recorder() -> tuple[Events, Callable[[str, Any], None]]:
    events: Events = []
    return events, lambda kind, data: events.append((kind, data))


def test_message_and_task_as_the_documents_have_them() -> None:
    assert A2AMessage.from_text("hi").to_dict() == {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
    task = A2ATask.from_dict({"id": "t", "status": "working", "artifacts": [{"type": "text", "data": "x"}]})
    assert (task.status, task.text) == ("working", "x")
    assert A2ATask.from_dict(task.to_dict()).to_dict() == task.to_dict()


def test_by_endpoint_and_by_entry(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        for target in (entry, "http://localhost:8199", "http://127.0.0.1:8199/"):
            task = await client.send_to_local(target, "say hello")
            assert task.id and task.status == "submitted"
            assert (await client.follow_local(target, task.id)).text == "hello"
        with pytest.raises(TargetError, match="no agent of this machine"):
            await client.send_to_local("http://agents.example:80", "hi")
        with pytest.raises(TargetError, match="does not answer"):
            await client.send_to_local("http://localhost:9", "hi")

    run(tmp_path, test)


def test_what_happens_is_told_in_order(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        events, on_event = recorder()
        await client.send_to_local(entry, "hold")
        sending = client.send_to_local(entry, "chunks 3", wait=True, on_event=on_event)
        waiting = asyncio.ensure_future(sending)
        while len(server.engine.store.live()) < 2 or not server.listeners(server.engine.store.live()[1].id):
            await asyncio.sleep(0.01)
        server.courier.release.set()
        task = await waiting
        assert (task.status, len(task.text)) == ("completed", 3 * 1024)
        kinds = [kind for kind, _ in events]
        assert kinds[0] == "queued" and kinds[-1] == "done" and kinds.count("delivered") == 1
        assert kinds.index("delivered") < kinds.index("working") < kinds.index("partial")
        text = ""
        for kind, data in events:
            if kind == "partial":
                text = text + data["text"] if data["append"] else data["text"]
        assert text == task.text

    run(tmp_path, test)


def test_five_megabytes(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        assert len((await client.send_to_local(entry, "chunks 5000", wait=True)).text) == 5000 * 1024

    run(tmp_path, test)


def test_a_question_ends_the_wait_or_is_waited_through(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        task = await client.send_to_local(entry, "ask sure?", wait=True)
        assert task.asks and task.prompt is not None and task.prompt["prompt"] == "sure?"

        def answer(kind: str, data: Any) -> None:
            if kind == "asks":
                answering.append(asyncio.ensure_future(client.answer_local(entry, task.id, "y")))

        answering: list[asyncio.Future[None]] = []
        done = await client.follow_local(entry, task.id, on_event=answer, through_questions=True)
        await asyncio.gather(*answering)
        assert (done.status, done.text) == ("completed", "you said y")

    run(tmp_path, test)


def test_time_that_is_up_cancels_nothing(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        with pytest.raises(StillWorking, match=r"0.2 s.*synapse task") as late:
            await client.send_to_local(entry, "hold", wait=True, timeout=0.2)
        task = late.value.task
        assert not task.ended
        server.courier.release.set()
        assert (await client.follow_local(entry, task.id)).text == "held"
        assert (await client.get_local_task(entry, task.id)).text == "held"

    run(tmp_path, test)


def test_that_a_message_was_taken_is_known_however_short_the_wait(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        submit = server.engine.submit

        def slowly(*given: Any, **more: Any) -> Any:
            time.sleep(0.3)
            return submit(*given, **more)

        server.engine.submit = slowly  # type: ignore[method-assign]
        with pytest.raises(StillWorking) as late:
            await client.send_to_local(entry, "hold", wait=True, timeout=0.1)
        server.courier.release.set()
        assert (await client.follow_local(entry, late.value.task.id)).text == "held"

    run(tmp_path, test)


def test_refusals_in_the_agents_own_words(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        with pytest.raises(Refused, match="codex refused: the message is empty") as empty:
            await client.send_to_local(entry, " ")
        assert empty.value.code == "BAD_MESSAGE"
        with pytest.raises(Refused, match="no-such"):
            await client.follow_local(entry, "no-such-task")
        failed = await client.send_to_local(entry, "fail on purpose", wait=True)
        assert failed.status == "failed" and failed.error is not None
        held = await client.send_to_local(entry, "hang")
        assert (await client.cancel_local_task(entry, held.id)).status == "canceled"

    run(tmp_path, test)


# --- who sends ---------------------------------------------------------------------------------------------


def test_every_message_carries_its_sender_and_its_hops(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        task = server.engine.store.get((await client.send_to_local(entry, "say x")).id)
        assert task.sender == {"id": "claude-id", "name": "claude"}
        assert task.metadata["synapse"] == {"hops": ["claude-id"]}

    run(tmp_path, test, Origin("claude-id", "claude", in_turn=False))


def test_an_agent_that_passes_a_message_on_adds_itself_to_the_chain(tmp_path: Path) -> None:
    async def test(server: Server, entry: Entry, client: AsyncA2AClient) -> None:
        first = AsyncA2AClient(Origin("a", "a", in_turn=False), local=client.local)
        await first.send_to_local(entry, "hold")  # codex is at work for a
        for _ in range(200):
            if server.courier.seen:
                break
            await asyncio.sleep(0.01)
        sent = await client.send_to_local(entry, "say x")  # to itself, which is all there is here
        assert server.engine.store.get(sent.id).metadata["synapse"] == {
            "hops": ["a", "b" * 64],
            "notice": True,
        }
        server.courier.release.set()

    run(tmp_path, test, Origin("b" * 64, "codex"))


def test_the_origin_is_found_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNAPSE_AGENT_ID", raising=False)
    assert Origin.from_environment() is None
    monkeypatch.setenv("SYNAPSE_AGENT_ID", "x")
    monkeypatch.setenv("SYNAPSE_AGENT_NAME", "claude")
    assert Origin.from_environment() == Origin("x", "claude")


# --- lost connections --------------------------------------------------------------------------------------


@asynccontextmanager
async def breaking(tmp_path: Path, script: list[Callable[[asyncio.StreamWriter], Any]]) -> AsyncIterator[Any]:
    """A socket whose connections go as the script says, and what was asked on each."""
    asked: list[tuple[str, dict[str, str], Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        asked.append((head[0], headers, json.loads(body) if body else None))
        script.pop(0)(writer)
        writer.close()

    path = str(tmp_path / "x.sock")
    registry = AgentRegistry(tmp_path / "registry")
    entry = registry.register("c" * 64, "codex", 8198, name="codex", socket=path)
    server = await asyncio.start_unix_server(serve, path)
    try:
        async with asyncio.timeout(PATIENCE):
            yield entry, registry, asked
    finally:
        registry.unregister("c" * 64)
        server.close()


def answer(document: object) -> Callable[[asyncio.StreamWriter], None]:
    body = json.dumps(document).encode()
    return lambda w: w.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def stream(*events: tuple[str, Any, str]) -> Callable[[asyncio.StreamWriter], None]:
    """Cut off after the last event, as when a host is replaced."""
    text = "".join(
        f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data, number in events
    )
    data = text.encode()
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return lambda w: w.write(head + b"%x\r\n%s\r\n" % (len(data), data))


def nothing(_: asyncio.StreamWriter) -> None:
    pass


def test_a_lost_answer_is_asked_for_again_as_the_same_request(tmp_path: Path) -> None:
    async def main() -> None:
        task = {"task": {"id": "t", "status": "submitted"}}
        async with breaking(tmp_path, [nothing, nothing, answer(task)]) as (entry, registry, asked):
            sent = await AsyncA2AClient(local=registry).send_to_local(entry, "hi")
            assert sent.id == "t" and len(asked) == 3
            assert len({body["request_id"] for _, _, body in asked}) == 1
            assert asked[0][0].startswith("POST /tasks/send-priority?priority=1 ")

    asyncio.run(main())


def test_a_broken_stream_is_taken_up_where_it_was(tmp_path: Path) -> None:
    async def main() -> None:
        artifact = {"artifactId": "reply", "artifact": {"parts": [{"type": "text", "text": "sun"}]}}
        script = [
            answer({"task": {"id": "t", "status": "submitted"}}),
            stream(
                ("status", {"state": "working"}, "3"), ("receipt", {"receipt": {"step": "confirmed"}}, "3")
            ),
            nothing,
            stream(("artifact", artifact, "4"), ("status", {"state": "completed"}, "5")),
        ]
        async with breaking(tmp_path, script) as (entry, registry, asked):
            events, on_event = recorder()
            task = await AsyncA2AClient(local=registry).send_to_local(
                entry, "hi", wait=True, on_event=on_event
            )
            assert (task.status, task.text) == ("completed", "sun")
            assert [headers.get("last-event-id") for _, headers, _ in asked] == [None, "0", "3", "3"]
            assert [kind for kind, _ in events] == ["queued", "delivered", "working", "partial", "done"]

    asyncio.run(main())


def test_an_answer_to_a_question_is_never_sent_twice(tmp_path: Path) -> None:
    async def main() -> None:
        async with breaking(tmp_path, [nothing]) as (entry, registry, asked):
            with pytest.raises(Exception, match="look whether it was done"):
                await AsyncA2AClient(local=registry).answer_local(entry, "t", "y")
            assert len(asked) == 1

    asyncio.run(main())


def test_silence_is_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        monkeypatch.setattr(local_agents, "SILENCE", 0.2)
        async with agent(tmp_path) as (server, entry, registry):
            client = AsyncA2AClient(local=registry)
            task = await client.send_to_local(entry, "hold")
            follow = asyncio.ensure_future(client.follow_local(entry, task.id))
            await asyncio.sleep(0.7)
            server.courier.release.set()
            assert (await follow).text == "held"

    asyncio.run(main())


# --- real agents -------------------------------------------------------------------------------------------


def test_a_real_agent_with_a_proxy_in_the_environment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    home.run("start", "dummy", "--name", "a")
    entry = home.agents()["a"]
    task = A2AClient().send_to_local(str(entry["endpoint"]), "what is up?", wait=True, timeout=30)
    assert task.status == "completed" and "what is up?" in task.text
    assert [receipt["step"] for receipt in task.receipts][-1] == "replied"


def test_a_host_that_is_replaced_in_the_middle(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    entry = home.agents()["a"]

    async def main() -> A2ATask:
        events, on_event = recorder()
        client = AsyncA2AClient()
        waiting = asyncio.ensure_future(
            client.send_to_local(entry, "silent 4 hello", wait=True, timeout=40, on_event=on_event)
        )
        while "working" not in [kind for kind, _ in events]:
            await asyncio.sleep(0.02)
            assert not waiting.done()
        (host,) = [pid for pid in home.processes() if "synapse.host" in _command(pid)]
        os.kill(host, signal.SIGKILL)
        task = await waiting
        assert [kind for kind, _ in events].count("delivered") == 1
        return task

    task = asyncio.run(main())
    assert task.status == "completed" and task.text == "hello"


def test_a_target_that_dies_while_we_wait(home: Home) -> None:
    home.run("start", "dummy", "--name", "a", "--", "--delay", "60")
    entry = home.agents()["a"]

    async def main() -> None:
        events, on_event = recorder()
        waiting = asyncio.ensure_future(
            AsyncA2AClient().send_to_local(entry, "hello", wait=True, timeout=40, on_event=on_event)
        )
        while "delivered" not in [kind for kind, _ in events]:
            await asyncio.sleep(0.02)
        os.kill(int(str(entry["pid"])), signal.SIGKILL)
        try:
            assert (await waiting).status == "failed"
        except TargetError as error:
            assert "a has ended" in str(error)

    asyncio.run(main())
    wait(lambda: not home.agents(), "the end of the agent")


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text() if processes.start_time(pid) else ""


def test_it_is_light_to_import() -> None:
    heavy = ("a2a", "httpx", "fastapi", "pydantic", "google", "ssl")
    probe = f"import sys, synapse.a2a_client; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() in ("[]", "['ssl']"), done.stdout + done.stderr  # asyncio brings ssl
