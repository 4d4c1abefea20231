"""The specification's endpoints, over HTTP."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.server.dialect.routes import old_card
from synapse.tasks import database
from synapse.tasks.task import Json
from tests.support.dialect_server import SELF, FakeExternalAgents, Server, served, serving


def refused(response: httpx.Response, status: int, code: str, *words: str) -> str:
    """It is, with one sentence."""
    assert response.status_code == status, response.text
    assert set(response.json()) == {"detail", "code"} and response.json()["code"] == code
    detail = str(response.json()["detail"])
    assert detail.endswith((".", "?")) and "\n" not in detail
    for word in words:
        assert word in detail, detail
    return detail


# --- /message and /response -------------------------------------------------------------------------------


def test_a_line_is_sent_and_its_answer_read() -> None:
    async def test(server: Server) -> None:
        body = {"content": "明日の天気は？", "priority": 1, "response_mode": "return"}
        sent = (await server.post("/message", body)).json()
        assert sent == {
            "status": "sent",
            "priority": 1,
            "task_id": sent["task_id"],
            "response_url": f"/response/{sent['task_id']}",
        }
        done = (await server.get(sent["response_url"], params={"wait": 10})).json()
        assert done == {"request_id": sent["task_id"], "status": "completed", "response": "明日の天気は？"}
        task = (await server.get(f"/tasks/{sent['task_id']}")).json()
        assert task["metadata"]["response_mode"] == "return"

    served(test)


def test_without_return_the_answer_is_as_the_documents_show_it() -> None:
    async def test(server: Server) -> None:
        sent = (await server.post("/message", {"content": "hello", "priority": 3})).json()
        assert sent == {"status": "sent", "priority": 3, "task_id": sent["task_id"]}

    served(test)


def test_the_callback_is_sent_what_the_response_says() -> None:
    async def test(server: Server) -> None:
        url = "http://localhost:9000/response"
        for text, status in (("say hi", "completed"), ("fail no", "failed")):
            body = {"content": text, "callback_url": url, "response_mode": "return"}
            sent = (await server.post("/message", body)).json()
            await server.until(sent["task_id"], status)
            document = (await server.get(f"/response/{sent['task_id']}")).json()
            assert server.posted.pop() == (url, document) and document["status"] == status
        assert server.posted == []
        evil = await server.post("/message", {"content": "x", "callback_url": "http://evil.example/"})
        refused(evil, 400, "BAD_MESSAGE", "callback_url", "is not called")
        assert server.engine.store.count() == 2

    served(test)


def test_an_answer_under_way_says_how_far_it_is() -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("ask go?")
        await server.until(task_id, "input_required")
        document = (await server.get(f"/response/{task_id}", params={"wait": 5})).json()
        assert document["status"] == "input_required" and document["prompt"]["options"] == ["y", "n"]
        assert document["response"] == ""

    served(test)


def test_who_stops_waiting_for_an_answer_leaves_nothing_behind() -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("hold")
        asking = asyncio.create_task(server.get(f"/response/{task_id}", params={"wait": 60}))
        while not server.listeners(task_id):
            await asyncio.sleep(0.001)
        asking.cancel()
        while server.listeners(task_id):
            await asyncio.sleep(0.001)

    served(test)


# --- sending ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        "hello",
        {"role": "user", "parts": [{"type": "text", "text": "hello"}]},
        {"parts": [{"kind": "text", "text": "hello"}]},
        {"parts": [{"text": "hello"}]},
    ],
)
def test_a_message_is_text_or_has_parts(message: object) -> None:
    async def test(server: Server) -> None:
        response = await server.post("/tasks/send", {"message": message})
        assert response.status_code == 200
        task = response.json()["task"]
        assert task["message"] == {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
        assert task["status"] == task["state"] == "submitted" and task["artifacts"] == []
        done = await server.until(task["id"], "completed")
        assert done["artifacts"] == [
            {
                "type": "text",
                "name": "output",
                "parts": [{"type": "text", "text": "hello"}],
                "data": "hello",
                "metadata": {"source": "exact"},
            }
        ]
        assert done["created_at"].endswith("Z") and done["updated_at"] >= done["created_at"]

    served(test)


def test_files_and_data_are_parts() -> None:
    async def test(server: Server) -> None:
        parts: list[Json] = [
            {"type": "data", "data": {"deep": [1, None, "ü"]}},
            {"type": "file", "name": "a.txt", "mime_type": "text/plain", "bytes": "aGk="},
            {
                "type": "file",
                "file": {"name": "b.txt", "mimeType": "text/plain", "uri": "https://x.example/b"},
            },
        ]
        task = (await server.post("/tasks/send", {"message": {"parts": parts}})).json()["task"]
        flat = {"type": "file", "name": "b.txt", "mime_type": "text/plain", "uri": "https://x.example/b"}
        assert task["message"]["parts"] == [parts[0], parts[1], flat]

    served(test)


def test_who_asks_and_what_belongs_together_is_kept() -> None:
    async def test(server: Server) -> None:
        first = await server.send(
            "a", sender={"id": "x", "name": "codex"}, context_id="c", metadata={"k": [1]}
        )
        second = await server.send("b", sender="shell", context_id="c")
        one, two = [(await server.get(f"/tasks/{task_id}")).json() for task_id in (first, second)]
        assert one["sender"] == {"id": "x", "name": "codex"} and one["metadata"] == {"k": [1]}
        assert two["sender"] == {"id": "shell"} and one["context_id"] == two["context_id"] == "c"

    served(test)


def test_the_same_request_is_the_same_task() -> None:
    async def test(server: Server) -> None:
        first = await server.send("hold", request_id="r")
        assert await server.send("hold", request_id="r") == first
        assert await server.send("hold", request_id="s") != first
        sent = [(await server.post("/message", {"content": "x", "request_id": "t"})).json() for _ in "ab"]
        assert sent[0] == sent[1]

    served(test)


def test_priority_decides_the_order() -> None:
    async def test(server: Server) -> None:
        await server.send("hold")
        for priority in (1, 3, 5, 2):
            body = {"message": f"p{priority}"}
            response = await server.post("/tasks/send-priority", body, params={"priority": priority})
            assert response.json()["task"]["priority"] == priority
        server.courier.release.set()
        await server.until(await server.send("last"), "completed")
        assert server.courier.seen == ["hold", "p5", "p3", "p2", "p1", "last"]
        for wrong in (0, 6, "x", 1.5):
            response = await server.post("/tasks/send-priority", {"message": "x"}, params={"priority": wrong})
            refused(response, 422, "BAD_REQUEST", "priority")

    served(test)


def test_a_message_to_a_task_is_its_answer_or_more_to_do() -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("ask go?")
        await server.until(task_id, "input_required")
        short = task_id[:8]
        answered = await server.post("/tasks/send", {"message": "y", "task_id": short, "sender": "me"})
        assert answered.json()["task"]["id"] == task_id
        assert server.courier.answers == [("y", {"id": "me"})]
        assert (await server.until(task_id, "completed"))["artifacts"][0]["data"] == "you said y"
        over = await server.post("/tasks/send", {"message": "y", "task_id": task_id})
        refused(over, 409, "WRONG_STATE", "is completed")
        nobody = await server.post("/tasks/send", {"message": "y", "task_id": "nobody"})
        refused(nobody, 404, "TASK_NOT_FOUND")

    served(test)


# --- tasks ------------------------------------------------------------------------------------------------


def test_tasks_are_listed_and_filtered() -> None:
    async def test(server: Server) -> None:
        done = await server.send("a", context_id="c")
        await server.until(done, "completed")
        failed = await server.send("fail x")
        await server.until(failed, "failed")
        held = await server.send("hold", context_id="c")
        waits = await server.send("b")
        await server.until(held, "working")

        async def ids(**params: Any) -> tuple[list[str], int]:
            found = (await server.get("/tasks", params=params)).json()
            return [task["id"] for task in found["tasks"]], found["total"]

        assert sorted((await ids())[0]) == sorted([done, failed, held, waits])
        assert await ids(state="failed") == ([failed], 1)
        assert sorted((await ids(state=["working", "submitted"]))[0]) == sorted([held, waits])
        assert (await ids(context_id="c"))[1] == 2
        assert len((await ids(limit=1))[0]) == 1 and (await ids(limit=1))[1] == 4
        for params in ({"state": "sleeping"}, {"limit": 0}, {"limit": 501}):
            refused(await server.get("/tasks", params=params), 422, "BAD_REQUEST", next(iter(params)))

    served(test)


def test_input_is_given_as_the_documents_show_it() -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("ask 続行しますか？ (y/n): ")
        task = await server.until(task_id, "input_required")
        assert task["prompt"]["prompt"].startswith("続行しますか")
        stranger = await server.post(f"/tasks/{task_id}/input", {"input": "y", "sender": "stranger"})
        refused(stranger, 403, "NOT_ALLOWED")
        given = await server.post(f"/tasks/{task_id}/input", {"input": "y", "sender": {"name": "me"}})
        assert given.status_code == 200
        assert given.json() == {"status": "input_provided", "task_id": task_id}
        assert server.courier.answers == [("y", {"name": "me"})]
        await server.until(task_id, "completed")
        late = await server.post(f"/tasks/{task_id}/input", {"input": "y"})
        refused(late, 400, "WRONG_STATE", "does not wait for input")
        refused(await server.post("/tasks/nobody/input", {"input": "y"}), 404, "TASK_NOT_FOUND")

    served(test)


def test_a_secret_is_not_told_to_anybody(tmp_path: Path) -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("secret")
        await server.until(task_id, "input_required")
        assert (await server.post(f"/tasks/{task_id}/input", {"input": "hunter2"})).status_code == 200
        await server.until(task_id, "completed")
        for path in (f"/tasks/{task_id}", "/tasks", f"/response/{task_id}", f"/tasks/{task_id}/subscribe"):
            assert "hunter2" not in (await server.get(path)).text

    served(test, path=tmp_path / "db")
    assert all(b"hunter2" not in path.read_bytes() for path in tmp_path.iterdir())


def test_canceling_says_what_came_of_it() -> None:
    async def test(server: Server) -> None:
        running = await server.send("hang")
        queued = await server.send("never")
        for task_id in (queued, running):
            response = await server.post(f"/tasks/{task_id}/cancel")
            assert response.status_code == 200 and response.json()["status"] == "canceled"
            assert response.json()["task"]["state"] == "canceled"
        refused(await server.post(f"/tasks/{queued}/cancel"), 409, "NOT_CANCELABLE", "already")
        refused(await server.post("/tasks/nobody/cancel"), 404, "TASK_NOT_FOUND")

    served(test)


def test_an_agent_that_is_still_at_it_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(server: Server) -> None:
        task_id = await server.send("hold")
        await server.until(task_id, "working")
        monkeypatch.setattr(type(server.engine).cancel, "__defaults__", (0.01,))
        response = await server.post(f"/tasks/{task_id}/cancel")
        assert response.status_code == 202 and response.json()["status"] == "working"

    served(test)


# --- the card ---------------------------------------------------------------------------------------------


def test_the_card() -> None:
    async def test(server: Server) -> None:
        card = (await server.get("/.well-known/agent.json")).json()
        assert card["name"] == "claude" and card["url"] == "http://localhost:8100"
        assert card["capabilities"]["streaming"] is True and card["skills"][0]["name"] == "Claude Code"
        assert card["x-synapse-context"]["agent_id"] == "a" * 64

    served(test)
    assert "working_dir" not in old_card(SELF, token_set=True)["x-synapse-context"]


# --- what is refused --------------------------------------------------------------------------------------


BAD_BODIES: list[tuple[str, int, str, list[str]]] = [
    ('{"message": ', 400, "BAD_JSON", ["not JSON"]),
    ("", 422, "BAD_REQUEST", ["empty"]),
    ("[]", 422, "BAD_REQUEST", ["object"]),
    ('"text"', 422, "BAD_REQUEST", ["object"]),
    ("\xff", 400, "BAD_JSON", ["UTF-8"]),
    ("[" * 100_000, 400, "BAD_JSON", []),
    ('{"message": {"parts": [{"type": "text", "text": ' + "9" * 5000 + "}]}}", 400, "BAD_JSON", []),
    ("{}", 422, "BAD_REQUEST", ["message", "missing"]),
    ('{"message": 5}', 422, "BAD_REQUEST", ["message"]),
    ('{"message": ""}', 400, "BAD_MESSAGE", ["empty"]),
    ('{"message": " \\n\\t"}', 400, "BAD_MESSAGE", ["empty"]),
    ('{"message": "\\u0000\\u200b"}', 400, "BAD_MESSAGE", ["empty"]),
    ('{"message": {"parts": []}}', 422, "BAD_REQUEST", ["parts"]),
    ('{"message": {"role": "system", "parts": [{"text": "x"}]}}', 422, "BAD_REQUEST", ["role"]),
    ('{"message": {"parts": [{"type": "video"}]}}', 422, "BAD_REQUEST", ["'video'", "text, data or file"]),
    ('{"message": {"parts": [{"type": "text"}]}}', 422, "BAD_REQUEST", ["text", "missing"]),
    ('{"message": {"parts": ["x"]}}', 422, "BAD_REQUEST", ["parts.0"]),
    ('{"message": {"parts": [{"type": "file", "name": "x"}]}}', 400, "BAD_MESSAGE", ["bytes"]),
    ('{"message": {"parts": [{"type": "data", "data": NaN}]}}', 400, "BAD_MESSAGE", ["finite"]),
    ('{"message": {"parts": [{"type": "data", "data": 1e999}]}}', 400, "BAD_MESSAGE", ["finite"]),
    ('{"message": "x", "metadata": {"n": Infinity}}', 400, "BAD_MESSAGE", ["finite"]),
    (f'{{"message": "x", "metadata": {{"n": -1{"0" * 400}}}}}', 400, "BAD_MESSAGE", ["too large"]),
    ('{"message": "x", "context_id": ""}', 422, "BAD_REQUEST", ["context_id"]),
    ('{"message": "x", "sender": "a]b"}', 422, "BAD_REQUEST", ["sender"]),
    ('{"message": "x", "sender": "a\\u009b31m"}', 422, "BAD_REQUEST", ["sender"]),
    ('{"message": "x", "sender": {"name": "a\\u202eb"}}', 422, "BAD_REQUEST", ["sender"]),
    ('{"message": "x", "context_id": "\\ud800"}', 422, "BAD_REQUEST", ["context_id"]),
    ('{"message": "x", "request_id": "\\ud800"}', 422, "BAD_REQUEST", ["request_id"]),
    ('{"message": "x", "task_id": "\\ud800"}', 422, "BAD_REQUEST", ["task_id"]),
    ('{"message": "' + "x" * 1_000_001 + '"}', 413, "MESSAGE_TOO_LARGE", ["1000000"]),
]


def test_a_bad_body_is_refused_with_a_sentence() -> None:
    async def test(server: Server) -> None:
        for body, status, code, words in BAD_BODIES:
            for path in ("/tasks/send", "/tasks/send-priority", "/tasks/sendSubscribe"):
                response = await server.client.post(
                    path, content=body.encode("latin-1"), headers={"Content-Type": "application/json"}
                )
                refused(response, status, code, *words)
        assert server.engine.store.count() == 0

    served(test)


def test_half_a_character_in_data_is_put_right() -> None:
    async def test(server: Server) -> None:
        data = b'{"message": {"parts": [{"type": "data", "data": {"\\ud83d": "\\ude00"}}]}'
        body = data + b', "metadata": {"a": "\\udc00"}}'
        response = await server.client.post(
            "/tasks/send", content=body, headers={"Content-Type": "application/json"}
        )
        assert response.status_code == 200
        await server.until(response.json()["task"]["id"], "completed")

    served(test)


def test_deep_data_is_refused() -> None:
    async def test(server: Server) -> None:
        for depth in (200, 900, 2000):
            deep = "[" * depth + "]" * depth
            body = '{"message": {"parts": [{"type": "data", "data": ' + deep + "}]}}"
            response = await server.client.post(
                "/tasks/send", content=body, headers={"Content-Type": "application/json"}
            )
            assert response.status_code in (400, 422), response.text
            assert response.json()["detail"].endswith(".")

    served(test)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data"]
)
def test_only_json_is_taken(kind: str) -> None:
    async def test(server: Server) -> None:
        headers = {"Content-Type": kind} if kind else {}
        response = await server.client.post("/tasks/send", content=b'{"message": "x"}', headers=headers)
        refused(response, 415, "NOT_JSON", "application/json")

    served(test)


def test_a_full_queue_says_when_to_come_again() -> None:
    async def test(server: Server) -> None:
        await server.until(await server.send("hold"), "working")
        await server.send("a")
        response = await server.post("/tasks/send", {"message": "b"})
        refused(response, 429, "QUEUE_FULL")
        assert int(response.headers["retry-after"]) > 0

    served(test, queue=1)


def test_a_disk_that_cannot_be_written_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.01)

    async def test(server: Server) -> None:
        other = sqlite3.connect(tmp_path / "db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        refused(await server.post("/tasks/send", {"message": "b"}), 507, "STORE_FAILED", "locked")
        other.execute("ROLLBACK")
        other.close()
        await server.until(await server.send("b"), "completed")

    served(test, path=tmp_path / "db")


# --- /external --------------------------------------------------------------------------------------------


def test_agents_elsewhere() -> None:
    async def test(server: Server) -> None:
        found = await server.post("/external/discover", {"url": "http://localhost:9000", "alias": "weather"})
        assert found.json()["alias"] == "weather"
        assert (await server.get("/external/agents")).json()["agents"] == [found.json()]
        assert (await server.get("/external/agents/weather")).json() == found.json()
        sent = await server.post("/external/agents/weather/send", {"message": "rain?", "wait": True})
        assert sent.json() == {"task": {"id": "t", "status": "completed", "message": "rain?"}}
        assert (await server.client.delete("/external/agents/weather")).json()["status"] == "removed"
        for response in (
            await server.get("/external/agents/weather"),
            await server.client.delete("/external/agents/weather"),
            await server.post("/external/agents/weather/send", {"message": "rain?"}),
        ):
            refused(response, 404, "AGENT_NOT_FOUND", "'weather'")
        down = await server.post("/external/discover", {"url": "http://down.example"})
        refused(down, 502, "EXTERNAL_FAILED", "does not answer")
        wrong = await server.post("/external/discover", {"url": "http://x", "alias": "../etc"})
        refused(wrong, 422, "BAD_REQUEST", "alias")

    served(test, external=FakeExternalAgents())


def test_without_a_client_they_say_so() -> None:
    async def test(server: Server) -> None:
        refused(await server.get("/external/agents"), 503, "UNAVAILABLE")
        refused(await server.post("/external/discover", {"url": "http://x"}), 503, "UNAVAILABLE")

    served(test)


# --- the documentation ------------------------------------------------------------------------------------


def test_every_example_of_the_documentation_works() -> None:
    async def main() -> None:
        async with serving(external=FakeExternalAgents()) as server:
            document = (await server.get("/openapi.json")).json()
            tried = 0
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    await server.post("/external/discover", {"url": "http://localhost:9000"})
                    task_id = await server.send("ask go?" if path.endswith("input") else "say hi")
                    if path.endswith("input"):
                        await server.until(task_id, "input_required")
                    if path.endswith("cancel"):
                        task_id = await server.send("hang")
                    url = path.format(task_id=task_id, request_id=task_id, alias="weather")
                    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
                    for body in [e["value"] for e in media.get("examples", {}).values()] or [None]:
                        response = await server.client.request(method, url, json=body)
                        assert response.status_code == 200, f"{method} {url} {body}: {response.text}"
                        tried += 1
            assert tried > 18

    asyncio.run(main())


def test_the_page_loads_nothing_from_elsewhere() -> None:
    async def test(server: Server) -> None:
        page = await server.get("/docs")
        assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
        assert "connect-src 'self'" in page.headers["content-security-policy"]
        assert (
            re.findall(r"""(?:src|href)=["']?(?!#|data:,)[^"'>\s]+|https?://|@import|url\(""", page.text)
            == []
        )

    served(test)


def test_every_operation_is_described_with_its_refusals() -> None:
    async def test(server: Server) -> None:
        document = (await server.get("/openapi.json")).json()
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                where = f"{method} {path}"
                assert operation["description"] and operation["tags"], where
                for status, response in operation["responses"].items():
                    if int(status) >= 400:
                        schema = response["content"]["application/json"]["schema"]
                        assert schema == {"$ref": "#/components/schemas/Refusal"}, where
        assert "HTTPValidationError" not in json.dumps(document)

    served(test)
