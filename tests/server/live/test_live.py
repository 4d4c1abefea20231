"""`/ws` of a running agent: what viewers see, what they may send, and what becomes of slow ones."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send
from websockets.exceptions import ConnectionClosed, InvalidStatus

from synapse.peers import control
from synapse.registry import Entry
from synapse.server.access.connections import at_most
from tests.support.home import Home, hosts, wait
from tests.support.running import Agent, Lasting
from tests.support.serving import as_nobody, serving
from tests.support.watching import Frame, watching


@pytest.fixture(scope="module")
def lasting() -> Iterator[Lasting]:
    with Lasting() as made:
        yield made


@pytest.fixture
def agent(lasting: Lasting) -> Iterator[Agent]:
    with lasting.lent() as made:
        yield made


@pytest.fixture
def entry(agent: Agent) -> Entry:
    return agent.home.agents()["a"]


def of(frames: list[Frame], kind: str) -> list[Frame]:
    return [frame for frame in frames if frame["type"] == kind]


def is_end(task_id: str) -> Callable[[Frame], object]:
    return lambda f: f["type"] == "task" and f["task"]["id"] == task_id and f["task"]["state"] == "completed"


def test_a_task_is_seen_from_its_arrival_to_its_reply(entry: Entry) -> None:
    with watching(entry, "status", "task", "artifact", "receipt") as viewer:
        first = viewer.until(lambda f: f["type"] == "status")
        assert first["agent"]["name"] == "a" and first["since"]
        sent = viewer.ask(send={"message": "say hello", "sender": "me", "priority": 3})
        task_id = sent["task"]["id"]
        viewer.until(lambda f: f["type"] == "status" and f["work"] and f["work"]["task"] == task_id)
        assert viewer.frames[-1]["work"]["from"] == "me" and viewer.frames[-1]["work"]["text"] == "say hello"
        viewer.until(is_end(task_id))
        mine = [f for f in viewer.frames if f.get("task") == task_id]
        assert "hello" in json.dumps(of(mine, "artifact"))
        steps = [f["receipt"]["step"] for f in of(mine, "receipt")]
        assert {"queued", "submitted"} <= set(steps)
        numbers = [f["n"] for f in mine]
        assert numbers == sorted(numbers)


def test_a_viewer_gets_only_what_it_subscribed_to(agent: Agent, entry: Entry) -> None:
    with watching(entry, "task") as viewer:
        task_id = agent.send("say quiet")
        viewer.until(is_end(task_id))
        assert {f["type"] for f in viewer.frames} == {"ok", "task"}


def test_a_new_viewer_gets_the_present_state_first(agent: Agent, entry: Entry) -> None:
    agent.reply("say before")
    with watching(entry, "task", "artifact", "receipt") as viewer:
        viewer.until(lambda f: f["type"] == "artifact" and "before" in json.dumps(f))
        assert of(viewer.frames, "receipt") and of(viewer.frames, "task")[-1]["task"]["state"] == "completed"


def test_a_viewer_that_comes_back_gets_what_it_missed(agent: Agent, entry: Entry) -> None:
    with watching(entry, "task") as viewer:
        last = viewer.ask(subscribe=["task"])["n"]
    task_id = agent.send("say while away")
    agent.until(task_id)
    with watching(entry) as viewer:
        viewer.ask(subscribe=["task"], after=last)
        viewer.until(is_end(task_id))
        assert not of(viewer.frames, "lagged")
        numbers = [f["n"] for f in of(viewer.frames, "task")]
        assert numbers == sorted(set(numbers)) and numbers[0] > last


@pytest.mark.parametrize("after", [0, 1 << 60])
def test_a_number_that_is_not_kept_gives_the_present_state(agent: Agent, entry: Entry, after: int) -> None:
    agent.reply("say kept")
    with watching(entry) as viewer:
        viewer.ask(subscribe=["task"], after=after)
        viewer.until(lambda f: f["type"] == "lagged")
        viewer.until(lambda f: f["type"] == "task")


def test_the_screen_is_the_screen(agent: Agent, entry: Entry) -> None:
    with watching(entry, "screen") as viewer:
        viewer.until_text("dummy>")
        viewer.ask(keys=["lines 5", "Enter"])
        viewer.until_text("line 5")
        wait(lambda: agent.home.agents()["a"]["status"] == "READY", "READY")
        shown = agent.home.run("screen", "a").stdout.rstrip("\n")
        while viewer.text != shown:
            viewer.next()
        assert viewer.screen["cols"] == 120 and not viewer.screen["snapshot"]


def test_only_rows_that_changed_are_sent(entry: Entry) -> None:
    with watching(entry, "screen") as viewer:
        viewer.until_text("dummy>")
        assert viewer.screen["snapshot"]
        viewer.ask(keys=["x"])
        viewer.until(lambda f: f["type"] == "screen" and f["rows"])
        assert len(viewer.screen["rows"]) == 1 and not viewer.screen["snapshot"]
        assert viewer.screen["typing"]["by"] == "a viewer"
        viewer.ask(keys=["BSpace"], by="the test")
        viewer.until(lambda f: f["type"] == "screen" and f["typing"]["by"] == "the test")


def test_scrollback_is_given_in_rows(entry: Entry) -> None:
    with watching(entry, "screen") as viewer:
        viewer.ask(keys=["lines 60", "Enter"])
        viewer.until_text("line 60")
        history = viewer.screen["history"]
        assert history >= 20
        found = viewer.ask(rows={"first": history - 15, "count": 10})
        texts = ["".join(span["text"] for span in row) for row in found["rows"]]
        assert len(texts) == 10 and all(text.startswith("line ") for text in texts)
        assert viewer.ask(rows={"first": 10**9, "count": 10})["rows"] == []


def test_a_question_is_seen_and_answered_once(entry: Entry) -> None:
    with watching(entry, "question", "task", "screen") as viewer:
        assert viewer.until(lambda f: f["type"] == "question")["question"] is None
        task_id = viewer.ask(send="confirm Delete it?")["task"]["id"]
        asked = viewer.until(lambda f: f["type"] == "question" and f["question"])["question"]
        assert "Delete it?" in asked["text"] and asked["options"]
        assert viewer.ask(answer={"question": "other", "answer": "y"})["code"] == "QUESTION_GONE"
        assert viewer.ask(answer={"answer": "y"})["code"] == "BAD_MESSAGE"
        assert viewer.ask(answer={"question": asked["id"], "answer": "y"})["type"] == "ok"
        assert viewer.ask(answer={"question": asked["id"], "answer": "y"})["code"] == "QUESTION_GONE"
        if not any(is_end(task_id)(frame) for frame in viewer.frames):  # it may come before the last response
            viewer.until(is_end(task_id))
        assert [f for f in viewer.frames if f["type"] == "question"][-1]["question"] is None


def test_a_paste_is_one_paste(agent: Agent, entry: Entry) -> None:
    with watching(entry, "screen") as viewer:
        viewer.until_text("dummy>")
        viewer.ask(paste="say pasted")
        viewer.until_text("dummy> say pasted")
        viewer.ask(keys=["Enter"])
        viewer.until_text("\npasted")


@pytest.mark.parametrize(
    ("frame", "code", "words"),
    [
        ("{", "BAD_FRAME", "not JSON"),
        ("[1]", "BAD_FRAME", "JSON object"),
        ("[" * 100_000, "BAD_FRAME", "not JSON"),
        ('{"id": 7}', "BAD_FRAME", "one of subscribe"),
        ('{"id": 7, "send": "a", "keys": []}', "BAD_FRAME", "one of subscribe"),
        ('{"id": 7, "subscribe": ["all"]}', "BAD_FRAME", "list of status"),
        ('{"id": 7, "subscribe": {}}', "BAD_FRAME", "list of status"),
        ('{"id": 7, "subscribe": [], "after": "x"}', "BAD_FRAME", "number n"),
        ('{"id": 7, "send": {}}', "BAD_MESSAGE", "message"),
        ('{"id": 7, "send": 5}', "BAD_MESSAGE", "text or an object"),
        ('{"id": 7, "send": ""}', "BAD_MESSAGE", "empty"),
        ('{"id": 7, "send": {"message": "a", "priority": 9}}', "BAD_MESSAGE", "1 to 5"),
        ('{"id": 7, "send": {"message": "a", "priority": "high"}}', "BAD_MESSAGE", "1 to 5"),
        ('{"id": 7, "keys": "Enter"}', "BAD_MESSAGE", "list"),
        ('{"id": 7, "paste": 1}', "BAD_MESSAGE", "text"),
        ('{"id": 7, "rows": {"first": -1}}', "BAD_MESSAGE", "first"),
        ('{"id": [], "rows": {"first": 1}}', "BAD_MESSAGE", "id"),
        (b"\x00\x01", "BAD_FRAME", "binary"),
    ],
)
def test_a_bad_frame_is_an_error_and_the_connection_stays(
    entry: Entry, frame: str | bytes, code: str, words: str
) -> None:
    with watching(entry) as viewer:
        viewer.socket.send(frame)
        error = viewer.until(lambda f: f["type"] == "error")
        assert error["code"] == code and words in error["detail"]
        assert viewer.ask(subscribe=["status"])["type"] == "ok"


def test_a_frame_that_is_too_large_closes_the_connection(entry: Entry) -> None:
    with watching(entry) as viewer:
        with pytest.raises(ConnectionClosed) as closed:
            viewer.socket.send("x" * (3 * 1024 * 1024))
            viewer.next()
        # The kernel may drop the close frame: what the client still sends is not read.
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009


def refused(entry: Entry, **headers: str) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as found, watching(entry, additional_headers=headers):
        pass
    response = found.value.response
    return response.status_code, str(json.loads(response.body or b"{}").get("detail"))


def test_a_page_of_another_site_is_refused(entry: Entry) -> None:
    for origin in ("http://evil.example", "null", f"http://localhost:{entry['port']}0"):
        with pytest.raises(InvalidStatus) as found, watching(entry, origin=origin):
            pass
        assert found.value.response.status_code == 403
        assert b"page of another site" in (found.value.response.body or b"")


def test_a_foreign_host_is_refused(entry: Entry) -> None:
    port = int(str(entry["port"]))
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(
            b"GET /ws HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        assert sock.recv(100).startswith(b"HTTP/1.1 403 ")


def test_connections_that_have_ended_do_not_count() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    with serving(app, at_most(2)) as port:
        entry: Entry = {"port": port}
        for _ in range(40):
            with watching(entry):
                pass
        with watching(entry), watching(entry):
            status, sentence = refused(entry)
            assert status == 503 and "too many connections" in sentence


def test_a_plain_request_is_told_what_this_is(agent: Agent) -> None:
    response = agent.http.get("/ws")
    assert response.status_code == 426 and "WebSocket" in response.json()["detail"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_another_user_is_refused(entry: Entry) -> None:
    def connect() -> list[object]:
        try:
            with watching(entry):
                return [101, ""]
        except InvalidStatus as error:
            return [error.response.status_code, (error.response.body or b"").decode()]

    status, body = as_nobody(connect)
    assert status == 403 and "only the user who started this agent" in body


def test_with_a_token_only_those_who_have_it(home: Home) -> None:
    (home.path / "token").write_text("a-long-enough-secret-token")
    (home.path / "token").chmod(0o600)
    home.run("start", "dummy", "--name", "a", "--token-file", str(home.path / "token"))
    entry = home.agents()["a"]
    status, sentence = refused(entry)
    assert status == 401 and "Authorization: Bearer TOKEN" in sentence
    assert refused(entry, Authorization="Bearer wrong")[0] == 401
    good = {"Authorization": "Bearer a-long-enough-secret-token"}
    with watching(entry, "status", additional_headers=good) as viewer:
        assert viewer.until(lambda f: f["type"] == "status")
    with watching(entry, "status", private=True) as viewer:  # the Unix socket needs none
        assert viewer.until(lambda f: f["type"] == "status")


def test_fifty_viewers_see_the_same_and_a_flood_comes_as_frames(agent: Agent, entry: Entry) -> None:
    with ExitStack() as stack:
        viewers = [stack.enter_context(watching(entry, "screen")) for _ in range(50)]
        control.call(entry, "POST", "/terminal/keys", {"keys": ["lines 20000", "Enter"]})
        for viewer in viewers:
            viewer.until_text("line 20000")
        wait(lambda: agent.home.agents()["a"]["status"] == "READY", "READY")
        shown = agent.home.run("screen", "a").stdout.rstrip("\n")
        for viewer in viewers:
            while viewer.text != shown:
                viewer.next()
            assert len(of(viewer.frames, "screen")) < 5000  # frames, not lines


def test_a_viewer_that_does_not_read_holds_nobody_up(agent: Agent, entry: Entry) -> None:
    with watching(entry, "screen", "task") as asleep, watching(entry, "screen") as awake:
        sock = asleep.socket.socket
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(5):
            awake.ask(keys=["lines 3000", "Enter"])
            awake.until_text("line 3000")
            awake.ask(keys=["clear", "Enter"])
        assert agent.reply("say still here") == "still here"


def test_a_large_screen(home: Home) -> None:
    (home.path / "wide.py").write_text("print('x' * 60000, flush=True)\ninput()\n")
    home.profile("wide", f"command: [python3, {home.path / 'wide.py'}]")
    with home.terminal("wide", cols=300, rows=200) as terminal:
        terminal.wait_for("x" * 300)
        with watching(home.agents()["wide"], "screen") as viewer:
            viewer.until_text("x" * 300)
            assert (viewer.screen["cols"], viewer.screen["lines"]) == (300, 200)


def test_a_resize_is_a_new_snapshot(home: Home) -> None:
    with home.terminal("dummy", "--name", "a") as terminal:
        terminal.wait_for("dummy>")
        with watching(home.agents()["a"], "screen") as viewer:
            viewer.until_text("dummy>")
            terminal.resize(100, 30)
            viewer.until(lambda f: f["type"] == "screen" and f["cols"] == 100)
            assert viewer.screen["snapshot"] and viewer.screen["lines"] == 30


def test_the_next_host_serves_the_viewers_that_come_back(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    entry = home.agents()["a"]
    with watching(entry, "status") as viewer:
        last = viewer.until(lambda f: f["type"] == "status")["n"]
        (host,) = hosts(home, "a")
        os.kill(host, signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            while True:
                viewer.next()

    def again() -> bool:
        try:
            with watching(entry) as viewer:
                viewer.ask(subscribe=["status"], after=last)
                viewer.until(lambda f: f["type"] == "lagged")
                return bool(viewer.until(lambda f: f["type"] == "status")["n"] > last)
        except (OSError, ConnectionClosed, EOFError):
            return False

    wait(again, "the next host")


def test_the_python_example_of_the_page_works(agent: Agent, entry: Entry) -> None:
    page = (Path(__file__).parents[3] / "docs" / "websocket.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.S)
    example = example.replace("localhost:8100", f"127.0.0.1:{entry['port']}")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=60)
    assert "What is this project about?" in done.stdout, done.stderr


def test_the_protocol_is_not_loaded_before_it_is_asked_for(home: Home) -> None:
    home.run("start", "dummy", "--name", "a")
    agent = Agent(home)
    with agent.http:
        assert agent.reply("say hi") == "hi"
    (host,) = hosts(home, "a")

    def loaded() -> bool:
        with open(f"/proc/{host}/maps") as maps:
            return "websockets/speedups" in maps.read()

    assert not loaded()
    with watching(home.agents()["a"], "status"):
        assert loaded()
