"""Tasks on their way to a real agent and back: what a sender sees, whatever happens in between."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from synapse.agents.base import HOOK
from synapse.agents.facts import PromptAccepted, TurnEnded
from synapse.delivery.carry import Carry, advised
from synapse.delivery.courier import Delivery
from synapse.delivery.gate import HALF_TYPED, refusal
from synapse.delivery.questions import Questions
from synapse.relay.wire import DONE
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from synapse.tasks.task import text_message
from tests.support.fake_agent import Answering, fake_agent
from tests.support.home import Home, hosts, wait
from tests.support.running import Agent, Lasting, start
from tests.support.terminals import agent_terminal

MODES: dict[str, tuple[str, ...]] = {
    "line": (),
    "tui": ("--tui",),
    "alternate screen": ("--alt-screen",),
    "screen only": ("--tui", "--mute"),
}

QUICK = "idle_detection: {strategy: timeout, timeout: 0.5}\n"  # instead of after 2 s of silence
# What the queue does is the same in every mode: one that reports its turns, and one that does not.
in_two_modes = pytest.mark.parametrize("lasting", ["tui", "screen only"], indirect=True)
# So is what a sender is told while a message waits.
in_two_quick_modes = pytest.mark.parametrize("lasting", ["line", "tui"], indirect=True)


@pytest.fixture(scope="module", params=MODES)
def lasting(request: pytest.FixtureRequest) -> Iterator[Lasting]:
    with Lasting(*MODES[request.param]) as made:
        yield made


@pytest.fixture
def agent(lasting: Lasting) -> Iterator[Agent]:
    with lasting.lent() as agent:
        yield agent


@pytest.fixture(scope="module")
def lasting_tui() -> Iterator[Lasting]:
    with Lasting("--tui") as made:
        yield made


@pytest.fixture
def tui(lasting_tui: Lasting) -> Iterator[Agent]:
    with lasting_tui.lent() as agent:
        yield agent


@pytest.fixture
def own(home: Home) -> Iterator[Agent]:
    """One that the test may break."""
    with start(home, "--tui") as agent:
        yield agent


def steps(task: dict[str, Any]) -> list[str]:
    return [receipt["step"] for receipt in task["receipts"]]


def test_a_reply_comes_back_whole(agent: Agent) -> None:
    task = agent.until(agent.send("say いろは\\n\\n```python\\nprint(1)\\n```\\nend"))
    assert task["artifacts"][0]["data"] == "いろは\n\n```python\nprint(1)\n```\nend"
    assert [a["type"] for a in task["artifacts"][1:]] == ["text", "code", "text"]
    assert all(a["metadata"]["derived"] for a in task["artifacts"][1:])
    assert steps(task)[:4] == ["queued", "typing", "submitted", "confirmed"]


def test_a_message_carries_its_mark(agent: Agent) -> None:
    task = agent.send("a2a-mark")
    assert agent.until(task)["artifacts"][0]["data"] == f"[A2A:{task[:8]}:user]"


@in_two_modes
def test_one_at_a_time_by_priority_and_arrival(agent: Agent) -> None:
    tasks = [agent.send("silent 0.5 first"), agent.send("say b"), agent.send("say c", 3), agent.send("say d")]
    done = [agent.until(task) for task in tasks]
    assert [d["artifacts"][0]["data"] for d in done] == ["first", "b", "c", "d"]
    begun = sorted(
        range(4), key=lambda n: next(r["at"] for r in done[n]["receipts"] if r["step"] == "typing")
    )
    assert begun == [0, 2, 1, 3]


def test_a_question_is_answered_through_its_task(agent: Agent) -> None:
    task = agent.send("confirm Shall I?")
    asked = agent.until(task, "input_required")
    assert "Shall I?" in asked["prompt"]["prompt"] and asked["prompt"]["type"] == "confirmation"
    agent.http.post(f"/tasks/{task}/input", json={"input": "yes"}).raise_for_status()
    assert agent.until(task)["artifacts"][0]["data"] == "Confirmed."


def test_a_reply_is_streamed_in_pieces_and_its_end_told_once(agent: Agent) -> None:
    told: list[dict[str, Any]] = []
    with agent.http.stream("POST", "/tasks/sendSubscribe", json={"message": "lines 12 every 0.08"}) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: ") and "artifact" in (found := json.loads(line[6:])):
                told.append(found)
    texts = [each["artifact"]["parts"][0]["text"] for each in told]
    whole = "\n".join(f"line {number}" for number in range(1, 13))
    assert [each["lastChunk"] for each in told].count(True) == 1 and told[-1]["lastChunk"]
    assert texts[-1] == whole and not told[-1]["append"]
    assert 2 < len(told) < 30 and all("line" in text for text in texts)
    assert not any("Working" in text or "esc to" in text for text in texts)


def statuses(stream: httpx.Response, until: str) -> list[tuple[str, str]]:
    """The states and notes of a stream, up to a note that contains `until`."""
    found = []
    for line in stream.iter_lines():
        data = json.loads(line[6:]) if line.startswith("data: ") else {}
        if "state" in data:
            found.append((data["state"], data.get("note", "")))
            if until in found[-1][1]:
                break
    return found


@in_two_quick_modes
def test_what_waits_behind_a_question_says_so_and_how_many_are_ahead(agent: Agent) -> None:
    asking = agent.send("confirm Shall I?")
    agent.until(asking, "input_required")
    with agent.http.stream("POST", "/tasks/sendSubscribe", json={"message": "say second"}) as stream:
        *_, (state, note) = statuses(stream, "asks something")
    assert state == "submitted" and "Shall I?" in note
    sent = agent.http.post("/tasks/send", json={"message": "say third", "sender": "ci"}).json()["task"]
    assert "asks something" in sent["note"] and sent["note"].endswith("; 2 messages are ahead of it")
    fourth = agent.send("say fourth")
    assert agent.get(fourth)["note"].endswith("; 3 messages are ahead of it")
    agent.http.post(f"/tasks/{asking}/input", json={"input": "yes"}).raise_for_status()
    assert "note" not in agent.until(asking) and "note" not in agent.until(sent["id"])
    done = agent.until(fourth)
    assert done["state"] == "completed"
    with agent.http.stream("GET", f"/tasks/{fourth}/subscribe", headers={"Last-Event-ID": "0"}) as stream:
        notes = [note for _, note in statuses(stream, "never")]
    assert not any("asks" in note for note in notes[-1:])


@in_two_quick_modes
def test_a_busy_agent_says_for_whom(agent: Agent) -> None:
    first = agent.http.post("/tasks/send", json={"message": "silent 60 x", "sender": {"name": "claude"}})
    agent.until(first.json()["task"]["id"], "working")
    assert agent.get(agent.send("say b"))["note"] == "the agent is busy with a task of claude"
    assert agent.get(agent.send("say c"))["note"] == "2 messages are ahead of it"


@in_two_quick_modes
def test_a_message_that_expires_is_never_typed(agent: Agent) -> None:
    asking = agent.send("confirm Shall I?")
    agent.until(asking, "input_required")
    metadata = {"x-synapse-task": {"expires": 0.3}}
    sent = agent.http.post("/tasks/send", json={"message": "say too late", "metadata": metadata})
    short = agent.http.post("/message", json={"content": "say too late", "metadata": metadata})
    for task in (sent.json()["task"]["id"], short.json()["task_id"]):
        failed = agent.until(task)
        assert failed["error"]["code"] == "EXPIRED" and "Shall I?" in failed["error"]["message"]
        assert steps(failed) == ["queued"]
    agent.http.post(f"/tasks/{asking}/input", json={"input": "yes"}).raise_for_status()
    assert agent.reply("say next") == "next" and "too late" not in agent.contents()


def test_an_expiry_that_passes_while_no_host_is_there(own: Agent) -> None:
    own.until(own.send("confirm Shall I?"), "input_required")
    body = {"message": "say too late", "metadata": {"x-synapse-task": {"expires": 2}}}
    task = str(own.http.post("/tasks/send", json=body).json()["task"]["id"])
    for pid in hosts(own.home):
        os.kill(pid, signal.SIGKILL)
    assert own.until(task)["error"]["code"] == "EXPIRED"


@in_two_quick_modes
def test_an_a2a_client_sees_what_its_message_waits_for(agent: Agent) -> None:
    asking = agent.send("confirm Shall I?")
    agent.until(asking, "input_required")
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "say x"}]}
    params = {"message": message, "metadata": {"x-synapse-task": {"expires": 0.5}}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": params}
    results = []
    with agent.http.stream("POST", "/", json=call, headers={"A2A-Version": "1.0"}) as stream:
        for line in stream.iter_lines():
            if line.startswith("data: "):
                results.append(json.loads(line[6:])["result"])
    told = [result["statusUpdate"]["status"] for result in results if "statusUpdate" in result]
    told = [results[0]["task"]["status"], *told]
    waits = next(s for s in told if "message" in s)
    assert waits["state"] == "TASK_STATE_SUBMITTED" and "Shall I?" in waits["message"]["parts"][0]["text"]
    assert told[-1]["state"] == "TASK_STATE_FAILED"
    assert told[-1]["message"]["metadata"]["x-synapse-task"]["error"]["code"] == "EXPIRED"
    agent.http.post(f"/tasks/{asking}/cancel")


def test_who_sent_a_task_may_answer_and_no_agent_may(tui: Agent) -> None:
    def ask(sender: str) -> str:
        sent = tui.http.post("/tasks/send", json={"message": "confirm Go?", "sender": sender})
        task = str(sent.json()["task"]["id"])
        tui.until(task, "input_required")
        return task

    def answer(task: str, sender: str) -> int:
        return tui.http.post(f"/tasks/{task}/input", json={"input": "y", "sender": sender}).status_code

    task = ask("ci")
    assert answer(task, "somebody") == answer(task, "dummy") == answer(task, "a") == 403
    assert answer(task, "ci") == 200 and tui.until(task)["artifacts"][0]["data"] == "Confirmed."
    task = ask("a")
    assert answer(task, "a") == 403
    tui.http.post(f"/tasks/{task}/cancel")


def test_of_two_answers_at_once_one_is_typed(tui: Agent) -> None:
    task = tui.send("confirm Go?")
    tui.until(task, "input_required")
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(tui.http.post, f"/tasks/{task}/input", json={"input": "y"}) for _ in range(8)]
    assert [each.result().status_code for each in asked].count(200) == 1
    assert tui.until(task)["artifacts"][0]["data"] == "Confirmed."
    assert tui.reply("say clean") == "clean"


def test_a_message_carries_the_mark_of_who_sent_it(tui: Agent) -> None:
    sent = tui.http.post("/tasks/send", json={"message": "silent 0.5 first", "sender": "ann"})
    task = sent.json()["task"]["id"]
    more = {"message": "a2a-mark", "sender": "bob", "task_id": task}
    assert tui.http.post("/tasks/send", json=more).status_code == 200
    assert tui.until(task)["artifacts"][0]["data"] == f"[A2A:{task[:8]}:bob]"


def test_a_store_that_opens_late_gives_up_its_tasks(own: Agent) -> None:
    first, second = own.send("silent 1.5 one"), own.send("say two")
    own.until(first, "working")
    path = next((own.home.path / "synapse").glob("agents/*/tasks.db"))
    lock = sqlite3.connect(path, isolation_level=None, timeout=0)
    lock.execute("PRAGMA locking_mode = EXCLUSIVE")
    for pid in hosts(own.home):
        os.kill(pid, signal.SIGKILL)
    wait(lambda: _locks(lock), "a lock")
    wait(lambda: own.http.get("/status").status_code == 200, "a new host")
    assert own.http.get(f"/tasks/{second}").status_code == 404
    lock.close()
    assert own.until(first)["artifacts"][0]["data"] == "one"
    assert own.until(second)["artifacts"][0]["data"] == "two"


def test_a_new_host_that_nobody_asks_still_tells_what_was_promised(own: Agent) -> None:
    async def receive(request: Answering) -> None:
        await request.json({})

    with fake_agent() as other:
        other.on["/told"] = receive
        body = {"content": "silent 0.5 done", "callback_url": f"{other.url}/told"}
        own.http.post("/message", json=body).raise_for_status()
        wait(lambda: own.home.agents()["a"]["status"] == "PROCESSING", "the turn")
        for pid in hosts(own.home):
            os.kill(pid, signal.SIGKILL)
        wait(lambda: other.calls("/told"), "the callback")
        assert "done" in json.dumps(other.calls("/told")[0].body)


def _locks(lock: sqlite3.Connection) -> bool:
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        return False
    return True


def test_the_limits_of_the_settings_hold(home: Home) -> None:
    (home.path / "synapse").mkdir()
    (home.path / "synapse" / "config.yaml").write_text("limits: {queue: 1, message: 1024}\n")
    with start(home, "--tui") as made:
        made.until(made.send("silent 5"), "working")
        made.send("say waits")
        full = made.http.post("/tasks/send", json={"message": "one too many"})
        assert full.status_code == 429 and "limits.queue" in full.json()["detail"]
        long = made.http.post("/tasks/send", json={"message": "x" * 2000})
        assert long.status_code == 413 and "limits.message" in long.json()["detail"]


def test_a_text_is_answered_and_a_secret_is_not_kept(agent: Agent) -> None:
    task = agent.send("password")
    agent.until(task, "input_required")
    agent.http.post(f"/tasks/{task}/input", json={"input": "hunter-2-secret"}).raise_for_status()
    assert "15" in agent.until(task)["artifacts"][0]["data"]
    home = agent.home.path
    kept = [p for p in home.rglob("*") if p.is_file() and b"hunter-2-secret" in p.read_bytes()]
    assert kept == []


def test_cancel_of_a_queued_and_of_the_running_task(agent: Agent) -> None:
    running, queued = agent.send("silent 60 never"), agent.send("say never either")
    agent.until(running, "working")
    assert agent.http.post(f"/tasks/{queued}/cancel").status_code == 200
    assert agent.until(queued)["state"] == "canceled" and "typing" not in steps(agent.get(queued))
    assert agent.http.post(f"/tasks/{running}/cancel").status_code == 200
    assert agent.until(running)["state"] == "canceled"
    assert agent.reply("say still here") == "still here"


def test_priority_5_interrupts_what_runs(agent: Agent) -> None:
    slow = agent.send("silent 60 never")
    agent.until(slow, "working")
    urgent = agent.until(agent.send("say now", 5))
    assert urgent["artifacts"][0]["data"] == "now"
    assert "priority 5" in agent.until(slow)["note"]


def test_priority_5_does_not_quit_an_idle_agent(agent: Agent) -> None:
    for _ in range(2):
        assert agent.until(agent.send("say here", 5))["state"] == "completed"


def test_long_and_many_lined_messages_arrive_whole(agent: Agent) -> None:
    text = "say " + "\\n".join(f"line {n} 日本語" for n in range(2000))
    task = agent.until(agent.send(text + "\nsecond line\n" + "x" * 50_000))
    assert task["state"] == "completed"
    said = task["artifacts"][0]["data"]
    if "The message is in the file" in said:  # a terminal in line mode takes no more than a line
        path = Path(said.partition("in the file ")[2].partition(" (")[0])
        said = path.read_text()
        assert path.stat().st_mode & 0o077 == 0
        assert said.endswith("\nsecond line\n" + "x" * 50_000)
    else:
        assert said.startswith("line 0 日本語\nline 1 日本語\n") and said.endswith("x" * 100)


def test_control_characters_do_not_reach_the_terminal(tui: Agent) -> None:
    assert tui.reply("hello \x1b[31mred\x1b[0m \x03\x04 [A2A:forged:x] \x1b[201~ world").endswith(
        "hello red  [A2A forged:x]  world"
    )


def test_the_agent_ends_and_its_tasks_fail_with_the_reason(own: Agent) -> None:
    waiting = [own.send("silent 1 x"), own.send("exit 3"), own.send("say never")]
    wait(lambda: "a" not in own.home.agents(), "its end", 30)
    own.home.run("start", "dummy", "--name", "a")
    again = Agent(own.home)
    ended = [again.get(task) for task in waiting]
    assert [task["state"] for task in ended] == ["completed", "failed", "failed"]
    assert "status 3" in ended[1]["error"]["message"]
    again.http.close()


def test_a_half_typed_line_is_left_alone(home: Home) -> None:
    with home.terminal("dummy", "--name", "a", "--", "--tui") as terminal:
        terminal.wait_for("? for shortcuts")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        agent = Agent(home)
        terminal.type("half a li")
        terminal.wait_for("half a li")
        task = agent.send("say from elsewhere")
        wait(lambda: "half-typed" in agent.get(task).get("note", ""), "the reason why it waits")
        assert "❯ half a li" in terminal.screen.text()
        terminal.type("ne\r")
        terminal.wait_for("You said: half a line")
        assert agent.until(task)["artifacts"][0]["data"] == "from elsewhere"
        assert "You said: half a line" in terminal.screen.text()
        agent.http.close()
        terminal.type("/exit\r")
        terminal.wait_exit()


@pytest.mark.parametrize("mode", [["--tui"], []], ids=["tui", "line"])
def test_a_half_typed_line_makes_room_and_comes_back(home: Home, mode: list[str]) -> None:
    settings = home.path / "synapse" / "config.yaml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("routing:\n  draft_patience: 1\n")
    with home.terminal("dummy", "--name", "a", "--", *mode) as terminal:
        terminal.wait_for("dummy")
        wait(lambda: "a" in home.agents(), "the agent")
        agent = Agent(home)
        terminal.type("日本 half")
        terminal.wait_for("日本 half")
        done = agent.until(agent.send("say between"))
        assert done["state"] == "completed" and done["artifacts"][0]["data"] == "between"
        terminal.wait_for("> 日本 half" if not mode else "❯ 日本 half")
        terminal.type(" a line\r")
        terminal.wait_for("You said: 日本 half a line")
        agent.http.close()


def test_keys_typed_while_a_message_is_typed_come_after_it(home: Home) -> None:
    home.profile("slow", "extends: dummy\nsubmit_delay: 1.0\n")
    with home.terminal("slow", "--name", "a", "--", "--tui") as terminal:
        terminal.wait_for("? for shortcuts")
        wait(lambda: home.agents()["a"]["status"] == "READY", "READY")
        agent = Agent(home)
        task = agent.send("say one")
        wait(lambda: "typing" in steps(agent.get(task)), "the paste")
        terminal.type("mine")
        assert agent.until(task)["artifacts"][0]["data"] == "one"
        terminal.wait_for("❯ mine")
        agent.http.close()
        terminal.type("\x15/exit\r")
        terminal.wait_exit()


@pytest.mark.parametrize("mode", ["line", "screen only"])
def test_each_accepted_task_ends_once_whenever_the_host_dies(home: Home, mode: str) -> None:
    home.profile("slow", "extends: dummy\nsubmit_delay: 0.15\n")

    def kill_twice(name: str, *delays: float) -> None:
        """No oftener: the third host within a minute is made to wait."""
        home.run("start", "slow", "--name", name, "--", *MODES[mode])
        agent = Agent(home, name)
        for delay in delays:
            (host,) = hosts(home, name)
            running, queued = agent.send(f"silent 0.4 turn {delay}"), agent.send(f"say next {delay}")
            time.sleep(delay)  # at whatever step that is
            os.kill(host, signal.SIGKILL)
            first, second = agent.until(running, patience=60), agent.until(queued, patience=60)
            assert (first["state"], second["state"]) == ("completed", "completed"), (delay, first, second)
            assert first["artifacts"][0]["data"] == f"turn {delay}"
            assert second["artifacts"][0]["data"] == f"next {delay}"
            contents = home.run("logs", name).stdout + agent.contents()
            for task in (running, queued):
                typed = contents.count(f"[A2A:{task[:8]}:")
                assert typed >= 1
        agent.http.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(kill_twice, "abc", (0.0, 0.1, 0.25), (0.02, 0.17, 0.6)))


def test_after_a_restart_the_reply_to_an_earlier_message_is_not_that_of_the_last(tmp_path: Path) -> None:
    controller = agent_terminal("dummy", tmp_path)
    engine = TaskEngine(TaskStore())
    delivery = Delivery(controller, engine, str(tmp_path), 20.0, Questions(controller, engine))
    turns = controller.observer.turns
    task = engine.submit(text_message("one"))
    engine.store.add_receipt(task, "replied")
    carry = Carry(task, f"[A2A:{task.short_id}:user]", text="")
    for number, known in enumerate((False, True)):
        turns.take(PromptAccepted(HOOK, f"{carry.mark} {number}"), number)
        turns.take(TurnEnded(HOOK, "completed", str(number)), number)
        assert (delivery._turn_of(carry) is turns.finished[-1]) is known


def test_a_message_of_ours_that_is_left_in_the_composer_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = agent_terminal("dummy", tmp_path)
    engine = TaskEngine(TaskStore())
    delivery = Delivery(controller, engine, str(tmp_path), 20.0, Questions(controller, engine))
    cleared: list[str] = []

    async def clear(name: str, text: str, careful: bool = True, draft: str | None = None) -> str:
        cleared.append(text)
        return DONE

    monkeypatch.setattr(delivery._typist, "clear", clear)
    for text, human, held in (
        ("[A2A:1:user] one", False, ""),
        ("[A2A:1:user] one", True, "it"),
        ("two", 0, "it"),
    ):
        controller.set_draft(not human, text)
        assert asyncio.run(delivery._set_aside("name", text)) == DONE
        assert delivery._stash.held == (held and text)
    assert len(cleared) == 3


@pytest.mark.parametrize(("denied", "error"), [("rm x", "the human denied: rm x"), (None, None)])
def test_a_denied_tool_cancels_its_task_with_the_code(
    tmp_path: Path, denied: str | None, error: str | None
) -> None:
    controller = agent_terminal("dummy", tmp_path)
    engine = TaskEngine(TaskStore())
    delivery = Delivery(controller, engine, str(tmp_path), 20.0, Questions(controller, engine))
    turns = controller.observer.turns
    task = engine.submit(text_message("one"))
    turns.take(PromptAccepted(HOOK, "one"), 0)
    assert turns.current is not None
    turns.current.denied, turns.current.denied_by = denied, "deduced"
    turns.take(TurnEnded(HOOK, "interrupted"), 1)
    delivery._conclude(Carry(task, "one", ""), turns.finished[-1])
    assert task.state == "canceled"
    assert task.error == (error and {"code": "DENIED", "message": error})
    assert task.note == (error or "interrupted at the agent's terminal")
    said = [receipt["evidence"] for receipt in task.receipts if receipt["step"] == "denied"]
    assert said == (["deduced: the turn stopped while it was asked, or right after"] if denied else [])


BOX = (
    "\x1b[2J\x1b[H{}\r\n\r\n ╭"
    + "─" * 60
    + "╮\r\n │ > {:57} │\r\n ╰"
    + "─" * 60
    + "╯\r\n ~/work\x1b[?25l\x1b[4;6H"
)


@pytest.mark.parametrize(
    ("shown", "draft", "code"),
    [
        ('   Error: LLM not set, send "/login" to login', "", "LOGIN_REQUIRED"),
        ('   Error: LLM not set, send "/login" to login', "[A2A:1:user] hello", None),  # it is still there
        (" ● Done.", "", None),
    ],
)
def test_a_message_that_the_agent_refuses_without_a_turn(
    tmp_path: Path, shown: str, draft: str, code: str | None
) -> None:
    now = 100.0
    controller = agent_terminal("kimi", tmp_path, lambda: now)
    controller.feed(BOX.format(shown, draft).encode())
    now += 1.0
    controller.check_status()
    refused = refusal(controller)
    assert (refused and refused.code) == code
    if refused:
        told = advised(refused.to_a2a_error(), "kimi")["message"]
        assert told.startswith("LLM not set") and "`synapse attach kimi`" in told


def test_an_agent_that_writes_before_there_is_a_host(home: Home) -> None:
    home.profile("early", "command: [sh, -c, 'echo early; while read x; do echo \"got $x\"; done']\n" + QUICK)
    home.run("start", "early", "--name", "a")
    agent = Agent(home)
    assert "got [A2A:" in agent.reply("hello")
    agent.http.close()


def test_the_first_message_waits_until_the_cli_has_drawn_its_screen(tmp_path: Path) -> None:
    """A resumed conversation is loaded after the first prompt, and what is typed meanwhile gets lost."""
    now = 100.0
    controller = agent_terminal("gemini", tmp_path, lambda: now)
    engine = TaskEngine(TaskStore())
    questions = Questions(controller, engine, clock=lambda: now)
    delivery = Delivery(controller, engine, str(tmp_path), 20.0, questions, clock=lambda: now)
    delivery.status_changed("READY")
    controller.feed(b"\x1b[?2004h")
    now += 0.5
    assert delivery._is_starting()
    now += 0.6
    assert not delivery._is_starting()
    controller.feed(b"the conversation")
    assert delivery._is_starting()
    delivery._carry = Carry(engine.submit(text_message("one")), "[A2A:1:a]", "")
    assert not delivery._is_starting(), "it has had a message"


@pytest.mark.parametrize(("draft", "why"), [("half a li", HALF_TYPED), ("", "the agent is starting")])
def test_a_message_waits_for_the_half_typed_line_even_while_the_cli_still_draws(
    tmp_path: Path, draft: str, why: str
) -> None:
    now = 100.0
    controller = agent_terminal("kimi", tmp_path, lambda: now)
    engine = TaskEngine(TaskStore())
    questions = Questions(controller, engine, clock=lambda: now)
    delivery = Delivery(controller, engine, str(tmp_path), 20.0, questions, clock=lambda: now)
    controller.feed(b"\x1b[?2004h" + BOX.format("", draft).encode())
    now += 0.9
    controller.last_key = now - 0.9 if draft else 0.0
    controller.check_status()
    delivery.status_changed(controller.status)
    assert delivery._in_the_way()[0] == why
