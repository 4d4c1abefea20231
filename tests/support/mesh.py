"""Machines of a mesh: homes on loopback, and the real server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.support.home import Home, new_home, wait
from tests.support.ports import free_port


def accepts(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


class Mesh:
    """`homes` by machine; the first one serves. A machine is a home with a joined mesh."""

    def __init__(self, homes: dict[str, Home], *options: str) -> None:
        self.homes = homes
        self.first = next(iter(homes))
        self.port = free_port()
        self.options = ("--port", str(self.port), *options)
        self._serving: subprocess.Popen[str] | None = None

    def __getitem__(self, machine: str) -> Home:
        return self.homes[machine]

    @property
    def folder(self) -> Path:
        return self[self.first].path / "synapse" / "mesh" / "server"

    def serve(self) -> None:
        home = self[self.first]
        self._serving = subprocess.Popen(
            home.command("mesh", "serve", "--machine", self.first, *self.options),
            env=home.env, cwd=home.work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert self._serving.stdout is not None
        said = ""
        while "serving the mesh" not in said:
            line = self._serving.stdout.readline()
            said += line
            assert line, said

    def end(self) -> None:
        if self._serving is not None:
            self._serving.terminate()
            self._serving.communicate(timeout=60)
            self._serving = None

    @property
    def server_pid(self) -> int:
        return int((self.folder / "nats.pid").read_text())

    def kill_server(self) -> int:
        pid = self.server_pid
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_served(self) -> None:
        """Until the server answers, after it was killed."""
        wait(lambda: self.status(self.first)["problem"] == "", "the server to answer")

    def invite(self, machine: str, *options: str) -> str:
        return self[self.first].run("mesh", "invite", machine, *options).stdout.strip()

    def join(self, machine: str, *options: str) -> None:
        self[machine].run("mesh", "join", "-", input=self.invite(machine, *options))

    def status(self, machine: str) -> dict[str, Any]:
        done = self[machine].run("mesh", "status", "--json", check=False)
        return dict(json.loads(done.stdout))

    def known(self, machine: str) -> dict[str, dict[str, Any]]:
        """The agents of the mesh as a machine sees them, by address."""
        return {agent["address"]: agent for agent in self.status(machine)["agents"]}

    def start(self, machine: str, name: str, *arguments: str, **more: Any) -> None:
        """An agent, and every machine knows it."""
        self[machine].run("start", "dummy", "--name", name, "--", *arguments, **more)
        wait(lambda: f"{name}@{machine}" in self.known(self.first), f"{name}@{machine} in the mesh")

    def wait_listed(self, machine: str, address: str) -> None:
        """Until the machine's own file of agents has it."""
        path = self[machine].path / "synapse" / "mesh" / "agents.json"

        def is_there() -> bool:
            try:
                agents = json.loads(path.read_text())["agents"]
            except (OSError, ValueError):
                return False
            return any(f"{a['name']}@{a['machine']}" == address for a in agents)

        wait(is_there, f"{address} in the file of {machine}")


@contextmanager
def new_mesh(*machines: str, options: tuple[str, ...] = ()) -> Iterator[Mesh]:
    """A served mesh that all machines have joined."""
    with ExitStack() as stack:
        homes = {name: stack.enter_context(new_home()) for name in machines}
        mesh = Mesh(homes, *options)
        try:
            mesh.serve()
            for machine in machines[1:]:
                mesh.join(machine)
            yield mesh
        finally:
            for home in homes.values():
                for entry in home.agents().values():
                    os.kill(int(str(entry["pid"])), signal.SIGTERM)
            until = time.monotonic() + 10
            while any(home.agents() for home in homes.values()) and time.monotonic() < until:
                time.sleep(0.05)
            mesh.end()
