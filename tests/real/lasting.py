"""A running CLI that several tests share: those that leave nothing behind in it but turns that have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from synapse.peers import control
from synapse.registry import READY
from tests.real.clis import CLIS, Cli
from tests.real.install import Installed
from tests.real.model_server import ModelServer
from tests.real.scenarios import NOTES, NOTES_TEXT
from tests.real.wrapped import ENDED, PATIENCE, Agent, Sender, tasks_of, wrapped
from tests.support.home import Home, new_home

Prepare = Callable[[Cli, Home], None]


@dataclass(frozen=True)
class Running:
    home: Home
    model: ModelServer
    cli: Cli
    agent: Agent

    def begin(self) -> None:
        """What earlier tests have left is not seen by the next one."""
        for path in self.home.work.glob("[!.]*"):  # aider keeps its own files there
            path.unlink()
        write_notes(self.home)
        self.model.reset()
        self.agent.begin()

    def settle(self) -> None:
        """Cancel what a test has left; then the agent is idle, and its composer is empty."""
        sender = Sender(self.agent, self.home)
        for task in tasks_of(self.home, self.agent.name):
            if task["state"] not in ENDED:
                control.call(self.home.agents()[self.agent.name], "POST", f"/tasks/{task['id']}/cancel")
                sender.until(task["id"])
        deadline = time.monotonic() + PATIENCE
        while (why := self.agent.why)["status"] != READY or why["composer"]["state"] != "empty":
            assert time.monotonic() < deadline, f"not idle: {why}\n{self.agent.driver.screen.text()}"
            self.agent.driver.rest(0.05)


class Lasting:
    """One CLI at a time for all tests of a worker: the tests of each come one after the other. After a failed
    test there is a new one."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed
        self._stack = ExitStack()
        self._running: Running | None = None
        self._key = ""

    def close(self) -> None:
        self._running = None
        self._stack.close()

    @contextmanager
    def lent(self, name: str, prepare: Prepare | None, key: str) -> Iterator[Running]:
        """The CLI for one test. `key` is the same for tests that can share it."""
        if self._running is None or key != self._key:
            self.close()
            self._key = key
            self._running = self._start(name, prepare)
        running = self._running
        try:
            with running.home.ours():
                running.begin()
                yield running
                if self._running is not None:  # else the test has failed
                    running.settle()
            assert running.model.failures == []
        except BaseException:
            self.close()
            raise

    def _start(self, name: str, prepare: Prepare | None) -> Running:
        home = self._stack.enter_context(new_home())
        model = self._stack.enter_context(ModelServer(speed=0))
        write_notes(home)
        cli = CLIS[name](self._installed, home.path, home.work, model.url)
        if prepare is not None:
            prepare(cli, home)
        agent = self._stack.enter_context(wrapped(cli, home, SYNAPSE_INITIAL_INSTRUCTIONS="off"))
        return Running(home, model, cli, agent)


def write_notes(home: Home) -> None:
    (home.work / NOTES).write_text(NOTES_TEXT)
