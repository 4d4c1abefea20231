"""`synapse stop`: stop agents and wait until they have ended."""

import os
import signal
import time

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.parser import AGENT, Parser
from synapse.errors import SynapseError, UsageError
from synapse.registry import AgentRegistry, Entry

PATIENCE = 10.0  # seconds that an agent may take to end


def parser() -> Parser:
    found = Parser("synapse stop", "Stop agents and wait until they have ended.")
    found.add_word("target", AGENT, nargs="*", help="a name, a type, type-port, or the beginning of an id")
    found.add_argument("--all", action="store_true", help="stop every running agent")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    registry = AgentRegistry()
    if options.all == bool(options.target):
        raise UsageError("no agent is named: name those to stop, or --all.")
    if options.all:
        entries = list(registry.list_agents().values())
        if not entries:
            print("no agent is running")
    else:
        entries = [find_agent(target) for target in options.target]
    for entry in entries:
        _end(registry, entry)
    left = _wait(registry, entries)
    for entry in entries:
        if entry not in left:
            print(f"stopped {entry['name']}")
    if left:
        names = ", ".join(f"{entry['name']} (pid {entry['pid']})" for entry in left)
        raise SynapseError(f"{names} did not end within {PATIENCE:g} s: see `synapse logs`.")
    return 0


def _end(registry: AgentRegistry, entry: Entry) -> None:
    """Signal the agent's relay. While its lock is held, the pid is its own."""
    pid = int(str(entry["pid"]))
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        return
    try:
        if not registry.is_alive(str(entry["agent_id"])):
            return
        for number in (signal.SIGTERM, signal.SIGCONT):  # it may be stopped in its terminal
            if handle >= 0:
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(pid, number)
    except ProcessLookupError:
        pass
    finally:
        if handle >= 0:
            os.close(handle)


def _wait(registry: AgentRegistry, entries: list[Entry]) -> list[Entry]:
    deadline = time.monotonic() + PATIENCE
    left = entries
    while left and time.monotonic() < deadline:
        left = [entry for entry in left if registry.is_alive(str(entry["agent_id"]))]
        if left:
            time.sleep(0.02)
    return left
