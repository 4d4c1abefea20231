"""Ctrl-C in a run, and what is under way then: it is left running, or canceled, as the human says."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import SYNAPSE, Home, new_home, wait

ONE = 'from synapse.run import ask\nprint(ask("a", "{} x"))\n'
TWO_EACH = """
from synapse.run import ask, gather
def both(name):
    return ask(name, "silent 2 {mark}") + ask(name, "say {mark} second")
print(gather(lambda: both("a"), lambda: both("b")))
"""
WORKERS = """
from synapse.run import ask, gather, worker
def go():
    with worker("dummy") as w:
        return ask(w, "{} x")
print(*gather(go, go))
"""
ASYNC = """
import asyncio
from synapse.run import aio
async def main():
    async with aio.worker("dummy") as w:
        print(*await aio.gather(aio.ask(w, "silent 3 x"), aio.ask("b", "silent 3 y")))
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def agents() -> Iterator[Home]:
    with new_home() as home, home.ours():
        for name in "ab":
            home.run("start", "dummy", "--name", name)
        yield home


def script(home: Home, text: str, name: str) -> str:
    (home.work / name).write_text(text)
    return name


def journal(home: Home, run_id: str) -> Path:
    return home.path / "synapse" / "runs" / run_id / "journal.jsonl"


def tasks_of(home: Home, run_id: str) -> int:
    """How many steps of a run have become tasks."""
    path = journal(home, run_id)
    return path.read_text().count('"type": "task"') if path.exists() else 0


def states(home: Home, mark: str) -> list[str]:
    tasks = json.loads(home.run("tasks", "--json").stdout)
    return sorted(task["state"] for task in tasks if mark in json.dumps(task["message"]))


def test_the_human_cancels_what_is_under_way(agents: Home) -> None:
    path = script(agents, ONE.format("honour 600"), "stop.py")
    with agents.terminal("run", path, "--run", "stop") as terminal:
        terminal.wait(lambda: tasks_of(agents, "stop") == 1, "the task")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("y\r")
        terminal.wait_for("step 1: canceled")
        assert terminal.wait_exit() == 130
    shown = agents.run("runs", "show", "stop").stdout
    assert "interrupted" in shown and "canceled with the run" in shown


def test_after_ctrl_c_no_thread_asks_more(agents: Home) -> None:
    """The threads of a gather go on while the human is asked; what they would ask next waits for the
    resumed run."""
    path = script(agents, TWO_EACH.format(mark="threads"), "threads.py")
    with agents.terminal("run", path, "--run", "threads") as terminal:
        terminal.wait(lambda: tasks_of(agents, "threads") == 2, "two tasks")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.wait(lambda: states(agents, "threads") == ["completed"] * 2, "both replies")
        terminal.type("n\r")
        terminal.wait_for("left running")
        assert terminal.wait_exit() == 130
    assert states(agents, "threads") == ["completed"] * 2
    done = agents.run("run", path, "--run", "threads")
    assert done.stdout == "['threadsthreads second', 'threadsthreads second']\n"
    assert states(agents, "threads") == ["completed"] * 4


def test_the_second_ctrl_c_leaves_everything_running(agents: Home) -> None:
    path = script(agents, ONE.format("silent 3"), "twice.py")
    with agents.terminal("run", path, "--run", "twice") as terminal:
        terminal.wait(lambda: tasks_of(agents, "twice") == 1, "the task")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("\x03")
        terminal.wait_for("synapse run --run twice twice.py")
        assert terminal.wait_exit() == 130
    assert agents.run("run", path, "--run", "twice").stdout == "x\n"
    assert json.loads(agents.run("runs", "show", "twice", "--json").stdout)["messages"] == 1


def test_workers_of_a_gather_are_left_and_found_again(agents: Home) -> None:
    path = script(agents, WORKERS.format("silent 4"), "left.py")
    with agents.terminal("run", path, "--run", "left") as terminal:
        terminal.wait(lambda: tasks_of(agents, "left") == 2, "two tasks")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("\r")
        assert terminal.wait_exit() == 130
    assert {"left-dummy-1-1-1", "left-dummy-1-2-1"} <= set(agents.agents())
    assert agents.run("run", path, "--run", "left").stdout == "x x\n"
    assert json.loads(agents.run("runs", "show", "left", "--json").stdout)["messages"] == 2
    assert set(agents.agents()) == {"a", "b"}


def test_workers_of_a_gather_are_stopped_if_the_human_cancels(agents: Home) -> None:
    path = script(agents, WORKERS.format("honour 600"), "ended.py")
    with agents.terminal("run", path, "--run", "ended", cols=120) as terminal:
        terminal.wait(lambda: tasks_of(agents, "ended") == 2, "two tasks")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("y\r")
        terminal.wait_for("stopped ended-dummy-1-2-1")
        assert terminal.wait_exit() == 130
    assert set(agents.agents()) == {"a", "b"}


def test_ctrl_c_in_a_script_with_an_event_loop(agents: Home) -> None:
    path = script(agents, ASYNC, "loop.py")
    with agents.terminal("run", path, "--run", "loop") as terminal:
        terminal.wait(lambda: tasks_of(agents, "loop") == 2, "two tasks")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("n\r")
        assert terminal.wait_exit() == 130
    assert "loop-dummy-1" in agents.agents()
    assert agents.run("run", path, "--run", "loop").stdout == "x y\n"
    assert set(agents.agents()) == {"a", "b"}


def test_ctrl_c_while_the_agent_asks_is_not_its_answer(agents: Home) -> None:
    path = script(agents, 'from synapse.run import ask\nprint(ask("b", "ask May I?"))\n', "asks.py")
    with agents.terminal("run", path, "--run", "asks") as terminal:
        terminal.wait_for("answer:")
        terminal.type("\x03")
        terminal.wait_for("Cancel it?")
        terminal.type("n\r")
        terminal.wait_for("left running")
        assert terminal.wait_exit() == 130
    assert states(agents, "May I?") == ["input_required"]
    assert "step 1: canceled" in agents.run("runs", "cancel", "asks").stdout
    assert states(agents, "May I?") == ["canceled"]


def test_without_a_terminal_nothing_is_asked_and_everything_goes_on(agents: Home) -> None:
    path = script(agents, ONE.format("honour 600"), "quiet.py")
    process = subprocess.Popen(
        [*SYNAPSE, "run", path, "--run", "quiet"],
        env=agents.env,
        cwd=agents.work,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait(lambda: tasks_of(agents, "quiet") == 1, "the task")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "left running: step 1 (a)" in errors and "Cancel" not in errors
    # Killed before the id of the task was in the journal, it is found by its request.
    kept = journal(agents, "quiet")
    kept.write_text(
        "".join(line for line in kept.read_text().splitlines(True) if '"type": "task"' not in line)
    )
    assert agents.run("runs", "cancel", "quiet").stdout == "step 1: canceled\ncanceled quiet\n"


def test_a_failure_in_a_gather_leaves_the_worker_that_is_waited_for(agents: Home) -> None:
    text = """
import time
from synapse.run import ask, gather, worker
from synapse.run.session import current
def good():
    with worker("dummy") as w:
        ask(w, "silent 4 x")
        ask(w, "say never asked")
def bad():
    while "1.1.1" not in current().journal.record.steps:
        time.sleep(0.05)
    ask("nobody", "x")
gather(good, bad)
"""
    path = script(agents, text, "fails.py")
    done = agents.run("run", path, "--run", "fails", check=False)
    assert done.returncode == 1 and "step 1.2.1: no agent named 'nobody'" in done.stderr
    assert "fails-dummy-1-1-1" in agents.agents() and states(agents, "never asked") == []
    assert "stopped fails-dummy-1-1-1" in agents.run("runs", "cancel", "fails").stdout
