"""The standard's routes: the card, versions, extensions, and what is wrong with a request."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from synapse.tasks.task import Json
from tests.support.a2a_server import Served, served

V1 = {"A2A-Version": "1.0"}
V03 = {"kind": "message", "messageId": "m", "role": "user"}


def run(test: Callable[[Served], Awaitable[None]], **options: Any) -> None:
    async def inside() -> None:
        async with served(**options) as server:
            await asyncio.wait_for(test(server), 30)

    asyncio.run(inside())


def message(text: str) -> Json:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}}


def old(text: str, **more: Any) -> Json:
    return {"message": {**V03, "parts": [{"kind": "text", "text": text}], **more}}


def lines(response: httpx.Response) -> list[Json]:
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]


# --- the card ---------------------------------------------------------------------------------------------


def test_the_card_is_for_both_versions() -> None:
    async def test(server: Served) -> None:
        response = await server.http.get("/.well-known/agent-card.json")
        card = response.json()
        spoken = [(i["protocolBinding"], i["protocolVersion"], i["url"]) for i in card["supportedInterfaces"]]
        assert spoken == [
            ("JSONRPC", "1.0", f"{server.url}/"),
            ("HTTP+JSON", "1.0", f"{server.url}/a2a"),
            ("JSONRPC", "0.3", f"{server.url}/"),
            ("HTTP+JSON", "0.3", f"{server.url}/a2a"),
        ]
        assert card["url"] == f"{server.url}/" and card["preferredTransport"] == "JSONRPC"
        assert card["protocolVersion"] == "0.3.0"
        assert card["additionalInterfaces"] == [{"transport": "HTTP+JSON", "url": f"{server.url}/a2a"}]
        context, _ = card["capabilities"]["extensions"]
        assert context["uri"] == "x-synapse-context" and context["params"]["working_dir"] == "/srv/here"
        assert [skill["id"] for skill in card["skills"]] == ["dummy", "interrupt"]
        assert "securitySchemes" not in card

    run(test)


def test_the_card_names_the_host_it_was_asked_by() -> None:
    async def test(server: Served) -> None:
        port = server.url.rpartition(":")[2]
        response = await server.http.get(
            "/.well-known/agent-card.json", headers={"Host": f"localhost:{port}"}
        )
        assert response.json()["url"] == f"http://localhost:{port}/"

    run(test)


def test_the_card_is_sent_once() -> None:
    async def test(server: Served) -> None:
        response = await server.http.get("/.well-known/agent-card.json")
        assert "max-age" in response.headers["cache-control"]
        tag = response.headers["etag"]
        again = await server.http.get(
            "/.well-known/agent-card.json", headers={"If-None-Match": f'"x", W/{tag}'}
        )
        assert again.status_code == 304 and again.content == b""
        assert (
            await server.http.get("/.well-known/agent-card.json", headers={"If-None-Match": '"x"'})
        ).status_code == 200

    run(test)


def test_a_strict_card_has_no_word_of_the_old_version() -> None:
    async def test(server: Served) -> None:
        card = (await server.http.get("/.well-known/agent-card.json")).json()
        assert not {"url", "protocolVersion", "preferredTransport", "additionalInterfaces"} & set(card)
        assert {i["protocolVersion"] for i in card["supportedInterfaces"]} == {"1.0"}

    run(test, strict=True)


def test_a_token_is_declared_where_one_is_needed() -> None:
    async def test(server: Served) -> None:
        card = (await server.http.get("/.well-known/agent-card.json")).json()
        assert card["securitySchemes"]["token"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
        assert card["supportsAuthenticatedExtendedCard"] is True

    run(test, token_set=True)


# --- versions and extensions ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2.0", "0.2", "1.1", "x", "99"])
def test_a_version_that_is_not_spoken(version: str) -> None:
    async def test(server: Served) -> None:
        answer = await server.rpc("SendMessage", message("say hi"), version=version)
        assert answer["error"]["code"] == -32009 and answer["id"] == 1
        response = await server.http.get("/a2a/tasks", headers={"A2A-Version": version})
        assert response.status_code == 400
        assert response.json()["error"]["details"][0]["reason"] == "VERSION_NOT_SUPPORTED"

    run(test)


def test_versions_that_are_spoken() -> None:
    async def test(server: Served) -> None:
        for version in ("1.0", "1.0.1"):
            assert "result" in await server.rpc("SendMessage", message("say hi"), version=version)
        for version in ("", "0.3", "0.3.0"):
            assert "result" in await server.rpc("message/send", old("say hi"), version=version)
        assert (await server.http.get("/a2a/tasks?A2A-Version=1.0")).status_code == 200
        # Who does not say which version speaks 0.3, which has no such method.
        assert (await server.rpc("SendMessage", message("say hi"), version=""))["error"]["code"] == -32009

    run(test)


def test_extensions_that_are_asked_for_and_known_are_on() -> None:
    async def test(server: Served) -> None:
        asked = {**V1, "A2A-Extensions": "x-synapse-task, https://example.com/other"}
        response = await server.http.get("/a2a/tasks", headers=asked)
        assert response.headers["a2a-extensions"] == "x-synapse-task"
        assert "a2a-extensions" not in (await server.http.get("/a2a/tasks", headers=V1)).headers

    run(test)


# --- requests that are wrong ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"", -32700),
        (b"[]", -32600),
        (b'"x"', -32600),
        (b'{"id": 1}', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "NoSuchMethod"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": 5}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": 5}}', -32602),
        (b"[" * 100_000, -32700),
    ],
)
def test_requests_that_cannot_be_read(body: bytes, expected: int) -> None:
    async def test(server: Served) -> None:
        version = "0.3" if b"/" in body else "1.0"
        headers = {"A2A-Version": version, "Content-Type": "application/json"}
        response = await server.http.post("/", content=body, headers=headers)
        assert response.json()["error"]["code"] == expected

    run(test)


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[]", b"5", b'{"message": 5}', b"", b"[" * 100_000])
@pytest.mark.parametrize("path", ["/a2a/message:send", "/a2a/message:stream", "/a2a/v1/message:send"])
def test_http_bodies_that_cannot_be_read(body: bytes, path: str) -> None:
    async def test(server: Served) -> None:
        headers = {"Content-Type": "application/json"} | ({} if "v1" in path else V1)
        response = await server.http.post(path, content=body, headers=headers)
        assert response.status_code == 400, response.text
        assert response.json()["error"]["status"] == "INVALID_ARGUMENT"

    run(test)


@pytest.mark.parametrize(("strict", "expected"), [(False, 400), (True, 415)])
def test_only_json_is_taken(strict: bool, expected: int) -> None:
    async def test(server: Served) -> None:
        headers = {**V1, "Content-Type": "text/plain"}
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": message("say hi")})
        response = await server.http.post("/", content=body, headers=headers)
        assert response.json()["error"]["code"] == -32005 and response.json()["id"] == 7
        response = await server.http.post(
            "/a2a/message:send", content=json.dumps(message("x")), headers=headers
        )
        assert response.status_code == expected == response.json()["error"]["code"]
        assert server.engine.store.count() == 0

    run(test, strict=strict)


def test_the_root_belongs_to_the_other_dialect() -> None:
    async def test(server: Served) -> None:
        assert (await server.http.get("/status")).json() == {"status": "READY"}
        for path in ("/tasks", "/message:send", "/somebody/tasks", "/v1/card"):
            assert (await server.http.get(path, headers=V1)).status_code == 404
        assert (await server.http.get("/")).status_code == 405

    run(test)


# --- version 0.3 ------------------------------------------------------------------------------------------


def test_the_old_version_sends_gets_and_cancels() -> None:
    async def test(server: Served) -> None:
        task = (await server.rpc("message/send", old("say hi"), version=""))["result"]
        assert task["kind"] == "task" and task["status"]["state"] == "completed"
        assert task["artifacts"][0]["parts"] == [{"kind": "text", "text": "hi"}]
        parked = (await server.rpc("message/send", old("park ?"), version=""))["result"]
        found = await server.rpc("tasks/get", {"id": parked["id"], "historyLength": 1}, version="")
        assert found["result"]["status"]["state"] == "input-required"
        gone = await server.rpc("tasks/cancel", {"id": parked["id"]}, version="")
        assert gone["result"]["status"]["state"] == "canceled"
        assert (await server.rpc("tasks/get", {"id": "x"}, version=""))["error"]["code"] == -32001

    run(test)


def test_the_old_version_streams_and_says_which_update_is_the_last() -> None:
    async def test(server: Served) -> None:
        for text, last in (("stream a|b", "completed"), ("ask sure?", "input-required")):
            body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": old(text)}
            found = [line["result"] for line in lines(await server.http.post("/", json=body))]
            assert found[0]["kind"] == "task"
            assert found[-1]["status"]["state"] == last
            assert [e["final"] for e in found if e["kind"] == "status-update"] == [False, True]

    run(test)


@pytest.mark.parametrize(
    "part", [{"kind": "video", "text": "x"}, {"type": "odd", "text": "x"}, {"kind": "text"}]
)
def test_a_part_of_an_unknown_kind_in_the_old_version(part: Json) -> None:
    async def test(server: Served) -> None:
        answer = await server.rpc("message/send", {"message": {**V03, "parts": [part]}}, version="")
        assert answer["error"]["code"] == -32602
        assert server.engine.store.count() == 0

    run(test)


def test_a_file_that_is_no_base64_in_the_old_version() -> None:
    async def test(server: Served) -> None:
        part = {"kind": "file", "file": {"bytes": "a", "name": "x"}}
        answer = await server.rpc("message/send", {"message": {**V03, "parts": [part]}}, version="")
        assert answer["error"]["code"] == -32602 and "cannot be read" in answer["error"]["message"]

    run(test)


def test_the_old_version_over_http() -> None:
    async def test(server: Served) -> None:
        body = {"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "park ?"}]}}
        task = (await server.http.post("/a2a/v1/message:send", json=body)).json()["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        path = f"/a2a/v1/tasks/{task['id']}"
        assert (await server.http.get(path, params={"history_length": -1})).status_code == 400
        assert (await server.http.get(path, params={"historyLength": "x"})).status_code == 400
        assert (await server.http.get(path)).json()["id"] == task["id"]
        assert (await server.http.get("/a2a/v1/tasks/x:subscribe")).status_code == 404
        del body["message"]["role"]
        assert (await server.http.post("/a2a/v1/message:send", json=body)).status_code == 400

    run(test)


LONE = "\ud800"


def saying(metadata: Json, role: str = "ROLE_USER", **kind: str) -> Json:
    return {
        "message": {"messageId": "m", "role": role, "parts": [{**kind, "text": "x"}], "metadata": metadata}
    }


@pytest.mark.parametrize(
    ("version", "method", "params"),
    [
        ("1.0", "GetTask", {"id": LONE}),
        ("1.0", "CancelTask", {"id": LONE}),
        ("1.0", "ListTasks", {"contextId": LONE}),
        ("1.0", "SubscribeToTask", {"id": LONE}),
        ("1.0", "SendMessage", saying({"a": [math.nan]})),
        ("1.0", "SendStreamingMessage", saying({"a": -math.inf})),
        ("1.0", "SendMessage", {**saying({}), "metadata": {"a": math.nan}}),
        ("1.0", "SendStreamingMessage", {**saying({}), "metadata": {"a": [{"b": math.inf}]}}),
        ("0.3", "message/send", {**saying({}, "user", kind="text"), "metadata": {"a": math.nan}}),
        ("1.0", "SendMessage", saying({"a": 10**400})),
        ("0.3", "message/send", saying({"a": [-(10**400)]}, "user", kind="text")),
        ("0.3", "tasks/get", {"id": LONE}),
        ("0.3", "message/send", saying({"a": math.nan}, "user", kind="text")),
        ("0.3", "message/send", saying({"a": LONE}, "user", kind="text")),
    ],
)
def test_what_json_cannot_carry_is_invalid_params(version: str, method: str, params: Json) -> None:
    async def test(server: Served) -> None:
        for request_id in (7, LONE):
            body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
            headers = {"Content-Type": "application/json", "A2A-Version": version}
            answer = await server.http.post("/", content=body.encode(), headers=headers)
            assert answer.status_code == 200 and answer.json()["error"]["code"] == -32602
            assert answer.json()["id"] == (None if request_id == LONE else 7)
        assert server.engine.store.count() == 0

    run(test)


def test_push_configurations_in_the_old_version() -> None:
    async def test(server: Served) -> None:
        task = (await server.rpc("message/send", old("park ?"), version=""))["result"]
        config = {"url": "https://example.com/hook", "authentication": {"schemes": []}}
        params = {"taskId": task["id"], "pushNotificationConfig": config}
        made = await server.rpc("tasks/pushNotificationConfig/set", params, version="")
        config_id = made["result"]["pushNotificationConfig"]["id"]
        found = await server.rpc("tasks/pushNotificationConfig/get", {"id": task["id"]}, version="")
        assert found["result"] == made["result"]
        wanted = {"id": task["id"], "pushNotificationConfigId": config_id}
        gone = await server.rpc("tasks/pushNotificationConfig/delete", wanted, version="")
        assert gone == {"jsonrpc": "2.0", "id": 1, "result": None}
        assert (await server.rpc("tasks/pushNotificationConfig/get", {"id": task["id"]}, version=""))["error"]
        path = f"/a2a/v1/tasks/{task['id']}/pushNotificationConfigs/{config_id}"
        assert (await server.http.delete(path)).json() == {}

    run(test)
