"""`synapse external`, and `/external/*` of a real agent, against a real agent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.support.fake_agent import Answering, FakeAgent, fake_agent, never, says
from tests.support.home import SYNAPSE, Home, wait
from tests.support.serving import ask


async def sun(request: Answering) -> None:
    if "fail" in json.dumps(request.body):
        await request.result({"task": {"id": "t1", "status": {"state": "TASK_STATE_FAILED"}}})
    elif "please ask" in json.dumps(request.body):
        await request.result({"task": {"id": "t1", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}})
    else:
        found = says("sun\x1b[2J")
        await request.result(found["task"] if request.body["method"] == "GetTask" else found)


def weather(fake: FakeAgent) -> None:
    fake.card(capabilities={})
    fake.on["/rpc"] = sun


def test_an_api_key_from_standard_input_or_the_environment(home: Home) -> None:
    seen: list[str | None] = []

    async def answer(request: Answering) -> None:
        seen.append(request.headers.get("x-api-key"))
        await request.result(says("sun"))

    with fake_agent() as fake:
        fake.card(capabilities={})
        fake.on["/rpc"] = answer
        home.run("external", "add", fake.url, "--alias", "w", "--api-key-file", "-", input="one\n")
        home.run("external", "send", "w", "rain?")
        home.run("external", "add", fake.url, "--alias", "w", "--api-key-file", "env:KEY", KEY="two")
        home.run("external", "send", "w", "rain?")
        for words in (["--client-id", "me"], ["--api-key-file", "env:NONE"], ["--client-secret-file", "-"]):
            refused = home.run("external", "add", fake.url, *words, check=False)
            assert refused.returncode == 2 and refused.stderr.startswith("synapse: ")
        both = ["--api-key-file", "-", "--client-id", "me"]
        assert home.run("external", "add", fake.url, *both, check=False).returncode == 2
    assert seen == ["one", "two"]


def test_add_list_send_remove(home: Home, tmp_path: Path) -> None:
    with fake_agent() as fake:
        weather(fake)
        token = tmp_path / "token"
        token.write_text("s3cret\n")
        token.chmod(0o600)
        assert "no external agent is registered" in home.run("external", "list").stdout
        assert home.run("external", "list", "--json").stdout == "[]\n"
        added = home.run("external", "add", fake.url, "--alias", "w", "--token-file", str(token)).stdout
        assert added == f"w: Weather, A2A 1.0 JSONRPC at {fake.url}/rpc\n"
        listed = home.run("external", "list")
        assert fake.url in listed.stdout and "s3cret" not in listed.stdout
        (shown,) = json.loads(home.run("external", "list", "--json").stdout)
        assert shown["alias"] == "w" and "s3cret" not in json.dumps(shown)

        sent = home.run("external", "send", "w", "rain", "today?")
        assert sent.stdout == "sun^[[2J\n" and sent.stderr == ""
        said = fake.calls("/rpc")[-1]
        assert said.body["params"]["message"]["parts"] == [{"text": "rain today?"}]
        assert said.headers["authorization"] == "Bearer s3cret"
        assert (
            json.loads(home.run("external", "send", "w", "--json", "rain?").stdout)["status"] == "completed"
        )
        home.run("external", "send", "w", "--", "--help me")
        assert fake.calls("/rpc")[-1].body["params"]["message"]["parts"] == [{"text": "--help me"}]
        home.run("external", "send", "w", "two", "--timeout", "9", "--task", "t1", "words", "--json")
        assert fake.calls("/rpc")[-1].body["params"]["message"]["parts"] == [{"text": "two words"}]
        assert home.run("external", "task", "w", "t1").stdout == "sun^[[2J\n"
        assert home.run("external", "send", "w", "--task", "t1", "yes").stdout == "sun^[[2J\n"
        assert fake.calls("/rpc")[-1].body["params"]["message"]["taskId"] == "t1"

        sent = home.run("send", "w", "--no-wait", "rain?")
        assert "`synapse external task w " in sent.stdout, "`synapse task` knows nothing of it"
        asks = home.run("send", "w", "--return", "please ask", check=False)
        assert asks.returncode == 5 and "`synapse external send w --task t1" in asks.stderr

        assert home.run("external", "remove", "W").stdout == "forgot W\n"
        assert os.listdir(home.path / "a2a" / "external") == []


def test_a_reply_from_elsewhere_is_printed_as_it_comes(home: Home) -> None:
    """Each piece on a terminal, before the next one is there; in a pipe the whole reply and nothing else."""
    go_on = threading.Event()

    async def pieces(request: Answering) -> None:
        await request.begin()
        await request.event(says("", "TASK_STATE_WORKING"))
        for text in ("Rain at first, ", "and then \x1b[31mthe 太陽.", " No wind."):
            part = {"artifactId": "reply", "parts": [{"text": text}]}
            await request.event({"artifactUpdate": {"taskId": "t1", "append": True, "artifact": part}})
            while not go_on.is_set():
                await asyncio.sleep(0.01)
        state = {"state": "TASK_STATE_COMPLETED"}
        await request.event({"statusUpdate": {"taskId": "t1", "status": state}})
        await request.end()

    with fake_agent() as fake:
        fake.card()
        fake.on["/rpc"] = pieces
        home.run("external", "add", fake.url, "--alias", "w")
        with home.terminal("send", "w", "--return", "rain?") as terminal:
            terminal.wait_for("Rain at first,")
            assert "and then" not in terminal.screen.text()
            go_on.set()
            terminal.wait_for("the 太陽. No wind.")
            assert terminal.wait_exit() == 0
            assert terminal.screen.text().strip() == "Rain at first, and then ^[[31mthe 太陽. No wind."
        done = home.run("send", "w", "--return", "rain?")
        assert (done.stdout, done.stderr) == ("Rain at first, and then \x1b[31mthe 太陽. No wind.\n", "")
        task = json.loads(home.run("send", "w", "--return", "--json", "rain?").stdout)
        assert (task["status"], task["artifacts"][0]["data"]) == ("completed", done.stdout.strip())
        assert [request.body["method"] for request in fake.calls("/rpc")] == ["SendStreamingMessage"] * 3


def test_what_an_agent_elsewhere_asks_is_asked_at_once_on_a_terminal(home: Home) -> None:
    async def careful(request: Answering) -> None:
        said = request.body["params"].get("message", {})
        ask = {"role": "ROLE_AGENT", "messageId": "m", "parts": [{"text": "Really delete it?"}]}
        state = {"state": "TASK_STATE_INPUT_REQUIRED", "message": ask}
        asking = {"id": "t1", "contextId": "c", "status": state}
        if request.body["method"] == "GetTask":
            await request.result(asking)
        elif said.get("taskId") == "t1" and said["parts"] == [{"text": "no"}]:
            error = {"code": -32602, "message": "only yes will do"}
            await request.json({"jsonrpc": "2.0", "id": 1, "error": error})
        elif said.get("taskId") == "t1":
            await request.result(says("done, as you like"))
        else:
            await request.result({"task": asking})

    with fake_agent() as fake:
        fake.card(capabilities={})
        fake.on["/rpc"] = careful
        home.run("external", "add", fake.url, "--alias", "w")
        with home.terminal("send", "w", "--return", "delete it") as terminal:
            terminal.wait_for("Really delete it?")
            terminal.wait_for("answer:")
            terminal.type("no\r")
            terminal.wait_for("only yes will do")
            terminal.wait(lambda: terminal.screen.text().count("answer:") == 2, "the question again")
            terminal.type("yes\r")
            terminal.wait_for("done, as you like")
            assert terminal.wait_exit() == 0


def slow(fake: FakeAgent, refuses: bool = False) -> None:
    """An agent that works for ever on one task, until that is canceled."""
    state = "TASK_STATE_WORKING"

    async def answer(request: Answering) -> None:
        nonlocal state
        if request.body["method"] == "CancelTask" and refuses:
            error = {"code": -32002, "message": "too late to cancel"}
            await request.json({"jsonrpc": "2.0", "id": 1, "error": error})
            return
        if request.body["method"] == "CancelTask":
            state = "TASK_STATE_CANCELED"
        task = {"id": "t1", "contextId": "c", "status": {"state": state}}
        await request.result(task if request.body["method"] in ("GetTask", "CancelTask") else {"task": task})

    fake.card(capabilities={})
    fake.on["/rpc"] = answer


def asked(fake: FakeAgent, method: str) -> bool:
    return any(request.body["method"] == method for request in fake.calls("/rpc"))


@pytest.mark.parametrize("words", [("send", "w", "--return", "hi"), ("external", "send", "w", "hi")])
def test_ctrl_c_asks_whether_the_task_elsewhere_is_to_be_canceled(home: Home, words: tuple[str, ...]) -> None:
    for refuses, told in ((False, "canceled t1"), (True, "too late to cancel")):
        with fake_agent() as fake:
            slow(fake, refuses)
            home.run("external", "add", fake.url, "--alias", "w")
            with home.terminal(*words, cols=160) as terminal:
                wait(lambda: asked(fake, "GetTask"), "the client to know the task")
                terminal.type("\x03")
                terminal.wait_for("w goes on with it. Cancel the task? [y/N]")
                terminal.type("y\r")
                terminal.wait_for(told)
                assert terminal.wait_exit() == 130
                assert refuses == ("`synapse external task w t1` shows" in terminal.screen.text())
            assert asked(fake, "CancelTask")
            home.run("external", "remove", "w")


def test_ctrl_c_without_a_terminal_says_how_to_cancel(home: Home) -> None:
    with fake_agent() as fake:
        slow(fake)
        home.run("external", "add", fake.url, "--alias", "w")
        for words in (("send", "w", "--return", "hi"), ("external", "send", "w", "hi")):
            fake.seen.clear()
            with subprocess.Popen(
                [*SYNAPSE, *words], env=home.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            ) as sending:
                wait(lambda: asked(fake, "GetTask"), "the client to know the task")
                sending.send_signal(signal.SIGINT)
                _, said = sending.communicate(timeout=30)
            assert sending.returncode == 130 and not asked(fake, "CancelTask")
            assert said == (
                "w goes on: `synapse external task w t1` shows the reply, "
                "`synapse external cancel w t1` cancels the task\n"
            )
        assert home.run("external", "cancel", "w", "t1").stdout == "t1 is canceled\n"


def test_ctrl_c_before_an_agent_elsewhere_has_answered(home: Home) -> None:
    with fake_agent() as fake:
        fake.card()
        fake.on["/rpc"] = never
        home.run("external", "add", fake.url, "--alias", "w")
        with home.terminal("send", "w", "--return", "hi") as terminal:
            wait(lambda: fake.calls("/rpc"), "the message")
            terminal.type("\x03")
            terminal.wait_for("whether w got the message is not known")
            assert terminal.wait_exit() == 130


def test_what_goes_wrong_is_one_sentence_and_a_status(home: Home, tmp_path: Path) -> None:
    with fake_agent() as fake:
        weather(fake)
        home.run("external", "add", fake.url, "--alias", "w")
        open_token = tmp_path / "token"
        open_token.write_text("s3cret")
        open_token.chmod(0o644)
        for words, status, sentence in [
            (("send", "nobody", "hi"), 3, "no external agent is registered as 'nobody'"),
            (("remove", "nobody"), 3, "'nobody'"),
            (("send", "w", " "), 2, "there is no message"),
            (("send", "w", "the", "--colour"), 2, "`--` ends the flags"),
            (("send", "w", "--colour"), 2, "--colour is no flag (nearest: --timeout; "),
            (("send", "w"), 2, "there is no message"),
            (("list", "--colour"), 2, "unrecognized"),
            (("send", "w", "--timeout", "0", "hi"), 2, "--timeout"),
            (("send", "w", "please fail"), 1, "w: the agent failed"),
            (
                ("send", "w", "please ask"),
                5,
                "asks: something\nanswer it with `synapse external send w --task t1",
            ),
            (("add", "http://127.0.0.1:9"), 1, "cannot be reached"),
            (("add", fake.url, "--alias", "all"), 2, "cannot be an alias"),
            (("add", fake.url, "--token-file", str(open_token)), 2, "nobody else can read"),
            ((), 2, "add|list|remove|send|task"),
        ]:
            done = home.run("external", *words, check=False)
            assert (done.returncode, done.stdout) == (status, ""), (words, done)
            assert sentence in done.stderr and "Traceback" not in done.stderr, (words, done.stderr)


def test_unreachable_and_changed_cards_are_said(home: Home) -> None:
    with fake_agent() as fake:
        weather(fake)
        home.run("external", "add", fake.url, "--alias", "w")
        assert "w:" not in home.run("external", "list", "--check").stdout
        fake.card(version="2")
        assert "w: its card changed" in home.run("external", "list", "--check").stdout
        assert "version" in home.run("external", "add", fake.url).stderr
    (gone,) = json.loads(home.run("external", "list", "--check", "--json").stdout)
    assert "cannot be reached" in gone["check"]


def test_help_prints_help(home: Home) -> None:
    for words in ((), ("add",), ("list",), ("remove",), ("send",), ("task",)):
        assert home.run("external", *words, "--help").stdout.startswith("usage: synapse external")


@pytest.mark.parametrize("wait", [True, False])
def test_a_real_agent_writes_to_another_by_its_card(home: Home, wait: bool) -> None:
    home.run("start", "dummy", "--name", "a")
    home.run("start", "dummy", "--name", "b")
    a, b = (home.agents()[name] for name in "ab")

    def post(path: str, body: object) -> tuple[int, dict[str, str], dict[str, object]]:
        sent = json.dumps(body).encode()
        return ask(int(str(a["port"])), path, "POST", sent, {"Content-Type": "application/json"})

    status, _, found = post("/external/discover", {"url": b["endpoint"], "alias": "other"})
    assert (status, found["name"], found["protocol"]) == (200, "b", "1.0"), found
    status, _, answer = post("/external/agents/other/send", {"message": "say hello", "wait": wait})
    task = answer["task"]
    assert status == 200 and isinstance(task, dict)
    assert not wait or task["artifacts"][0]["data"] == "hello"
    _, _, there = ask(int(str(b["port"])), f"/tasks/{task['id']}")
    assert there["sender"] == {"id": a["agent_id"], "name": "a"}
    assert there["message"]["metadata"]["synapse"]["hops"] == [a["agent_id"]]
    status, _, refused = post("/external/discover", {"url": "http://10.0.0.1"})
    assert (status, refused["code"]) == (400, "BAD_MESSAGE") and "private network" in str(refused["detail"])
    status, _, refused = post("/external/discover", {"url": "http://127.0.0.1:9"})
    assert (status, refused["code"]) == (502, "EXTERNAL_FAILED")


def test_a_real_agent_refuses_loops(home: Home) -> None:
    home.run(
        "start", "dummy", "--name", "a", SYNAPSE_ROUTING__MAX_HOPS="2", SYNAPSE_ROUTING__PAIR_PER_MINUTE="3"
    )
    agent = home.agents()["a"]

    def send(**synapse: object) -> tuple[int, dict[str, str], dict[str, object]]:
        body = json.dumps({"message": "thank you", "metadata": {"synapse": synapse}}).encode()
        return ask(int(str(agent["port"])), "/tasks/send", "POST", body, {"Content-Type": "application/json"})

    assert send(hops=["x", "y", "z"])[0] == 409
    mine = str(agent["agent_id"])
    status, _, refused = send(hops=[mine, "x"], waiting=[mine, "x"])
    assert (status, refused["code"]) == (409, "LOOP") and "waits for" in str(refused["detail"])
    assert [send(hops=["x"])[0] for _ in range(3)] == [200] * 3
    status, headers, refused = send(hops=["x"])
    assert (status, refused["code"]) == (429, "LOOP") and headers["retry-after"]
    assert "refused" in home.log("a")
