"""Push notifications: a real receiver on loopback that answers as it is told."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from synapse.base.urls import UrlRefused
from synapse.server.push import PushSender
from synapse.server.standard.convert import notification
from synapse.tasks.outbox import KEPT
from synapse.tasks.store import TaskStore
from synapse.tasks.task import Json
from tests.support.a2a_server import Served, anywhere, code, message, send, served, until


@dataclass
class Receiver:
    url: str = ""
    answers: list[int | None] = field(default_factory=list)  # None: no answer at all; then 200 for ever
    delay: float = 0.0
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                pairs = (line.split(": ", 1) for line in head.decode().split("\r\n")[1:-2])
                headers = {name.lower(): value for name, value in pairs}
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                await asyncio.sleep(self.delay)
                self.headers.append(headers)
                self.bodies.append(body)
                answer = self.answers.pop(0) if self.answers else 200
                if answer is None:
                    break
                where = f"Location: {self.url}/elsewhere\r\n" if 300 <= answer < 400 else ""
                writer.write(f"HTTP/1.1 {answer} x\r\n{where}Content-Length: 0\r\n\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def receiving(**options: Any) -> AsyncIterator[Receiver]:
    receiver = Receiver(**options)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.close()


def states(receiver: Receiver) -> list[str]:
    updates = [body["statusUpdate"] for body in receiver.bodies if "statusUpdate" in body]
    return [update["status"]["state"].removeprefix("TASK_STATE_").lower() for update in updates]


def run(test: Any, **options: Any) -> None:
    async def inside() -> None:
        async with receiving(**options) as receiver, served() as server:
            await asyncio.wait_for(test(server, receiver), 30)

    asyncio.run(inside())


def test_what_becomes_of_a_task_is_pushed_in_order() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        config = {
            "url": receiver.url,
            "token": "t0k",
            "authentication": {"scheme": "Bearer", "credentials": "c"},
        }
        await send(server, "stream a|b", {"taskPushNotificationConfig": config})
        await until(lambda: "completed" in states(receiver))
        assert states(receiver) == ["working", "completed"]
        (artifact,) = [body["artifactUpdate"] for body in receiver.bodies if "artifactUpdate" in body]
        assert artifact["artifact"]["parts"] == [{"text": "ab"}]  # not its pieces
        headers = receiver.headers[0]
        assert headers["content-type"] == "application/a2a+json"
        assert headers["x-a2a-notification-token"] == "t0k" and headers["authorization"] == "Bearer c"

    run(test)


def test_the_old_version_is_pushed_the_task_itself() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        part = {"kind": "text", "text": "say hi"}
        params = {
            "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [part]},
            "configuration": {"pushNotificationConfig": {"url": receiver.url}},
        }
        await server.rpc("message/send", params, version="")
        await until(lambda: receiver.bodies and receiver.bodies[-1]["status"]["state"] == "completed")
        assert receiver.bodies[-1]["kind"] == "task"
        assert receiver.bodies[-1]["artifacts"][0]["parts"][0]["text"] == "hi"

    run(test)


def test_what_does_not_arrive_is_sent_again_and_nothing_overtakes_it() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        await send(server, "say hi", {"taskPushNotificationConfig": {"url": receiver.url}})
        await until(lambda: "completed" in states(receiver))
        assert states(receiver) == ["working"] * 4 + ["completed"]

    run(test, answers=[500, None, 429])


@pytest.mark.parametrize("answer", [400, 404, 410, 302])
def test_a_refusal_is_not_argued_with_and_a_redirect_not_followed(answer: int) -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        await send(server, "say hi", {"taskPushNotificationConfig": {"url": receiver.url}})
        await until(lambda: "completed" in states(receiver))
        assert states(receiver) == ["working", "completed"]

    run(test, answers=[answer])


def test_it_is_given_up_after_a_day(caplog: pytest.LogCaptureFixture) -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        store = server.engine.store
        await send(server, "park ?", {"taskPushNotificationConfig": {"url": receiver.url + "?secret=1"}})
        await until(lambda: len(receiver.bodies) >= 4)
        store._outbox._clock = lambda: time.time() + KEPT + 60
        await until(lambda: not server.push._lines)
        assert store._db.read("SELECT count(*) FROM outbox") == [(0,)]

    run(test, answers=[500] * 1000)
    assert "it answered 500" in caplog.text and "secret" not in caplog.text


def test_a_slow_receiver_does_not_hold_the_task_up() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        task = await send(server, "say hi", {"taskPushNotificationConfig": {"url": receiver.url}})
        assert task["status"]["state"] == "TASK_STATE_COMPLETED" and receiver.bodies == []

    run(test, delay=3600)


def test_configurations_are_made_listed_got_and_removed() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        task = await send(server, "park ?")
        make = {"taskId": task["id"], "url": receiver.url}
        first = (await server.rpc("CreateTaskPushNotificationConfig", {**make, "id": "a", "token": "x"}))[
            "result"
        ]
        assert first == {**make, "id": "a", "token": "x"}
        made = (await server.rpc("CreateTaskPushNotificationConfig", make))["result"]["id"]
        again = (await server.rpc("CreateTaskPushNotificationConfig", make))["result"]["id"]
        other = {**make, "url": f"{receiver.url}/other"}
        second = (await server.rpc("CreateTaskPushNotificationConfig", other))["result"]["id"]
        assert made == again == "default" != second  # without an id none replaces another
        listed = await server.http.get(
            f"/a2a/tasks/{task['id']}/pushNotificationConfigs", headers={"A2A-Version": "1.0"}
        )
        assert [config["id"] for config in listed.json()["configs"]] == sorted(["a", made, second])
        wanted = {"taskId": task["id"], "id": "a"}
        assert (await server.rpc("GetTaskPushNotificationConfig", wanted))["result"] == first
        for _ in range(2):
            assert "error" not in await server.rpc("DeleteTaskPushNotificationConfig", wanted)
        assert code(await server.rpc("GetTaskPushNotificationConfig", wanted)) == -32001
        assert code(await server.rpc("CreateTaskPushNotificationConfig", {**make, "taskId": "x"})) == -32001
        assert code(await server.rpc("CreateTaskPushNotificationConfig", {**make, "token": "a\nb"})) == -32602

    run(test)


def test_an_address_is_checked_when_it_is_set_and_when_it_is_used() -> None:
    async def test(server: Served, receiver: Receiver) -> None:
        task = await send(server, "park ?", {"taskPushNotificationConfig": {"url": receiver.url}})
        await until(lambda: "input_required" in states(receiver))

        async def nowhere(url: str) -> None:
            raise UrlRefused(f"{url} is a private address: it is not told anything.")

        server.push.check = nowhere
        config = {"taskId": task["id"], "url": "http://10.0.0.1/"}
        answer = await server.rpc("CreateTaskPushNotificationConfig", config)
        assert code(answer) == -32602 and "private address" in answer["error"]["message"]
        asked = {
            **message("say hi"),
            "configuration": {"taskPushNotificationConfig": {"url": "http://10.0.0.1"}},
        }
        assert code(await server.rpc("SendMessage", asked)) == -32602
        assert server.engine.store.count() == 1
        told = len(receiver.bodies)
        await send(server, "say done", taskId=task["id"])
        await until(lambda: not server.push._lines)
        assert len(receiver.bodies) == told

    run(test)


def test_configurations_outlive_the_host(tmp_path: Path) -> None:
    async def before(url: str) -> str:
        async with served(path=str(tmp_path / "tasks.db")) as server:
            task = await send(server, "park ?", {"taskPushNotificationConfig": {"url": url}})
            return str(task["id"])

    async def inside() -> None:
        async with receiving() as receiver:
            task_id = await before(receiver.url)
            told = len(receiver.bodies)
            store = TaskStore(str(tmp_path / "tasks.db"), run="another")
            push = PushSender(store, anywhere, notification)
            store.take_over()
            await until(lambda: "failed" in states(receiver)[told:])
            assert receiver.bodies[-1]["statusUpdate"]["taskId"] == task_id
            await push.close()
            store.close()

    asyncio.run(inside())
