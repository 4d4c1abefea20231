"""What is known of a machine, and whether it is connected: written by its link, read by everybody.

`<name>.seen` beside the machine's own file has its last known agents. It counts as connected only while the
link, the process that holds the connection (`link.py`), has its lock.
"""

from __future__ import annotations

import fcntl
import os
import time

from synapse.base import files, jsontext, paths
from synapse.base.record import Record
from synapse.peers.fifo import is_forbidden
from synapse.peers.machines.machine import Machine
from synapse.registry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import Any

KIND = "machine"
CONNECTED, CONNECTING, WAITING, FAILED = "connected", "connecting", "waiting", "failed"
AGAIN = 5.0  # seconds before a link is started again after a failure that no waiting cures
_started: list[subprocess.Popen[bytes]] = []  # links that this process has started, to be reaped
LOOK = 0.01  # seconds between two looks at what a link writes


class Known(Record):
    """`state` is that of the connection; `note` is what is wrong, as a sentence; `next` and `since` are times
    of the clock: of the next attempt, and of the last change."""

    machine: Machine
    state: str
    note: str
    since: float
    next: float
    version: str
    host: str
    agents: list[Entry]

    @property
    def connected(self) -> bool:
        return bool(self.state == CONNECTED)

    def agent(self, agent_id: str) -> Entry | None:
        return next((entry for entry in self.agents if entry["agent_id"] == agent_id), None)


def read(machine: Machine) -> Known:
    document = files.read_object(_seen_file(machine))
    if document.get("url") != machine.url:
        document = {}
    state = str(document.get("state") or "")
    if state != FAILED and not is_linked(machine):
        state = ""
    stale = state != CONNECTED
    host = str(document.get("host") or machine.host)
    told = document.get("agents")
    agents = [
        shown
        for entry in (told if isinstance(told, list) else [])
        if isinstance(entry, dict) and (shown := _as_here(machine, entry, host, stale)) is not None
    ]
    return Known(
        machine=machine,
        state=state,
        note=str(document.get("note") or ""),
        since=_number(document.get("since")),
        next=_number(document.get("next")),
        version=str(document.get("version") or ""),
        host=host,
        agents=agents,
    )


def write(machine: Machine, document: dict[str, Any]) -> None:
    """Called by the link alone."""
    content = jsontext.dumps({**document, "url": machine.url}, indent="  ").encode("utf-8", "replace")
    files.replace(_seen_file(machine), content)


def forget(machine: Machine) -> None:
    """Called when its link has ended."""
    locks = [paths.machine_socket(machine.name, suffix) for suffix in (".link", ".use", ".now")]
    for path in (_seen_file(machine), *locks):
        try:
            os.unlink(path)
        except OSError:
            pass  # there is none


def _seen_file(machine: Machine) -> str:
    return os.path.join(paths.machines_dir(), f"{machine.name}.seen")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _as_here(machine: Machine, entry: Entry, host: str, stale: bool) -> Entry | None:
    """The entry of an agent there as `RemoteSource` describes it; None if it makes no sense."""
    name, agent_id = entry.get("name"), entry.get("agent_id")
    if not (isinstance(name, str) and isinstance(agent_id, str) and _is_word(name) and _is_word(agent_id)):
        return None
    if any(key not in entry for key in ("agent_type", "status", "pid", "port", "working_dir")):
        return None
    return {
        **entry,
        "name": f"{name}@{machine.name}",
        "endpoint": machine.url,
        "socket": paths.machine_socket(machine.name, f"-{agent_id[:16]}.http"),
        "machine": machine.name,
        "host": host,
        "source": KIND,
        "stale": stale,
        "name_there": name,
        "socket_there": str(entry.get("socket") or ""),
    }


def _is_word(text: str) -> bool:
    return 0 < len(text) <= 64 and all(char.isalnum() or char in "-_" for char in text)


def control_path(machine: Machine) -> str:
    return paths.machine_socket(machine.name, ".ssh")


def is_linked(machine: Machine) -> bool:
    """Whether the machine's link runs: it holds the lock. Readers take a shared one for microseconds."""
    return _is_locked(paths.machine_socket(machine.name, ".link"), fcntl.LOCK_SH)


def take_link(machine: Machine) -> int | None:
    """The descriptor of the link's lock, or None if another process has it."""
    fd = os.open(paths.machine_socket(machine.name, ".link"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(20):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            time.sleep(LOOK)  # a reader looks, or another link has it
    os.close(fd)
    return None


class Use:
    """While it is open, the link stays. Whoever follows a task or shows a screen holds one."""

    def __init__(self, machine: Machine) -> None:
        self.fd = -1
        if not is_forbidden():  # in a sandbox the agent's host reaches the machine
            self.fd = os.open(_use_file(machine), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.utime(self.fd)
            fcntl.flock(self.fd, fcntl.LOCK_SH)

    def close(self) -> None:
        if self.fd >= 0:
            os.utime(self.fd)
            os.close(self.fd)
            self.fd = -1


def unused_for(machine: Machine, now: float) -> float:
    """The seconds since somebody used the machine; 0 while somebody does."""
    path = _use_file(machine)
    try:
        return 0.0 if _is_locked(path, fcntl.LOCK_EX) else max(now - os.stat(path).st_mtime, 0.0)
    except OSError:
        return now


def _use_file(machine: Machine) -> str:
    return paths.machine_socket(machine.name, ".use")


def _is_locked(path: str, against: int) -> bool:
    """Whether somebody has a lock that excludes this kind of lock."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, against | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def want(machine: Machine, now: bool = False) -> Known:
    """What is known, and see to it that the machine is or will be connected. Returns at once. With `now`, a
    link that waits for its next attempt tries at once: a human asks."""
    known = read(machine)
    if is_forbidden():
        return known
    Use(machine).close()
    if now and known.state == WAITING:
        with open(paths.machine_socket(machine.name, ".now"), "wb"):
            pass
    if not is_linked(machine) and (now or known.state != FAILED or time.time() - known.since > AGAIN):
        _start(machine)
    return known


def wait(machine: Machine, patience: float, now: bool = True) -> Known:
    """The same, and wait until it is connected, or until an attempt has failed: with `now` a new one, else
    also one that was before."""
    began, deadline = time.time(), time.monotonic() + patience
    use = Use(machine)
    try:
        known = want(machine, now)
        while not known.connected and time.monotonic() < deadline:
            if known.state in (FAILED, WAITING) and (known.since >= began or not now):
                break
            if known.note and not now:
                break  # it did not answer before
            time.sleep(LOOK)
            known = read(machine)
    finally:
        use.close()
    return known


def _start(machine: Machine) -> None:
    """Start the link, outside of this session: it outlives this process."""
    import subprocess  # 10 ms, and most commands find the link running

    words = [*paths.our_python(), "-m", "synapse.peers.machines.link", machine.name]
    _started[:] = [process for process in _started if process.poll() is None]
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    _started.append(process)
