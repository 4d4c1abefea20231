"""`synapse top` in a real terminal, with real agents."""

from __future__ import annotations

from prompt_toolkit.output import DummyOutput

from synapse.terminal.cells import width
from synapse.top.app import Top
from synapse.view.agents import Agent
from tests.support.home import Home, wait

ENTRY = {"agent_type": "dummy", "status": "READY", "port": 1, "pid": 1, "working_dir": "/", "socket": "/x"}


def start(home: Home, *names: str) -> None:
    for name in names:
        home.run("start", "dummy", "--name", name, "--", "--tui")


def test_agents_are_seen_answered_sent_to_and_left(home: Home) -> None:
    start(home, "a", "b")
    with home.terminal("top") as top:
        top.wait_for("0 need you · 0 working · 2 idle")
        home.run("keys", "a", "choose keep|delete", "Enter")
        top.wait_for("1 need you")
        top.type("n")
        top.wait_for("── a asks")
        top.wait_for("2. delete")
        top.type("9")
        top.wait_for("there is no option 9")
        top.type("2")
        top.wait_for("answered a: delete")
        assert "You chose: delete" in home.run("screen", "a").stdout
        top.wait_for("0 need you")

        top.type("/b")
        top.wait_for("filter: b")
        top.type("\rs")
        top.wait_for("to b:")
        top.type("silent 60 the work\r")
        top.wait_for("sent ")
        top.wait_for("1 working")
        top.type(" ")
        top.wait_for("the screen of b")
        top.wait_for("esc to interrupt")
        top.type(" iy\r")
        top.wait_for("interrupted b")
        top.wait_for("0 working")

        top.type("\x1b")
        top.wait_for("2 idle")
        start(home, "c")
        top.wait_for("3 idle")
        home.run("stop", "c")
        top.wait_for("2 idle")
        top.resize(40, 12)
        top.wait_for("Space look · 1-9 answer")
        top.type("?")
        top.wait_for("select")
        top.wait_for("sort by time or by name")  # the last line of the help
        top.type("q")
        top.wait_for("Space look · 1-9 answer")
        top.type("q")
        assert top.wait_exit() == 0


def test_a_secret_is_not_shown_and_attach_comes_back(home: Home) -> None:
    start(home, "a")
    home.run("keys", "a", "password", "Enter")
    with home.terminal("top") as top:
        top.wait_for("a secret: press a")
        top.type("1")
        top.wait_for("press a, and type the answer")
        top.type("ahunter2")
        top.wait_for("•••••••")
        assert "hunter2" not in top.screen.text()
        top.type("\r")
        top.wait_for("answered a: a secret")
        wait(lambda: "7 characters" in home.run("screen", "a").stdout, "the answer")
        top.wait_for("1 idle")
        top.type("\r")
        top.wait_for("? for shortcuts")
        top.type("\x1dd")
        top.wait_for("back from a")
        top.type("q")
        assert top.wait_exit() == 0
    assert b"hunter2" not in bytes(top.raw)


def test_without_a_terminal_it_says_what_to_do(home: Home) -> None:
    refused = home.run("top", check=False)
    assert refused.returncode == 2 and "`synapse list`" in refused.stderr


def test_two_hundred_agents_fit_every_screen() -> None:
    top = Top(output=DummyOutput(), clock=lambda: 1e9)
    for number in range(200):
        agent = Agent({"agent_id": f"{number:03}", "name": f"agent-{number:03}", **ENTRY})
        agent.status = ("INPUT_REQUIRED", "PROCESSING", "READY")[number % 3]
        top.agents.known[agent.id] = agent
    for columns, rows in ((80, 24), (40, 10), (300, 100), (10, 3), (1, 1)):
        for step in (0, 1, 150, -1, 10**6, -(10**6)):
            top._move(step)
            lines = top._lines(columns, rows)
            assert all(width(text) <= columns for _, text in lines)
            if rows > 2:
                assert len(lines) == rows
                assert [style for style, _ in lines].count("selected") == 1, "the selected one is seen"


def test_a_filter_hides_no_count() -> None:
    top = Top(output=DummyOutput(), clock=lambda: 1e9)
    for name, status in (("a", "INPUT_REQUIRED"), ("b", "READY"), ("c", "PROCESSING")):
        agent = Agent({"agent_id": name, "name": name, **ENTRY})
        agent.status = status
        top.agents.known[agent.id] = agent
    for key in "/b":
        top._press(key)
    top._press("enter")
    for columns in (80, 40):
        shown = "\n".join(text for _, text in top._lines(columns, 12))
        assert "1 need you · 1 working · 1 idle" in shown
        assert "1 of 3 shown · filter: b" in shown
        assert "\n  b " in shown and "\n  a " not in shown
    top._press("n")
    assert "the filter hides 1 that need you" in top._lines(80, 12)[-1][1]
    top._press("escape")
    assert "filter" not in top._lines(40, 12)[1][1]


def test_a_run_is_shown_with_the_steps_that_are_under_way(home: Home) -> None:
    start(home, "a")
    (home.work / "two.py").write_text(
        'from synapse.run import ask\nask("a", "say one")\nask("a", "silent 600 the second")\n'
    )
    with home.terminal("top") as top, home.terminal("run", "--run", "mine", "two.py"):
        top.wait_for("mine running 1 of 2 steps", 30)
        top.wait_for("silent 600 the second")
        home.run("runs", "cancel", "mine")
        top.wait_for("mine canceled 1 of 2 steps", 30)
