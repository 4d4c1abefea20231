"""A running reference agent that several tests share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx

from tests.support.home import Home, new_home, wait
from tests.support.patience import PATIENCE

ENDED = ("completed", "failed", "canceled")


class Agent:
    """A running reference agent, used over HTTP."""

    def __init__(self, home: Home, name: str = "a") -> None:
        self.home = home
        self.name = name
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{home.agents()[name]['port']}", timeout=PATIENCE)

    def send(self, text: str, priority: int = 1) -> str:
        answer = self.http.post(f"/tasks/send-priority?priority={priority}", json={"message": text})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["task"]["id"])

    def get(self, task: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/tasks/{task}").json()
        return dict(found.get("task", found))

    def until(self, task: str, *states: str, patience: float = 20.0) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def arrived() -> bool:
            nonlocal found
            try:
                found = self.get(task)
            except httpx.TransportError:
                return False  # the host is being replaced
            return found["state"] in (states or ENDED)

        try:
            wait(arrived, f"{states or ENDED}", patience)
        except AssertionError as error:
            raise AssertionError(
                f"{error}: {found}\n{self.home.run('why', self.name, check=False).stdout}"
            ) from None
        return found

    def reply(self, text: str) -> str:
        done = self.until(self.send(text))
        assert done["state"] == "completed", done
        return str(done["artifacts"][0]["data"])

    def contents(self) -> str:
        return "\n".join(self.home.run("screen", self.name).stdout.split("\n"))

    def settle(self) -> None:
        """Cancel what a test has left, and wait until the agent is idle."""
        for task in self.http.get("/tasks").json()["tasks"]:
            if task["state"] not in ENDED:
                self.http.post(f"/tasks/{task['id']}/cancel")
                self.until(task["id"])
        wait(lambda: self.home.agents()[self.name]["status"] == "READY", "READY")


@contextmanager
def start(home: Home, *arguments: str) -> Iterator[Agent]:
    home.run("start", "dummy", "--name", "a", "--", *arguments)
    made = Agent(home)
    with made.http:
        yield made


class Lasting:
    """One agent for all tests of a module, in a home of its own; after a failed test there is a new one."""

    def __init__(self, *arguments: str) -> None:
        self._arguments = arguments
        self._stack = ExitStack()
        self._agent: Agent | None = None

    def __enter__(self) -> Lasting:
        return self

    def __exit__(self, *_: object) -> None:
        self._agent = None
        self._stack.close()

    @contextmanager
    def lent(self) -> Iterator[Agent]:
        """The agent for one test; at its end the agent must become idle."""
        if self._agent is None:
            home = self._stack.enter_context(new_home())
            self._agent = self._stack.enter_context(start(home, *self._arguments))
        try:
            with self._agent.home.ours():
                yield self._agent
            self._agent.settle()
        except BaseException:
            self.__exit__()
            raise
