"""`synapse restart`, and the names of agents that have ended."""

from __future__ import annotations

import json
import shutil

from synapse.launch.starts import KEPT, last_start, read_starts, remember_start
from tests.support.home import Home, wait
from tests.support.ports import free_port


def start_of(home: Home, name: str) -> dict[str, object]:
    entry = home.agents()[name]
    return {key: entry[key] for key in ("name", "agent_type", "port", "working_dir", "agent_id")}


def test_an_agent_comes_back_as_it_was(home: Home) -> None:
    other = home.path / "other"
    other.mkdir()
    home.run("start", "dummy", "--name", "a", "--port", str(free_port()), "--", "--delay", "0.01", "--tui")
    before, pid = start_of(home, "a"), home.agents()["a"]["pid"]
    home.work = other  # the command runs in another directory
    done = home.run("restart", "@a")
    assert done.stdout.startswith("stopped a\nstarted a at http://localhost:")
    assert start_of(home, "a") == before and home.agents()["a"]["pid"] != pid
    with home.ours():
        assert read_starts(str(before["agent_id"]))[-1].args == ["--delay", "0.01", "--tui"]
    home.run("stop", "a")
    assert home.run("restart", "A").stdout.startswith("started a at ")
    assert start_of(home, "a") == before


def test_what_cannot_be_restarted_goes_on(home: Home) -> None:
    (home.path / "gone").mkdir()
    home.work = home.path / "gone"
    home.run("start", "dummy", "--name", "a", "--port", str(free_port()), "--token", "secret-token")
    done = home.run("restart", "a", check=False)
    assert done.returncode == 2 and "set SYNAPSE_TOKEN" in done.stderr
    assert "secret-token" not in "".join(path.read_text() for path in home.path.rglob("starts.jsonl"))
    assert home.run("restart", "a", SYNAPSE_TOKEN="secret-token").returncode == 0
    home.work = home.path / "work"
    shutil.rmtree(home.path / "gone")
    done = home.run("restart", "a", check=False, SYNAPSE_TOKEN="secret-token")
    assert done.returncode == 2 and "the directory of a is gone" in done.stderr
    assert "a" in home.agents()
    assert home.run("restart", "ghost", check=False).returncode == 3


def test_an_agent_in_a_terminal_is_left_alone(home: Home) -> None:
    with home.terminal("dummy", "--name", "b", "--", "--delay", "0") as terminal:
        terminal.wait_for("dummy>")
        wait(lambda: "b" in home.agents(), "the agent")
        done = home.run("restart", "b", check=False)
        assert done.returncode == 2 and "b runs in a terminal" in done.stderr
        port = home.agents()["b"]["port"]
        assert f"`synapse dummy --name b --port {port} --delay 0`" in done.stderr
        assert "b" in home.agents()


def test_tasks_keep_the_names_of_agents_that_have_ended(home: Home) -> None:
    for name in ("first", "second"):  # the same directory and type, so the same id
        home.run("start", "dummy", "--name", name)
        home.run("send", name, "--return", f"say from {name}")
        if name == "first":
            home.run("stop", name)
    lines = {line.rsplit(" ", 1)[-1]: line for line in home.run("tasks").stdout.splitlines()}
    assert "first (ended)" in lines["first"]
    assert "second" in lines["second"] and "(ended)" not in lines["second"]
    listed = json.loads(home.run("tasks", "--json").stdout)
    assert {task["agent"] for task in listed} == {"first", "second"}


def test_starts_are_kept_but_not_all_of_them(home: Home) -> None:
    with home.ours():
        entry = {"agent_id": "x", "name": "a", "working_dir": "/", "port": 1}
        how = {"profile": "dummy", "host": None, "token_file": None, "token": False, "foreground": False}
        for number in range(KEPT + 5):
            remember_start(entry, [str(number)], **how)  # type: ignore[arg-type]
        with open(home.path / "synapse" / "agents" / "x" / "starts.jsonl", "a") as file:
            file.write("{damaged\n[]\n{}\n")
        assert [start.args[0] for start in read_starts("x")] == [str(n) for n in range(5, KEPT + 5)]
        found = last_start("A")
        assert found is not None and found.args == [str(KEPT + 4)]
        assert last_start("b") is None and read_starts("none") == []
