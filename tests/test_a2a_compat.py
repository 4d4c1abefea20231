"""The standard's operations over a real engine and server, both bindings, both versions; and `a2a_compat`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.a2a_compat import InputRequest, Message, TaskSendRequest, TaskState, TaskStore, TextPart
from synapse.event_emitter import SSEEvent, emitter_registry
from synapse.input_detector import InputPrompt
from synapse.output_parser import OutputParser
from synapse.tasks.engine import Limits
from synapse.tasks.task import BadMessage, Json
from tests.support.a2a_server import Served, code, message, send, served, until

V1 = {"A2A-Version": "1.0"}


def run(test: Callable[[Served], Awaitable[None]], **options: Any) -> None:
    async def inside() -> None:
        async with served(**options) as server:
            await asyncio.wait_for(test(server), 30)

    asyncio.run(inside())


async def events(server: Served, method: str, path: str, **more: Any) -> list[Json]:
    """Those of a stream of the HTTP+JSON binding, to its end."""
    async with server.http.stream(method, f"/a2a{path}", headers=V1, **more) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line[6:]) async for line in response.aiter_lines() if line.startswith("data: ")]


def state(task: Json) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_").lower()


# --- messages ---------------------------------------------------------------------------------------------


def test_a_message_waits_for_the_reply() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "wait 0.05\nsay hello")
        assert state(task) == "completed"
        assert task["artifacts"][0]["parts"] == [{"text": "hello"}]
        assert [m["role"] for m in task["history"]] == ["ROLE_USER", "ROLE_AGENT"]

    run(test)


def test_a_message_that_returns_immediately() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "hold", {"returnImmediately": True})
        assert state(task) == "submitted"
        await until(lambda: server.courier.given == ["hold"])
        found = await server.rpc("GetTask", {"id": task["id"]})
        assert state(found["result"]) == "working"

    run(test)


def test_a_failed_task_says_why() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "fail the disk is full")
        assert state(task) == "failed"
        assert task["status"]["message"]["parts"][0]["text"] == "the disk is full"
        assert state(await send(server, "reject no such thing")) == "rejected"

    run(test)


def test_a_question_is_answered_by_a_message_to_its_task() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "ask Run ls?")
        assert state(task) == "input_required"
        text, data = task["status"]["message"]["parts"]
        assert text["text"] == "Run ls?"
        assert data["data"]["options"] == ["y", "n"] and data["data"]["type"] == "confirmation"
        metadata = {"x-synapse-task": {"sender": {"id": "me", "name": "me"}}}
        answered = await send(server, "y", taskId=task["id"], metadata=metadata)
        assert state(answered) == "completed"
        assert answered["contextId"] == task["contextId"]
        assert answered["artifacts"][0]["parts"][0]["text"] == "y"
        assert server.courier.answered_by == [{"id": "me", "name": "me"}]

    run(test)


def test_who_may_not_answer_is_told_so() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "ask Run ls?")
        metadata = {"x-synapse-task": {"sender": {"id": "stranger"}}}
        answer = await server.rpc("SendMessage", message("y", taskId=task["id"], metadata=metadata))
        assert code(answer) == -32004 and "stranger" in answer["error"]["message"]
        assert server.engine.store.get(task["id"]).state == "input_required"

    run(test)


def test_a_parked_question_holds_nothing_and_is_taken_up_again() -> None:
    async def test(server: Served) -> None:
        parked = await send(server, "park what next?")
        assert state(await send(server, "say other")) == "completed"
        assert state(await send(server, "say thanks", taskId=parked["id"])) == "completed"

    run(test)


def test_priority_and_sender_come_with_the_extension() -> None:
    async def test(server: Served) -> None:
        await send(server, "wait 0.1", {"returnImmediately": True})
        wishes = {"x-synapse-task": {"priority": 4, "sender": {"id": "42", "name": "claude"}}}
        low = asyncio.create_task(send(server, "say low"))
        await until(lambda: len(server.engine.waiting) == 1)
        high = await send(server, "say high", metadata=wishes)
        await low
        assert server.courier.given[1:] == ["say high", "say low"]
        assert high["metadata"]["x-synapse-task"]["sender"] == {"id": "42", "name": "claude"}

    run(test)


@pytest.mark.parametrize(
    ("params", "expected", "words"),
    [
        (message("hi", taskId="nothing"), -32001, "nothing"),
        (message(" \n"), -32602, "empty"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}}, -32602, "Validation"),
        ({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"video": "x"}]}}, -32602, "kinds"),
        ({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}, -32602, "Validation"),
        (message("", parts=[{"text": "x", "mediaType": "audio/wav"}]), -32005, "audio/wav"),
        (message("", parts=[{"raw": "aGk=", "mediaType": "x"}]), -32005, "files of any type"),
        ({}, -32602, "Validation"),
        ("text", -32600, "params must be an object"),
        (message("hi", metadata={"x-synapse-task": {"priority": 9}}), -32602, "1 to 5"),
        (message("x" * 2000), -32602, "more than the 1000"),
    ],
)  # fmt: skip
def test_messages_that_are_refused(params: Any, expected: int, words: str) -> None:
    async def test(server: Served) -> None:
        for method in ("SendMessage", "SendStreamingMessage"):
            answer = await server.rpc(method, params)
            assert code(answer) == expected and words in answer["error"]["message"]
        assert server.engine.store.count() == 0

    run(test, limits=Limits(message=1000))


def test_a_message_to_an_ended_task_is_refused() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "say hi")
        for method in ("SendMessage", "SendStreamingMessage"):
            assert code(await server.rpc(method, message("more", taskId=task["id"]))) == -32004

    run(test)


def test_a_context_is_taken_from_the_task_and_another_is_refused() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "park ?", contextId="mine")
        assert task["contextId"] == "mine"
        assert (
            code(await server.rpc("SendMessage", message("x", taskId=task["id"], contextId="other")))
            == -32602
        )
        assert (await send(server, "say x", taskId=task["id"]))["contextId"] == "mine"

    run(test)


def test_a_full_queue_is_said() -> None:
    async def test(server: Served) -> None:
        await send(server, "hold", {"returnImmediately": True})
        await until(lambda: server.engine.running)
        await send(server, "say 1", {"returnImmediately": True})
        answer = await server.rpc("SendMessage", message("say 2"))
        assert code(answer) == -32603 and "1 tasks wait already" in answer["error"]["message"]
        assert answer["error"]["data"][0]["metadata"] == {"code": "QUEUE_FULL"}

    run(test, limits=Limits(queue=1))


def test_a_client_that_leaves_ends_its_wait_and_nothing_else() -> None:
    async def test(server: Served) -> None:
        slow = message("wait 0.5\nsay done")
        with pytest.raises(httpx.ReadTimeout):
            await server.http.post("/a2a/message:send", json=slow, headers=V1, timeout=0.1)
        running = server.engine.running
        assert running is not None
        await until(lambda: server.engine.emitters.get_or_create(running.id).listeners == 0)
        await until(lambda: running.state == "completed")
        assert running.reply == "done"

    run(test)


def test_a_reader_that_leaves_a_stream_is_forgotten() -> None:
    async def test(server: Served) -> None:
        async with server.http.stream(
            "POST", "/a2a/message:stream", json=message("hold"), headers=V1
        ) as response:
            async for line in response.aiter_lines():
                assert "SUBMITTED" in line
                break
            task = server.engine.running
            assert task is not None
        await until(lambda: server.engine.emitters.get_or_create(task.id).listeners == 0)
        assert task.state == "working"

    run(test)


# --- streams ----------------------------------------------------------------------------------------------


def test_a_stream_begins_with_the_task_and_ends_with_its_end() -> None:
    async def test(server: Served) -> None:
        found = await events(server, "POST", "/message:stream", json=message("stream a|b|c"))
        assert [next(iter(event)) for event in found] == [
            "task", "statusUpdate", *["artifactUpdate"] * 4, "statusUpdate"
        ]  # fmt: skip
        updates = [event["artifactUpdate"] for event in found if "artifactUpdate" in event]
        assert [(u["artifact"]["parts"][0]["text"], u.get("append", False)) for u in updates] == [
            ("a", False), ("b", True), ("c", True), ("abc", False)
        ]  # fmt: skip
        assert [u.get("lastChunk", False) for u in updates] == [False, False, False, True]
        assert {u["artifact"]["artifactId"] for u in updates} == {"reply"}
        assert found[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"

    run(test)


def test_a_stream_ends_where_a_question_is_asked_and_goes_on_with_the_answer() -> None:
    async def test(server: Served) -> None:
        found = await events(server, "POST", "/message:stream", json=message("ask sure?"))
        assert found[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        task_id = found[0]["task"]["id"]
        found = await events(server, "POST", "/message:stream", json=message("y", taskId=task_id))
        assert found[0]["task"]["id"] == task_id
        states = [state(found[0]["task"]), *(state(e["statusUpdate"]) for e in found if "statusUpdate" in e)]
        assert states[-1] == "completed" and "input_required" not in states

    run(test)


def test_all_subscribers_see_the_same_from_a_snapshot_on() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "ask sure?")
        path = f"/tasks/{task['id']}:subscribe"
        readers = [asyncio.create_task(events(server, method, path)) for method in ("GET", "POST", "GET")]
        emitter = server.engine.emitters.get_or_create(task["id"])
        await until(lambda: emitter.listeners == 3)
        await send(server, "y", taskId=task["id"])
        first, *others = [await reader for reader in readers]
        assert first[0]["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        assert first[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        assert others == [first, first]

    run(test)


def test_nobody_subscribes_to_what_has_ended_or_never_was() -> None:
    async def test(server: Served) -> None:
        task = await send(server, "say hi")
        assert code(await server.rpc("SubscribeToTask", {"id": task["id"]})) == -32004
        assert code(await server.rpc("SubscribeToTask", {"id": "nothing"})) == -32001
        response = await server.http.get("/a2a/tasks/nothing:subscribe", headers=V1)
        assert response.status_code == 404

    run(test)


def test_a_reader_that_falls_behind_begins_anew_from_a_snapshot() -> None:
    async def test(server: Served) -> None:
        task = server.engine.submit({"role": "user", "parts": [{"type": "text", "text": "hold"}]})
        from synapse.server.standard.handler import _Follower

        emitter = server.engine.emitters.get_or_create(task.id)
        emitter._keep = 5
        follower = _Follower(server.engine, task)
        updates = follower.updates()
        await until(lambda: task.state == "working")
        for number in range(50):
            server.engine.progress(task, f"{number} ", append=True)
        first = await anext(updates)
        assert first.id == task.id  # type: ignore[union-attr]
        assert first.artifacts[0].parts[0].text.startswith("0 1 2 ")  # type: ignore[union-attr]
        server.engine.finish(task, "all", "exact")
        assert len([event async for event in updates]) == 2

    run(test)


# --- tasks ------------------------------------------------------------------------------------------------


def test_pages_follow_each_other_newest_first() -> None:
    async def test(server: Served) -> None:
        made = [(await send(server, f"say {n}", contextId="c"))["id"] for n in range(5)]
        await send(server, "say other")
        token, found, pages = "", [], 0
        while True:
            params = {"contextId": "c", "pageSize": 2, "pageToken": token}
            page = (await server.rpc("ListTasks", params))["result"]
            assert page["totalSize"] == 5 and page["pageSize"] == 2
            assert all("artifacts" not in task for task in page["tasks"])
            found += [task["id"] for task in page["tasks"]]
            pages += 1
            token = page["nextPageToken"]
            if not token:
                break
        assert found == made[::-1] and pages == 3

    run(test)


def test_what_may_be_asked_of_a_list() -> None:
    async def test(server: Served) -> None:
        await send(server, "say hi")
        await send(server, "park ?")
        listed = await server.http.get(
            "/a2a/tasks?status=TASK_STATE_COMPLETED&includeArtifacts=true", headers=V1
        )
        (task,) = listed.json()["tasks"]
        assert task["artifacts"][0]["parts"][0]["text"] == "hi"
        later = (await server.rpc("ListTasks", {"statusTimestampAfter": "2999-01-01T00:00:00Z"}))["result"]
        assert later["tasks"] == [] and later["nextPageToken"] == ""
        assert (await server.rpc("ListTasks", {"status": "TASK_STATE_AUTH_REQUIRED"}))["result"][
            "totalSize"
        ] == 0
        short = (await server.rpc("ListTasks", {"historyLength": 0}))["result"]
        assert all(not task.get("history") for task in short["tasks"])

    run(test)


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0}, {"pageSize": 101}, {"pageSize": -1}, {"pageToken": "x"}, {"pageToken": "bnVsbA"},
        {"historyLength": -1}, {"status": "TASK_STATE_RUNNING"},
    ],
)  # fmt: skip
def test_lists_that_make_no_sense_are_refused(params: Json) -> None:
    async def test(server: Served) -> None:
        assert code(await server.rpc("ListTasks", params)) == -32602
        assert (await server.http.get("/a2a/tasks", params=params, headers=V1)).status_code == 400

    run(test)


def test_cancel() -> None:
    async def test(server: Served) -> None:
        running = await send(server, "hold", {"returnImmediately": True})
        await until(lambda: server.engine.running)
        waiting = await send(server, "say hi", {"returnImmediately": True})
        assert state((await server.rpc("CancelTask", {"id": waiting["id"]}))["result"]) == "canceled"
        canceled = await server.http.post(f"/a2a/tasks/{running['id']}:cancel", headers=V1)
        assert state(canceled.json()) == "canceled"
        assert code(await server.rpc("CancelTask", {"id": running["id"]})) == -32002
        assert code(await server.rpc("CancelTask", {"id": "nothing"})) == -32001
        assert server.courier.given == ["hold"]

    run(test)


def test_an_unknown_task_is_404_over_http() -> None:
    async def test(server: Served) -> None:
        response = await server.http.get("/a2a/tasks/nothing", headers=V1)
        assert response.status_code == 404
        error = response.json()["error"]
        assert error["status"] == "NOT_FOUND" and "nothing" in error["message"]
        assert error["details"][0]["reason"] == "TASK_NOT_FOUND"

    run(test)


# --- the extended card ------------------------------------------------------------------------------------


def test_there_is_an_extended_card_only_with_a_token() -> None:
    async def without(server: Served) -> None:
        assert code(await server.rpc("GetExtendedAgentCard", {})) == -32004
        assert code(await server.rpc("agent/getAuthenticatedExtendedCard", None, version="")) in (
            -32004,
            -32007,
        )

    async def given(server: Served) -> None:
        card = (await server.http.get("/.well-known/agent-card.json")).json()
        assert card["capabilities"]["extendedAgentCard"] and "/srv/here" not in json.dumps(card)
        full = (await server.rpc("GetExtendedAgentCard", {}))["result"]
        assert "/srv/here" in json.dumps(full)

    run(without)
    run(given, token_set=True)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is refused is answered, never thrown at the log."""
    yield
    loud = [r for r in caplog.records if r.levelname == "CRITICAL" or r.name.startswith("uvicorn.error")]
    assert [r for r in loud if r.exc_info] == []


# --- the specifications' store, for scripts ---------------------------------------------------------------


class TestTaskStore:
    def test_create_get_and_complete(self) -> None:
        store = TaskStore()
        made = store.create_task("t-1", Message(role="user", parts=[TextPart(text="hello")]))
        assert (made.id, made.status) == ("t-1", TaskState(state="submitted"))
        assert store.update_status("t-1", "working")
        assert store.add_artifact("t-1", {"type": "text", "data": "so far"})
        assert store.complete_task("t-1", OutputParser().parse("Result:\n```python\nprint(1)\n```"))
        done = store.get_task("t-1")
        assert done is not None and done.status.state == "completed"
        assert [artifact["type"] for artifact in done.artifacts] == ["text", "text", "code"]
        assert done.artifacts[0]["data"] == "so far" and done.created_at <= done.updated_at
        assert done.message.parts == [TextPart(text="hello")]
        assert done.to_dict()["state"] == "completed"
        assert not store.complete_task("t-1") and not store.update_status("t-1", "failed")

    def test_a_message_may_be_text_or_a_document_and_an_id_is_made(self) -> None:
        store = TaskStore()
        one, two = store.create("hello"), store.create({"parts": [{"text": "hello"}]})
        assert one.id != two.id and one.message == two.message
        found = store.get(one.id)
        assert found is not None and found.id == one.id
        with pytest.raises(BadMessage, match="already"):
            store.create_task(one.id, "again")

    def test_input_required(self) -> None:
        store = TaskStore()
        prompt = InputPrompt("Continue? (y/n):", "confirmation", ["y", "n"]).to_a2a_format()
        asked = store.create_task("t", "confirm something")
        assert not store.provide_input("t", "y"), "nothing was asked"
        assert store.set_input_required("t", prompt)
        assert asked.status == TaskState(state="input_required", message=prompt)
        assert store.provide_input("t", "y") and asked.status == TaskState(state="working")

    def test_an_unknown_id_is_none_or_false(self) -> None:
        store = TaskStore()
        assert store.get("no") is None and store.get_task("no") is None
        assert not store.update_status("no", "working") and not store.add_artifact("no", "text")
        assert not store.complete_task("no", ["text"]) and not store.set_input_required("no", {})
        assert not store.provide_input("no", "y")

    def test_a_file_keeps_the_tasks(self, tmp_path: Path) -> None:
        path = str(tmp_path / "tasks.db")
        first = TaskStore(path)
        first.create_task("t", "hello")
        first.complete_task("t", ["done"])
        first.close()
        again = TaskStore(path).get_task("t")
        assert again is not None and again.artifacts[0]["data"] == "done"

    def test_threads_may_share_it(self) -> None:
        store = TaskStore()
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda n: store.create_task(f"t{n}", "hello").id, range(50)))
            assert all(pool.map(store.complete_task, made))

    def test_its_events_go_to_the_emitter_of_the_task(self) -> None:
        async def inside() -> list[SSEEvent]:
            store = TaskStore()
            store.create_task("heard", "hello")
            events = emitter_registry.get_or_create("heard").subscribe()
            store.update_status("heard", "working")
            store.complete_task("heard", ["done"])
            return [event async for event in events]

        try:
            working, artifact, completed = asyncio.run(inside())
        finally:
            emitter_registry.remove("heard")
        assert (working.data["state"], completed.data["state"]) == ("working", "completed")
        assert artifact.data["artifact"]["parts"] == [{"type": "text", "text": "done"}]


def test_the_requests_of_the_documents() -> None:
    assert TaskSendRequest.model_validate({"message": "hi"}).message.parts == [TextPart(text="hi")]
    assert InputRequest(input="y").input == "y"
