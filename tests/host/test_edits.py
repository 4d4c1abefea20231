"""Two agents change the same file within a minute: their humans are told, and no turn is spent on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from synapse.base import paths
from synapse.host.edits import FILE, LOOK_EVERY, MOST, WITHIN, Edits
from synapse.messages.inbox import Inbox
from synapse.registry import AgentRegistry, Entry
from tests.support.home import Home


class Registry(AgentRegistry):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def list_agents(self) -> dict[str, Entry]:
        return {agent_id: {"name": name} for agent_id, name in self._names.items()}


class Pair:
    """Two agents in one directory, with one clock."""

    def __init__(self, work: Path) -> None:
        self.now = 1000.0
        self.timers: dict[str, Callable[[], None]] = {}
        self.inboxes = {name: Inbox(clock=lambda: self.now) for name in "ab"}
        registry = Registry({"ida": "a", "idb": "b"})
        loop = asyncio.new_event_loop()
        self.agents = {}
        for name in "ab":
            paths.private_dir(paths.agent_dir(f"id{name}"))

            def later(wait: float, call: Callable[[], None], name: str = name) -> asyncio.TimerHandle:
                self.timers[name] = call
                return asyncio.TimerHandle(wait, call, (), loop)

            self.agents[name] = Edits(
                f"id{name}", str(work), registry, self.inboxes[name], lambda: None, later, lambda: self.now
            )
        loop.close()

    def look(self) -> None:
        timers, self.timers = self.timers, {}
        for call in timers.values():
            call()

    def toasts(self, name: str) -> list[str]:
        return [f"{e.target} {e.outcome}: {e.detail}" for e in self.inboxes[name].entries if not e.seen]


@pytest.fixture
def pair(home: Home) -> Pair:
    return Pair(home.work)


def test_both_are_told_once(pair: Pair) -> None:
    pair.agents["a"].file_changed("x.py", 0)
    pair.now += WITHIN - LOOK_EVERY
    pair.agents["b"].file_changed("./x.py", 0)
    pair.look()
    expected = "has changed the same file: x.py: both have changed it within a minute. One may undo the work"
    assert len(pair.toasts("a")) == len(pair.toasts("b")) == 1
    assert pair.toasts("a")[0].startswith(f"b {expected}") and pair.toasts("b")[0].startswith(f"a {expected}")
    before = pair.inboxes["a"].entries[0]
    for _ in range(50):  # they go on: one toast is enough
        pair.now += LOOK_EVERY
        pair.agents["a"].file_changed("x.py", 0)
        pair.agents["b"].file_changed("x.py", 0)
        pair.look()
    assert pair.inboxes["a"].entries == [before]


def test_other_files_later_changes_and_old_reports_are_no_matter(pair: Pair, home: Home) -> None:
    pair.agents["a"].file_changed("x.py", 0)
    pair.agents["b"].file_changed("y.py", 0)
    pair.now += WITHIN + 1
    pair.agents["b"].file_changed("x.py", 0)
    pair.agents["a"].file_changed("y.py", pair.now - WITHIN - 1)
    for _ in range(40):
        pair.look()
        pair.now += LOOK_EVERY
    assert pair.toasts("a") == pair.toasts("b") == []
    assert pair.timers == {}, "nobody looks any more"
    for name in "ab":
        assert not Path(paths.agent_dir(f"id{name}"), FILE).exists()


def test_the_next_host_knows_and_what_is_kept_is_bounded(pair: Pair, home: Home) -> None:
    for number in range(MOST + 50):
        pair.agents["a"].file_changed(f"{number}.py", 0)
    kept = json.loads(Path(paths.agent_dir("ida"), FILE).read_text())
    assert len(kept) == MOST and str(home.work.resolve() / f"{MOST + 49}.py") in kept
    pair.agents["b"].file_changed("249.py", 0)
    pair.agents["a"]._mine.clear()
    pair.agents["a"].open()
    assert len(pair.toasts("a")) == 1
    asyncio.run(pair.agents["a"].close())
    assert not Path(paths.agent_dir("ida"), FILE).exists()


def test_two_agents_in_their_terminals(home: Home) -> None:
    with home.terminal("dummy", "--name", "a", "--", "--tui", cols=100) as terminal:
        terminal.wait_for("? for shortcuts")
        home.run("start", "dummy", "--name", "b", "--", "--tui")
        home.run("send", "a", "--return", "edit notes.md")
        home.run("send", "b", "--return", f"edit {home.work}/notes.md")
        terminal.wait_for("! b: has changed the same file")
        terminal.wait_for("notes.md: both have changed it")
        counts = [len(json.loads(home.run("tasks", name, "--json").stdout)) for name in "ab"]
        assert counts == [1, 1]
        assert home.run("send", "a", "--return", "tokens 1200 34").returncode == 0
        assert "used 1200 tokens of input and 34 of output" in home.run("task", _last(home)).stdout


def _last(home: Home) -> str:
    found = json.loads(home.run("tasks", "a", "--json").stdout)
    return str(max(found, key=lambda task: task["created_at"])["id"])
