"""The process that holds the connection to one machine: `python -m synapse.peers.machines.link NAME`.

It is started by whoever needs the machine, writes which agents run there, connects again with growing pauses,
and ends when nobody has used the machine for a while. A failure that no waiting cures (an unknown host key,
no Synapse there) ends it at once; the next use starts another.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

from synapse.base import jsontext, paths, processes
from synapse.config import load_settings
from synapse.errors import SynapseError
from synapse.peers.machines import known, outbox, ssh
from synapse.peers.machines.machine import Machine, Machines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TICK = 0.5  # seconds between two looks at whether it is still wanted
HELLO = ssh.CONNECTING + 10.0  # seconds until the first line of the other end
SILENT = 6.0  # seconds without a line, of which one comes every two, until the agents count as stale
PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two attempts
STEADY = 5.0  # seconds after which a connection was a good one: the pauses begin anew
DELIVER_EVERY = 5.0  # seconds between two attempts to send what waits
LINE = 1 << 24  # bytes of one line at most


class Link:
    def __init__(self, machine: Machine, keep: float) -> None:
        self._machine = machine
        self._keep = keep
        self._document: dict[str, Any] = {"agents": [], "version": "", "host": ""}
        self._delivering: subprocess.Popen[bytes] | None = None
        self._next_delivery = 0.0  # by the monotonic clock
        self._last = known.read(machine)  # of an earlier link
        if self._last.agents:
            self._document |= {"version": self._last.version, "host": self._last.host}
            self._document["agents"] = [_as_there(entry) for entry in self._last.agents]

    def run(self) -> None:
        pause = PAUSE
        while self.is_wanted():
            connection: _Connection | None = None
            self._tell(known.CONNECTING)
            try:
                connection = _Connection(self._machine, self)
                connection.run()
                return  # not wanted any more
            except ssh.Failure as failure:
                if not failure.passes:
                    self.fail(str(failure))
                    return
                if connection is not None and connection.lasted > STEADY:
                    pause = PAUSE
                self._tell(known.WAITING, str(failure), time.time() + pause)
            finally:
                self._clear()
            self._rest(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def took(self, line: dict[str, Any]) -> None:
        """A line of the other end."""
        if isinstance(version := line.get("synapse"), str):
            self._document |= {"version": version, "host": str(line.get("host") or "")}
        elif isinstance(agents := line.get("agents"), list):
            before = {entry["agent_id"]: entry for entry in known.read(self._machine).agents}
            self._document["agents"] = agents
            self._tell(known.CONNECTED)
            now = {entry["agent_id"]: entry for entry in known.read(self._machine).agents}
            for agent_id, entry in before.items():
                there = now.get(agent_id, {}).get("socket_there")
                if there != entry["socket_there"] and os.path.exists(str(entry["socket"])):
                    ssh.cancel_forward(self._machine, entry)
        elif self._document["state"] != known.CONNECTED:
            self._tell(known.CONNECTED)  # it was silent for a while

    def is_silent(self) -> None:
        if self._document["state"] == known.CONNECTED:
            self._tell(known.CONNECTING, f"{self._machine.host} has stopped answering: waiting for it.")

    def _tell(self, state: str, note: str = "", next: float = 0.0) -> None:
        if state == known.CONNECTING and not note:  # the reason why it was lost is still the last news
            note = str(self._document.get("note") or "")
        self._document |= {"state": state, "note": note, "since": time.time(), "next": next}
        if Machines().find(self._machine.name) is not None:
            known.write(self._machine, self._document)

    def fail(self, note: str) -> None:
        self._tell(known.FAILED, note)

    def is_wanted(self) -> bool:
        if Machines().find(self._machine.name) != self._machine:
            return False
        is_used = known.unused_for(self._machine, time.time()) < self._keep
        return is_used or outbox.waiting(self._machine) > 0

    def hand_over(self) -> None:
        """Let what waits for the machine be sent, by a process of its own: it loads more than this one."""
        is_busy = self._delivering is not None and self._delivering.poll() is None
        if is_busy or self._document["state"] != known.CONNECTED or time.monotonic() < self._next_delivery:
            return
        if outbox.waiting(self._machine):
            self._next_delivery = time.monotonic() + DELIVER_EVERY
            quiet = subprocess.DEVNULL
            self._delivering = subprocess.Popen(
                [*paths.our_python(), "-m", "synapse", "machine", "deliver", self._machine.name],
                stdin=quiet,
                stdout=quiet,
                stderr=quiet,
                cwd="/",
                preexec_fn=_end_with_parent,
            )

    def _rest(self, seconds: float) -> None:
        """Until the next attempt; a human who asks for the machine cuts it short."""
        now, until = paths.machine_socket(self._machine.name, ".now"), time.monotonic() + seconds
        while time.monotonic() < until and self.is_wanted() and not _removed(now):
            time.sleep(min(TICK / 8, seconds))

    def _clear(self) -> None:
        """Remove the sockets of a connection that has ended."""
        folder, prefix = os.path.split(paths.machine_socket(self._machine.name, "-"))
        for name in os.listdir(folder):
            if name.startswith(prefix) and name.endswith(".http"):
                _removed(os.path.join(folder, name))
        _removed(known.control_path(self._machine))


class _Connection:
    """One run of `ssh`. The session that opens the connection is the feed of the other end."""

    def __init__(self, machine: Machine, link: Link) -> None:
        self._machine = machine
        self._link = link
        self._out = b""
        self._said = b""  # on standard error
        self._heard = time.monotonic()
        self._hello = False
        self._began = 0.0
        try:
            self._ssh = subprocess.Popen(
                ssh.master(machine, ["machine", "feed"]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            raise ssh.no_ssh(error) from error

    @property
    def lasted(self) -> float:
        """The seconds from the first line of the other end to the last one."""
        return self._heard - self._began if self._hello else 0.0

    def run(self) -> None:
        """Returns when the machine is not wanted any more. Raises Failure when the connection ends."""
        try:
            self._read()
        finally:
            self._end()

    def _read(self) -> None:
        assert self._ssh.stdout is not None and self._ssh.stderr is not None
        with selectors.DefaultSelector() as selector:
            for file, take in ((self._ssh.stdout, self._take), (self._ssh.stderr, self._take_error)):
                os.set_blocking(file.fileno(), False)
                selector.register(file, selectors.EVENT_READ, take)
            while selector.get_map():
                for key, _ in selector.select(TICK):
                    data = os.read(key.fd, 1 << 16)
                    key.data(data)
                    if not data:
                        selector.unregister(key.fileobj)
                if not self._link.is_wanted():
                    return
                self._link.hand_over()
                self._check_time()
        status = self._ssh.wait()
        raise ssh.failure(self._machine, 255 if status < 0 else status, self._said.decode("utf-8", "replace"))

    def _check_time(self) -> None:
        quiet = time.monotonic() - self._heard
        if not self._hello and quiet > HELLO:
            raise ssh.Failure(
                f"{self._machine.host} has let us in, but Synapse there says nothing for {HELLO:g} s: "
                f"try `{self._machine.typed} synapse list`."
            )
        if self._hello and quiet > SILENT:
            self._link.is_silent()

    def _take(self, data: bytes) -> None:
        *lines, self._out = (self._out + data).split(b"\n")
        if len(self._out) > LINE:
            raise ssh.Failure(f"{self._machine.name} sends something that is no list of agents: try again.")
        for line in lines:
            try:
                document = jsontext.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue  # what a profile of the shell there prints
            if isinstance(document, dict) and (self._hello or "synapse" in document):
                self._heard = time.monotonic()
                self._began = self._began if self._hello else self._heard
                self._hello = True
                self._link.took(document)

    def _take_error(self, data: bytes) -> None:
        self._said = (self._said + data)[-8192:]

    def _end(self) -> None:
        """The end of standard input ends the feed; `ssh` itself might wait for other sessions."""
        for file in (self._ssh.stdin, self._ssh.stdout, self._ssh.stderr):
            if file is not None:
                try:
                    file.close()
                except OSError:
                    pass
        try:
            self._ssh.terminate()
            self._ssh.wait(2.0)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()


def _end_with_parent() -> None:
    processes.signal_at_parents_death(signal.SIGTERM)


def _as_there(entry: dict[str, object]) -> dict[str, object]:
    """The entry as the other end sent it."""
    added = ("machine", "host", "source", "stale", "name_there", "socket_there")
    kept = {key: value for key, value in entry.items() if key not in added}
    return kept | {"name": entry["name_there"], "socket": entry["socket_there"]}


def _removed(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def main(name: str) -> int:
    machine = Machines().find(name)
    if machine is None or (lock := known.take_link(machine)) is None:
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    link = Link(machine, load_settings().machines.keep)
    try:
        link.run()
    except SynapseError as error:  # a setting is wrong
        link.fail(str(error))
    os.close(lock)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
