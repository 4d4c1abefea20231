"""A real CLI inside Synapse, with a human at its keyboard, and programs that send it tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from synapse.peers import control
from synapse.profiles.loader import interrupt_steps, load_profile
from synapse.registry import READY
from synapse.selftest.driver import Driver
from tests.real.clis import Cli
from tests.support.checkpoints import Checkpoints
from tests.support.home import SYNAPSE, Home

PATIENCE = 120.0  # opencode takes a minute to start on a busy machine
ENDED = ("completed", "failed", "canceled")


class Agent:
    """One CLI, wrapped, with a human at its keyboard and a second terminal beside it."""

    def __init__(
        self, driver: Driver, home: Home, cli: Cli, name: str = "", points: Checkpoints | None = None
    ) -> None:
        self.points = points
        self.driver = driver
        self.cli = cli
        self.name = name or cli.name
        self._home = home
        self._seen = 0  # the number of the last turn of an earlier test

    def begin(self) -> None:
        """From now on `turns` and `ended` count only the turns that follow."""
        self._seen = max((turn["number"] for turn in self.turns), default=self._seen)

    def _call(self, path: str) -> dict[str, Any]:
        return control.call(self._home.agents()[self.name], "GET", path)

    @property
    def why(self) -> dict[str, Any]:
        return self._call("/why")

    @property
    def status(self) -> str:
        return str(self._call("/why")["status"])

    @property
    def turns(self) -> list[dict[str, Any]]:
        turns = self._call("/turns")["turns"]
        assert isinstance(turns, list)
        return [turn for turn in turns if turn["number"] > self._seen]

    def stop(self) -> None:
        """Press the keys with which a human stops a running turn. opencode takes two Escapes for one key if
        it has no time to read the first: a human presses them once more."""
        for _ in range(2 if self.cli.name == "opencode" else 1):
            for pause, keys in interrupt_steps(load_profile(self.cli.name)):
                self.driver.rest(pause)
                self.driver.type(keys)
            if self.cli.name == "opencode" and self.is_ready_within(1.5):
                return

    def is_ready_within(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self.status != READY and time.monotonic() < until:
            self.driver.rest(0.05)
        return self.status == READY

    def until(self, status: str, patience: float = PATIENCE) -> None:
        deadline = time.monotonic() + patience
        while self.status != status:
            assert time.monotonic() < deadline, f"not {status}: {self.why}\n{self.driver.screen.text()}"
            self.driver.rest(0.05)

    def ended(self, count: int, patience: float = PATIENCE) -> dict[str, Any]:
        """The `count`th turn, when it has ended."""
        deadline = time.monotonic() + patience
        while len(turns := self.turns) < count or turns[count - 1]["ended_at"] is None:
            assert time.monotonic() < deadline, f"{turns}\n{self.why}\n{self.driver.screen.text()}"
            self.driver.rest(0.05)
        return turns[count - 1]


@contextmanager
def wrapped(cli: Cli, home: Home, *args: str, name: str = "", **more: str) -> Iterator[Agent]:
    """Start the CLI inside Synapse and wait until it is READY; `more` is added to its environment."""
    with unready(cli, home, *args, name=name, **more) as agent:
        agent.until(READY)
        yield agent


@contextmanager
def unready(cli: Cli, home: Home, *args: str, name: str = "", **more: str) -> Iterator[Agent]:
    """The same, until it shows `cli.ready`: it may ask something first."""
    homes = {key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}
    named = ["--name", name] if name else []
    with ExitStack() as stack:
        points = stack.enter_context(Checkpoints(home))
        argv = [*SYNAPSE, cli.program, *points.option, *named, *cli.args, *args]
        with home.passing():
            driver = Driver(argv, {**cli.env, **homes, **more}, home.work)
        stack.enter_context(driver)
        driver.wait_for(cli.ready, PATIENCE)
        agent = Agent(driver, home, cli, name, points)
        deadline = time.monotonic() + PATIENCE
        while agent.name not in home.agents() or "is here" not in home.log(agent.name):
            assert time.monotonic() < deadline, home.log(agent.name)
            driver.rest(0.05)
        yield agent


def start(home: Home, cli: Cli) -> None:
    """In the background."""
    env = {**cli.env, "SYNAPSE_INITIAL_INSTRUCTIONS": "off"}
    home.run("start", cli.program, *cli.args, check=True, input="", **env)


class Sender:
    """Another program on this machine."""

    def __init__(self, agent: Agent, home: Home) -> None:
        self._agent = agent
        self._entry = home.agents()[agent.name]

    def send(self, text: str, priority: int = 1) -> str:
        answer = control.call(
            self._entry, "POST", f"/tasks/send-priority?priority={priority}", {"message": text}
        )
        task = answer["task"]
        assert isinstance(task, dict)
        return str(task["id"])

    def get(self, task: str) -> dict[str, Any]:
        found: Any = control.call(self._entry, "GET", f"/tasks/{task}")
        return dict(found.get("task", found))

    def answer(self, task: str, text: str) -> None:
        control.call(self._entry, "POST", f"/tasks/{task}/input", {"input": text})

    def until(self, task: str, *states: str, patience: float = 60.0) -> dict[str, Any]:
        deadline = time.monotonic() + patience
        while (found := self.get(task))["state"] not in (states or ENDED):
            assert time.monotonic() < deadline, (
                f"{found}\n{self._agent.why}\n{self._agent.driver.screen.text()}"
            )
            self._agent.driver.rest(0.05)
        return found


def tasks_of(home: Home, name: str) -> list[dict[str, Any]]:
    found: Any = control.call(home.agents()[name], "GET", "/tasks")
    return list(found["tasks"])


def until(agent: Agent, what: Callable[[], bool], patience: float = 30.0) -> None:
    deadline = time.monotonic() + patience
    while not what():
        assert time.monotonic() < deadline, agent.driver.screen.text()
        agent.driver.rest(0.05)


def knows(agent: Agent, home: Home, name: str) -> None:
    """Until the relay has been told of an agent, which is looked for twice a second."""
    points = agent.points
    assert points is not None
    until(agent, lambda: points.knows(name))
