"""Races that were lost once. Each test holds the program at a named point: the order is the bad one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.checkpoints import Checkpoints
from tests.support.home import Home, hosts, wait
from tests.support.running import Agent

# As the reference agent, but with a pause before Enter, as most CLIs need it.
SLOW = """\
command: "{synapse-python} -m synapse.dummy_agent --tui --mute"
submit_sequence: "\\r"
submit_delay: 1.0
paste: auto
clear_keys: [C-k, DC, C-u, BSpace]
idle_detection: {strategy: pattern, pattern: '(?m)^  \\? for shortcuts\\s*\\Z', timeout: 1.5}
composer:
  - {first: ' ?[❯>*!](?:\\s|$)', above: '─{10}', below: '─{10}'}
"""
# Reads an answer only when it may, and shows nothing of it before.
ASKS = """\
stty -echo
printf 'Overwrite the file? [y/n] '
read may < {fifo}
read answer
printf '\\nGot %s.\\n$ ' "$answer"
cat
"""


@pytest.fixture
def points(home: Home) -> Iterator[Checkpoints]:
    with Checkpoints(home) as made:
        yield made


@contextmanager
def command(home: Home, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command that runs beside the test."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        home.command(*words),
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        text=True,
        pass_fds=home.passed,
    ) as started:
        try:
            yield started
        except BaseException:
            started.kill()  # it may wait for what the test holds
            raise


def received(home: Home, name: str) -> list[str]:
    agent = Agent(home, name)
    with agent.http as http:
        tasks = http.get("/tasks").json()["tasks"]
    return ["".join(part["text"] for part in task["message"]["parts"]) for task in tasks]


def test_an_agent_that_ends_is_not_listed_again_by_a_last_change_of_its_status(
    home: Home, points: Checkpoints
) -> None:
    with home.terminal("dummy", *points.option, "--name", "a", "--", "--tui", "--mute") as terminal:
        terminal.wait(lambda: bool(points.reached("status published", status="READY")), "READY")
        with points.hold("entry changes") as before, points.hold("status published") as after:
            terminal.type("exit\r")
            terminal.wait(lambda: before.is_reached, "its change to PROCESSING")
            terminal.wait(lambda: bool(points.reached("entry withdrawn")), "its end")
            before.release()
            after.reached()
            assert not home.agents()
        terminal.wait_exit()


def test_record_says_that_it_records_once_it_does(home: Home, points: Checkpoints) -> None:
    home.run("start", "dummy", *points.option, "--name", "a")
    with points.hold("recording asked for") as hold, command(home, "record", "a", "case") as recording:
        assert recording.stdout is not None
        hold.reached()
        assert not select.select([recording.stdout], [], [], 0)[0]
        hold.release()
        assert recording.stdout.readline().startswith("recording a into case")
        recording.send_signal(signal.SIGINT)


@pytest.mark.parametrize("stored", [False, True])
def test_a_line_whose_host_dies_reaches_the_other_agent_once(
    home: Home, points: Checkpoints, stored: bool
) -> None:
    """Killed before it has read the line, or after it has stored the line and before it says so."""
    home.run("start", "dummy", "--name", "b")
    with home.terminal("dummy", *points.option, "--name", "a", "--", "--tui") as terminal:
        terminal.wait(lambda: points.knows("b"), "name of b")
        terminal.wait(lambda: bool(points.reached("composer known", state="empty")), "composer")
        [host] = hosts(home, "a")
        with points.hold("line stored") as hold:
            if not stored:
                os.kill(host, signal.SIGSTOP)
            terminal.type("@b say once\r")
            if stored:
                terminal.wait(lambda: hold.is_reached, "the stored line")
            else:
                terminal.wait(lambda: "❯ @b" in terminal.screen.text(), "line")
                terminal.wait_until_gone("@b say once")  # the relay waits no longer
            os.kill(host, signal.SIGKILL)
        terminal.wait_for("b: replied")
        assert received(home, "b") == ["say once"]
        assert "You said" not in terminal.screen.contents()


def test_a_line_that_is_typed_before_the_host_has_seen_its_own_message_go_reaches_the_other_agent(
    home: Home, points: Checkpoints
) -> None:
    home.profile("slow", SLOW)
    home.run("start", "dummy", "--name", "b")
    with home.terminal("slow", *points.option, "--name", "a") as terminal:
        terminal.wait(lambda: points.knows("b"), "name of b")
        terminal.wait(lambda: bool(points.reached("composer known", state="empty")), "composer")
        agent = Agent(home)
        with agent.http, points.hold("message submitted") as hold:
            told = len(points.reached("composer known"))
            task = agent.send("say a reply")
            terminal.wait(lambda: hold.is_reached, "Enter")
            assert points.reached("composer known")[told:], "the host has not looked at its message"
            terminal.wait_for("● a reply")
            terminal.wait(lambda: "❯ \n" in terminal.screen.text().replace("❯\n", "❯ \n"), "composer")
            terminal.type("@b say soon\r")
            terminal.wait_for("@b say soon")
            terminal.wait_until_gone("@b say soon")
            hold.release()
            terminal.wait_for("b: replied")
            assert received(home, "b") == ["say soon"]
            assert "You said" not in terminal.screen.contents()
            terminal.wait(lambda: agent.get(task)["state"] == "completed", "the task")


def test_an_answer_counts_when_the_question_has_left_the_screen(home: Home, points: Checkpoints) -> None:
    fifo = home.path / "may"
    os.mkfifo(fifo)
    script = home.path / "asks.sh"
    script.write_text(ASKS.format(fifo=fifo))
    home.profile("asks", f"command: [sh, {script}]\n")
    home.run("start", "asks", *points.option, "--name", "a")
    wait(lambda: "Overwrite" in home.run("questions").stdout, "question")
    question = home.run("questions").stdout.split()[0]
    with command(home, "answer", question, "y") as answer:
        points.wait("answered question shown", times=2)
        assert answer.poll() is None
        fifo.write_text("\n")
        assert answer.wait() == 0, answer.communicate()


def test_an_agent_that_is_started_again_waits_until_the_host_of_the_last_one_is_done(
    home: Home, points: Checkpoints
) -> None:
    words = ("dummy", *points.option, "--name", "a")
    with points.hold("host drains") as hold:
        with home.terminal(*words) as terminal:
            terminal.wait(lambda: bool(points.reached("names known")), "host")
            before = home.agents()["a"]["agent_id"]
            terminal.type("/exit\r")
            terminal.wait(lambda: hold.is_reached, "its end")
            assert terminal.wait_exit() == 0  # the human does not wait for the host
        assert not home.agents()
        with command(home, "start", *words) as start:
            assert not points.reached("host drained") and start.poll() is None
            hold.release()
            assert start.wait() == 0, start.communicate()
    seen = [point["name"] for point in points.all() if point["name"] in ("host ready", "host drained")]
    assert seen == ["host ready", "host drained", "host ready"]
    assert home.agents()["a"]["agent_id"] == before
