"""Stops running agents: a signal to the relay of each, and a wait until its lock is free."""

import os
import signal
import time

from synapse.errors import SynapseError
from synapse.registry import AgentRegistry, Entry

PATIENCE = 15.0  # seconds that an agent may take to end: 3 to be killed, 5 for what its host owes


def stop(registry: AgentRegistry, entries: list[Entry]) -> list[Entry]:
    """End the agents and wait for it. Returns those that are still running."""
    for entry in entries:
        _end(registry, entry)
    return _wait(registry, entries)


def did_not_end(left: list[Entry]) -> SynapseError:
    names = ", ".join(f"{entry['name']} (pid {entry['pid']})" for entry in left)
    if not any(_is_seen(int(str(entry["pid"]))) for entry in left):
        return SynapseError(f"{names} cannot be seen from here: run the command outside the sandbox.")
    logs = " and ".join(f"`synapse logs {entry['name']}`" for entry in left[:2])
    return SynapseError(f"{names} did not end within {PATIENCE:g} s: see {logs}.")


def _is_seen(pid: int) -> bool:
    """A sandbox may have process numbers of its own."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


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
