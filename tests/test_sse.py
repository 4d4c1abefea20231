"""Following a task over HTTP: server-sent events of the specification's dialect."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.server.dialect import stream as dialect_stream
from synapse.server.event_stream import EventStream
from synapse.tasks.task import text_message
from tests.support.dialect_courier import KILOBYTE
from tests.support.dialect_server import Event, Server, events, served, serving
from tests.support.patience import PATIENCE


async def stream(server: Server, text: str) -> list[Event]:
    async with server.client.stream("POST", "/tasks/sendSubscribe", json={"message": text}) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        return [event async for event in events(response)]


async def subscribe(server: Server, task_id: str, last: str | None = None) -> list[Event]:
    headers = {"Last-Event-ID": last} if last is not None else {}
    async with server.client.stream("GET", f"/tasks/{task_id}/subscribe", headers=headers) as response:
        assert response.status_code == 200
        return [event async for event in events(response)]


def text_of(heard: list[Event]) -> str:
    """The reply as a reader puts it together."""
    text = ""
    for event in heard:
        if event.type == "artifact" and event.data["artifactId"] == "reply":
            data = event.data["artifact"]["data"]
            text = text + data if event.data["append"] else data
    return text


class TestSSEStreaming:
    """The cases that the specification names."""

    def test_sends_working_status(self) -> None:
        async def test(server: Server) -> None:
            heard = await stream(server, "say hello")
            assert any(event.data.get("state") == "working" for event in heard)

        served(test)

    def test_streams_artifacts(self) -> None:
        async def test(server: Server) -> None:
            heard = await stream(server, "say 処理中...")
            (first, *_) = [event for event in heard if event.type == "artifact"]
            assert first.data["artifact"]["type"] == "text"
            assert first.data["artifact"]["parts"] == [{"type": "text", "text": "処理中..."}]
            assert text_of(heard) == "処理中..."

        served(test)

    def test_sends_completed_status(self) -> None:
        async def test(server: Server) -> None:
            heard = await stream(server, "test")
            assert heard[-1].type == "status" and heard[-1].data["state"] == "completed"
            assert heard[-1].data["taskId"] == heard[0].data["taskId"]

        served(test)


def test_the_first_event_is_the_state_and_numbers_follow_without_a_gap() -> None:
    async def test(server: Server) -> None:
        heard = await stream(server, "chunks 50")
        assert heard[0].type == "status" and heard[0].data["state"] == "submitted"
        numbers = [int(event.id) for event in heard]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert {event.type for event in heard} <= {"status", "artifact", "receipt"}

    served(test)


def test_a_failed_task_says_why() -> None:
    async def test(server: Server) -> None:
        heard = await stream(server, "fail out of tokens")
        assert heard[-1].data["state"] == "failed"
        assert heard[-1].data["error"] == {"code": "AGENT_ERROR", "message": "out of tokens"}

    served(test)


def test_a_stream_goes_on_after_a_question() -> None:
    async def test(server: Server) -> None:
        asked: list[Event] = []
        async with server.client.stream(
            "POST", "/tasks/sendSubscribe", json={"message": "ask go?"}
        ) as response:
            async for event in events(response):
                asked.append(event)
                if event.data.get("state") == "input_required":
                    assert event.data["prompt"]["prompt"] == "go?"
                    answered = await server.post(f"/tasks/{event.data['taskId']}/input", {"input": "y"})
                    assert answered.json()["status"] == "input_provided"
        assert [e.data["state"] for e in asked if e.type == "status"][-2:] == ["working", "completed"]
        assert text_of(asked) == "you said y"

    served(test)


def test_fifty_readers_hear_the_same() -> None:
    async def test(server: Server) -> None:
        limits = httpx.Limits(max_connections=60)
        async with httpx.AsyncClient(base_url=server.client.base_url, limits=limits, timeout=30) as many:
            task_id = await server.send("hold")
            await server.until(task_id, "working")
            server.client, single = many, server.client
            readers = [asyncio.create_task(subscribe(server, task_id)) for _ in range(50)]
            while server.listeners(task_id) < 50:
                await asyncio.sleep(0.01)
            server.client = single
            await server.post("/tasks/send", {"message": "chunks 200", "task_id": task_id})
            server.courier.release.set()
            first, *others = await asyncio.gather(*readers)
            assert text_of(first) == KILOBYTE * 200
            assert all(other == first for other in others)
            assert server.listeners(task_id) == 0

    served(test)


@pytest.mark.parametrize("last", ["1", "2", "3", "4", "5", "6", "99", "nonsense", ""])
def test_who_comes_back_is_given_what_was_missed(last: str, tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("hold")
        await server.until(task_id, "working")
        task = server.engine.store.get(task_id)
        for piece in ("a", "b", "c"):
            server.engine.progress(task, piece, append=True)
        assert task.sequence == 6  # submitted, queued, working, a, b, c
        reading = asyncio.create_task(subscribe(server, task_id, last))
        while not server.listeners(task_id):
            await asyncio.sleep(0.001)
        server.engine.progress(task, "d", append=True)
        server.courier.release.set()
        heard = await reading
        if last in ("1", "2", "3", "4", "5", "6"):
            assert heard[0].id == str(int(last) + 1)
        else:
            assert heard[0].type == "status" and heard[0].data["state"] == "working"
            assert (heard[0].id, heard[1].id) == ("", "6") and heard[1].data["append"] is False
        assert text_of(heard) == "held"
        numbers = [int(event.id) for event in heard if event.id]
        assert numbers == list(range(numbers[0], task.sequence + 1))

    served(test, path=tmp_path / "db")


def test_a_task_that_is_over_is_told_whole_with_the_end_last(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("chunks 3")
        await server.until(task_id, "completed")
        for last in (None, "2"):
            heard = await subscribe(server, task_id, last)
            assert [event.type for event in heard] == ["artifact", "status"]
            assert text_of(heard) == KILOBYTE * 3 and heard[-1].data["state"] == "completed"
        known = await server.get(f"/tasks/{task_id}/subscribe", headers={"Last-Event-ID": heard[-1].id})
        assert known.status_code == 204
        assert (await server.get("/tasks/nobody/subscribe")).status_code == 404
        for number in (2**63, 10**30):
            wrong = {"Last-Event-ID": str(number)}
            refused = await server.get(f"/tasks/{task_id}/subscribe", headers=wrong)
            assert refused.status_code == 400 and "Last-Event-ID" in refused.json()["detail"]

    served(test, path=tmp_path / "db")


def test_silence_is_broken_by_one_kind_of_comment() -> None:
    async def main() -> None:
        async with serving() as server:
            task = server.engine.submit(text_message("hold"))
            stream = EventStream(dialect_stream.events_of(server.engine, task.id), ping=0.01)
            sent: list[bytes] = []

            async def send(message: MutableMapping[str, Any]) -> None:
                sent.append(message.get("body", b""))

            async def receive() -> dict[str, str]:
                while sent.count(b": keepalive\n\n") < 3:
                    await asyncio.sleep(0.01)
                return {"type": "http.disconnect"}

            await stream({"type": "http"}, receive, send)
            assert {piece for piece in sent if piece.startswith(b":")} == {b": keepalive\n\n"}
            assert server.listeners(task.id) == 0

    asyncio.run(main())


# --- readers that leave, or do not read -------------------------------------------------------------------


def test_a_reader_that_vanishes_leaves_nothing_behind() -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("hold")
        for how in ("reset", "closed", "half"):
            before = len(asyncio.all_tasks())
            sock = await reader_of(server, task_id)
            while server.listeners(task_id) != 1:
                await asyncio.sleep(0.001)
            if how == "reset":
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            if how == "half":
                sock.shutdown(socket.SHUT_WR)
            else:
                sock.close()
            while server.listeners(task_id) != 0:
                await asyncio.sleep(0.001)
            sock.close()
            while len(asyncio.all_tasks()) > before:
                await asyncio.sleep(0.001)
        server.courier.release.set()
        assert (await server.until(task_id, "completed"))["state"] == "completed"

    served(test)


def test_a_stream_that_was_never_begun_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with serving() as server:
            task = server.engine.submit(text_message("hold"))
            stream = EventStream(dialect_stream.events_of(server.engine, task.id))
            del stream
            gc.collect()
            assert server.listeners(task.id) == 0

    asyncio.run(main())


def test_a_reader_that_does_not_read_slows_nobody() -> None:
    """It is told the whole anew when it reads again."""

    async def test(server: Server) -> None:
        task_id = await server.send("hold")
        stuck = await reader_of(server, task_id)
        while server.listeners(task_id) != 1:
            await asyncio.sleep(0.001)
        quick = asyncio.create_task(subscribe(server, task_id))
        while server.listeners(task_id) != 2:
            await asyncio.sleep(0.001)
        task = server.engine.store.get(task_id)
        for _ in range(60):
            for _ in range(50):
                server.engine.progress(task, KILOBYTE, append=True)
            await asyncio.sleep(0)
        emitter = server.engine.emitters.get(task_id)
        assert emitter is not None and len(emitter._events) <= 201
        await server.post("/tasks/send", {"message": "say done", "task_id": task_id})
        server.courier.release.set()
        assert text_of(await quick) == "done"
        received = b""
        stuck.settimeout(PATIENCE)
        while not received.endswith(b"0\r\n\r\n"):
            received = received[-100_000:] + await asyncio.to_thread(stuck.recv, 1 << 20)
        assert b'"state": "completed"' in received
        stuck.close()

    served(test, events=100)


async def reader_of(server: Server, task_id: str) -> socket.socket:
    """A client that has asked for the stream and reads nothing."""
    url = server.client.base_url
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (url.host, url.port))
    request = f"GET /tasks/{task_id}/subscribe HTTP/1.1\r\nHost: localhost\r\n\r\n"
    await asyncio.get_running_loop().sock_sendall(sock, request.encode())
    return sock
