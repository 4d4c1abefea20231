"""`synapse restart`: stop an agent and start it again with the same profile, name, port and arguments."""

from __future__ import annotations

import os
import socket
import subprocess
import time

from synapse.base import paths
from synapse.cli.shared.agents import find_agent_here
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.errors import NoSuchAgent, SynapseError, UsageError
from synapse.launch.starts import Start, last_start, read_starts
from synapse.launch.stopping import did_not_end, stop
from synapse.launch.tokens import VARIABLE
from synapse.registry import AgentRegistry, Entry

HELP = """\
Stop an agent and start it again in the background: same profile, name, port, directory and arguments. One
that has ended is started again as it was. Its environment is that of this command.

Tasks that the agent has not finished fail with the reason. An agent that runs in a terminal is not restarted.
"""
PATIENCE = 5.0  # seconds for the port; then `synapse start` says what is wrong


def parser() -> Parser:
    return Parser("synapse restart", HELP).add_agent()


def main(argv: list[str]) -> int:
    target = parser().parse_args(argv).target
    entry, start = _find(target)
    _check(start)
    if entry is not None:
        registry = AgentRegistry()
        if left := stop(registry, [entry]):
            raise did_not_end(left)
        say(f"stopped {start.name}", flush=True)
        _wait_for_port(start)
    return _start(start)


def _find(target: str) -> tuple[Entry | None, Start]:
    """The registry entry, if the agent runs, and how it was started."""
    try:
        entry = find_agent_here(target)
    except NoSuchAgent:
        start = last_start(target)
        if start is None:
            raise
        return None, start
    starts = [start for start in read_starts(str(entry["agent_id"])) if start.name == entry["name"]]
    if not starts:
        raise SynapseError(
            f"it is not known how {entry['name']} was started: "
            f"use `synapse stop {entry['name']}` and `synapse start`."
        )
    return entry, starts[-1]


def _check(start: Start) -> None:
    """Raise what would keep it from starting, before it is stopped."""
    if not start.profile:
        raise UsageError(f"{start.name} was started by a script: start it again with that script.")
    if start.foreground:
        words = ["synapse", start.profile, "--name", start.name, "--port", str(start.port), *start.args]
        raise UsageError(
            f"{start.name} runs in a terminal, which only you can give it: end it there, then run "
            f"`{' '.join(words)}` in {paths.shortened(start.working_dir)}."
        )
    if start.token and not start.token_file and not os.environ.get(VARIABLE):
        raise UsageError(
            f"{start.name} was started with a token, which is kept nowhere: set {VARIABLE}, and try again."
        )
    if not os.path.isdir(start.working_dir):
        raise UsageError(
            f"the directory of {start.name} is gone ({start.working_dir}): create it, "
            f"or use `synapse start {start.profile} --name {start.name}` in another one."
        )


def _wait_for_port(start: Start) -> None:
    """Until the port is free: the agent's host may need a moment longer than its relay."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with socket.socket(socket.AF_INET6 if ":" in start.host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((start.host or "127.0.0.1", start.port))
                probe.listen()
                return
            except OSError:
                time.sleep(0.05)


def _start(start: Start) -> int:
    options = ["--name", start.name, "--port", str(start.port)]
    options += ["--host", start.host] if start.host else []
    options += ["--token-file", start.token_file] if start.token_file else []
    command = [*paths.our_python(), "-m", "synapse", "start", start.profile, *options, "--", *start.args]
    return subprocess.run(command, cwd=start.working_dir, check=False).returncode
