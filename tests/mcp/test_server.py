"""`synapse mcp` with the client of the official SDK, over standard input and output, and real agents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

from synapse.mcp import server
from synapse.peers.task import A2ATask
from tests.support import no_connect
from tests.support.home import SYNAPSE, Home, new_home, wait
from tests.support.patience import PATIENCE

TOOLS = {
    "list_agents", "send_message", "ask_agent", "get_task", "list_questions", "answer_question",
    "interrupt_agent",
}  # fmt: skip
Use = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module")
def shared() -> Iterator[Home]:
    with new_home() as home:
        for name in ("a", "b"):
            home.run("start", "dummy", "--name", name)
        yield home


def use(home: Home, call: Use, **more: str) -> Any:
    """What `call` returns with a client whose server has these variables."""

    async def main() -> Any:
        started = StdioServerParameters(
            command=SYNAPSE[0], args=[*SYNAPSE[1:], "mcp"], env={**home.env, **more}, cwd=home.work
        )
        async with asyncio.timeout(2 * PATIENCE), Client(stdio_client(started)) as client:
            return await call(client)

    return asyncio.run(main())


async def tool(client: Client, name: str, /, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    text = "".join(getattr(part, "text", "") for part in result.content)
    assert not result.is_error, text
    return dict(json.loads(text))


async def refusal(client: Client, name: str, /, **arguments: object) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return "".join(getattr(part, "text", "") for part in result.content)


def test_the_tools_are_listed_with_a_description(shared: Home) -> None:
    async def call(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = use(shared, call)
    assert {each.name for each in tools} == TOOLS
    assert all(each.description for each in tools)


def test_an_agent_is_asked_and_its_reply_returned(shared: Home) -> None:
    async def call(client: Client) -> Any:
        listed = await tool(client, "list_agents")
        return listed, await tool(client, "ask_agent", agent="b", message="say hello")

    listed, reply = use(shared, call)
    assert [agent["name"] for agent in listed["agents"]] == ["a", "b"] and listed["you_are"] is None
    assert (reply["state"], reply["reply"], reply["agent"]) == ("completed", "hello", "b")


def test_progress_is_reported_while_it_waits(shared: Home) -> None:
    notes: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        notes.append(message or "")

    async def call(client: Client) -> Any:
        arguments = {"agent": "b", "message": "silent 1 done"}
        await client.call_tool("ask_agent", arguments, progress_callback=progress)

    use(shared, call)
    assert notes[0] == "sent to b" and any("working" in note for note in notes)


def test_after_its_timeout_the_task_is_returned_and_goes_on(shared: Home) -> None:
    async def call(client: Client) -> Any:
        asked = await tool(client, "ask_agent", agent="b", message="silent 2 late", timeout=0.5)
        while (found := await tool(client, "get_task", task=asked["task"]))["state"] != "completed":
            await asyncio.sleep(0.1)
        return asked, found

    asked, found = use(shared, call)
    assert asked["state"] in ("submitted", "working") and "goes on" in asked["note"]
    assert found["reply"] == "late"


def test_a_client_that_leaves_does_not_end_the_task(shared: Home) -> None:
    async def call(client: Client) -> Any:
        asking = asyncio.ensure_future(
            client.call_tool("ask_agent", {"agent": "b", "message": "silent 2 survived"})
        )
        while not any(entry["status"] == "PROCESSING" for entry in shared.agents().values()):
            await asyncio.sleep(0.02)
        asking.cancel()

    use(shared, call)

    def last() -> Any:
        return json.loads(shared.run("tasks", "b", "--json").stdout)[0]

    wait(lambda: last()["state"] == "completed", "the end of the task")
    assert "survived" in json.dumps(last()["artifacts"])


@pytest.mark.parametrize("input_too", [False, True])
def test_a_client_that_reads_no_more_ends_the_server_quietly_and_not_the_task(
    shared: Home, input_too: bool
) -> None:
    process = subprocess.Popen(
        [*SYNAPSE, "mcp"],
        env=shared.env,
        cwd=shared.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    message = f"silent 4 nobody reads{input_too}"
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    asked = {"name": "ask_agent", "arguments": {"agent": "b", "message": message}}
    for request in (
        {"id": 1, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {**asked, "_meta": {"progressToken": 1}}},
    ):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
    process.stdin.flush()

    def last() -> Any:
        return json.loads(shared.run("tasks", "b", "--json").stdout)[0]

    wait(lambda: message in json.dumps(last()) and last()["state"] == "working", "the task")
    if input_too:
        process.stdin.close()
    process.stdout.close()
    assert process.wait(PATIENCE) in (0, 1) and process.stderr.read() == ""
    process.stderr.close()
    if not input_too:
        process.stdin.close()
    wait(lambda: last()["state"] == "completed", "the end of the task")
    assert f"nobody reads{input_too}" in json.dumps(last()["artifacts"])


def test_a_message_is_sent_without_waiting(shared: Home) -> None:
    async def call(client: Client) -> Any:
        sent = await tool(client, "send_message", agent="b", message="say quietly")
        while (found := await tool(client, "get_task", task=sent["task"][:8]))["state"] != "completed":
            await asyncio.sleep(0.05)
        return found

    found = use(shared, call)
    assert (found["reply"], found["agent"]) == ("quietly", "b")


def test_a_task_of_another_machine_is_found_under_the_id_that_is_shown(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = A2ATask("0123abcd-1", "working", agent="codex@box")
    shown = server.task_shown(late)
    assert shown["task"] == "0123abcd-1@box"

    def there(task_id: str) -> tuple[dict[str, str], dict[str, str]]:
        assert task_id == "0123abcd-1@box"
        return {"name": "codex@box"}, {"id": "0123abcd-1", "status": "completed"}

    monkeypatch.setattr(server, "find_task_there", there)
    found = asyncio.run(server.find_any_task(shown["task"]))
    assert server.task_shown(found) == {"task": shown["task"], "state": "completed", "agent": "codex@box"}


def test_questions_are_listed_and_answered(shared: Home) -> None:
    async def call(client: Client) -> Any:
        asked = await tool(client, "ask_agent", agent="b", message="confirm really?")
        [question] = (await tool(client, "list_questions"))["questions"]
        await tool(client, "answer_question", question=question["id"], answer="y")
        while (found := await tool(client, "get_task", task=asked["task"]))["state"] != "completed":
            await asyncio.sleep(0.05)
        return asked, found

    asked, found = use(shared, call)
    assert asked["state"] == "input_required" and "really?" in asked["question"]["prompt"]
    assert found["reply"] == "Confirmed."


def test_an_agent_is_interrupted(shared: Home) -> None:
    async def call(client: Client) -> Any:
        sent = await tool(client, "send_message", agent="b", message="honour 60 never")
        while (await tool(client, "get_task", task=sent["task"]))["state"] != "working":
            await asyncio.sleep(0.05)
        while not (await tool(client, "interrupt_agent", agent="b"))["interrupted"]:
            await asyncio.sleep(0.05)

    use(shared, call)
    wait(lambda: shared.agents()["b"]["status"] == "READY", "b to be idle")


def test_what_an_agent_sends_is_signed_by_it_and_it_may_not_wait_for_itself(shared: Home) -> None:
    async def call(client: Client) -> Any:
        listed = await tool(client, "list_agents")
        sent = await tool(client, "ask_agent", agent="b", message="a2a-mark")
        return listed["you_are"], sent["reply"], await refusal(client, "ask_agent", agent="a", message="hi")

    me, mark, why = use(shared, call, **shared.inside("a"))
    assert me == "a" and mark.endswith(":a]") and "waits for an answer" in why


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("ask_agent", {"agent": "nobody", "message": "hi"}, "no agent named 'nobody'"),
        ("ask_agent", {"agent": "all", "message": "hi"}, "'all' is more than one agent: name one of them"),
        ("ask_agent", {"agent": "b"}, "ask_agent was not called, because of message: field required"),
        ("send_message", {"agent": "b", "message": ""}, "message: string should have at least 1 character"),
        ("send_message", {"agent": "b", "message": "x", "priority": 9}, "priority: input should be less"),
        ("get_task", {"task": "ffff"}, "there is no task"),
        ("answer_question", {"question": "ffff", "answer": "y"}, "nobody asks a question"),
        ("interrupt_agent", {"agent": "nobody"}, "no agent named 'nobody'"),
    ],
)
def test_what_is_wrong_is_said_to_the_model(
    shared: Home, name: str, arguments: dict[str, object], sentence: str
) -> None:
    async def call(client: Client) -> str:
        return await refusal(client, name, **arguments)

    said = use(shared, call)
    assert sentence in said and "\n" not in said and "http" not in said


def test_without_the_extra_one_sentence_says_how_to_get_it(home: Home) -> None:
    hidden = (
        "import sys; sys.modules['mcp'] = None; from synapse.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run([sys.executable, "-c", hidden], env=home.env, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "pip install 'a2a-synapse[mcp]'" in done.stderr


@pytest.mark.skipif(not no_connect.AVAILABLE, reason="needs a seccomp filter")
def test_in_a_sandbox_without_connections_it_says_so_and_does_not_hang(home: Home) -> None:
    command = [SYNAPSE[0], no_connect.__file__, *SYNAPSE, "mcp"]
    done = subprocess.run(
        command, env=home.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "use `synapse send`, which works there" in done.stderr
