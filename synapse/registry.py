"""The running agents: for each one a JSON file and a lock file under ~/.a2a/registry.

Readers read `<agent_id>.json`. The agent's relay holds `<agent_id>.lock` until it ends, so the kernel knows
which agents are alive, even if a pid is used again. `.mutex` is held while a name, an instance and a port are
chosen.
"""

from __future__ import annotations

import fcntl
import os
import time

from synapse.base import checkpoints, files, jsontext, paths, processes
from synapse.base.digest import sha256_hex
from synapse.errors import NoSuchAgent, SynapseError, TargetError, UsageError

READY = "READY"
PROCESSING = "PROCESSING"
INPUT_REQUIRED = "INPUT_REQUIRED"
STATUSES = (READY, PROCESSING, INPUT_REQUIRED)

ALL, ALL_HERE = "all", "all-here"  # every running agent; every agent in this directory
RESERVED_NAMES = frozenset({ALL, ALL_HERE, "synapse-system"})
ENDING = b"ending"  # in the lock of an agent that is not listed any more

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Entry = dict[str, object]


def is_group(name: str) -> bool:
    """Whether a name means several agents: `all`, `all-here`, `all@machine`, or `all@all`."""
    group, at, _ = name.casefold().partition("@")
    return group == ALL or (group == ALL_HERE and not at)


def current_dir() -> str:
    """The working directory as text that JSON can carry; it may have been removed, or have a strange name."""
    try:
        return os.fsencode(os.getcwd()).decode("utf-8", "backslashreplace")
    except OSError:
        return os.environ.get("PWD", "?")


def check_name(name: str) -> None:
    import re

    if not re.fullmatch(r"[^\W_][\w-]*|_[\w-]+", name) or len(name) > 64 or name.casefold() in RESERVED_NAMES:
        raise UsageError(
            f"{name[:70]!r} cannot be an agent's name: use up to 64 letters, digits, - and _, "
            f"and not {' or '.join(sorted(RESERVED_NAMES))}."
        )


class AgentRegistry:
    def __init__(self, registry_dir: str | os.PathLike[str] | None = None) -> None:
        self.registry_dir = os.fspath(registry_dir) if registry_dir is not None else paths.registry_dir()
        self.hostname = os.uname().nodename
        self._locks: dict[str, int] = {}  # descriptors of the locks that this process holds

    def get_agent_id(self, agent_type: str, working_dir: str, instance: int = 1) -> str:
        key = f"{self.hostname}|{working_dir}|{agent_type}"
        if instance > 1:
            key += f"|{instance}"
        return sha256_hex(key)

    def choose(
        self, agent_type: str, working_dir: str, name: str | None, live: dict[str, Entry]
    ) -> tuple[str, str]:
        """An id and a name that no live agent has. Call it inside `mutex`."""
        instance = 1
        while self.is_alive(agent_id := self.get_agent_id(agent_type, working_dir, instance)):
            instance += 1
        taken = {str(entry["name"]).casefold(): entry for entry in live.values()}
        if name is not None:
            check_name(name)
            if name.casefold() in taken:
                raise UsageError(
                    f"an agent named {name!r} is already running in {taken[name.casefold()]['working_dir']}: "
                    f"choose another --name, or stop it with `synapse stop {name}`."
                )
            return agent_id, name
        number, chosen = 1, agent_type
        while chosen.casefold() in taken:
            number += 1
            chosen = f"{agent_type}-{number}"
        return agent_id, chosen

    def is_ending(self, agent_type: str, working_dir: str, live: dict[str, Entry]) -> bool:
        """Whether an agent that ends, and is not listed any more, still has the first free id."""
        instance = 1
        while (agent_id := self.get_agent_id(agent_type, working_dir, instance)) in live:
            instance += 1
        return self.is_alive(agent_id)

    def mutex(self) -> _Mutex:
        """Held while an agent starts: only one process at a time chooses a name and a port."""
        self._make_dir()
        return _Mutex(os.path.join(self.registry_dir, ".mutex"))

    def register(
        self,
        agent_id: str,
        agent_type: str,
        port: int,
        status: str = PROCESSING,
        *,
        name: str | None = None,
        working_dir: str | None = None,
        **more: object,
    ) -> Entry:
        """Register an agent. It is listed until this process ends, or until `unregister`."""
        _check_status(status)
        self._make_dir()
        self._take_lock(agent_id)
        entry: Entry = {
            "agent_id": agent_id,
            "name": name or agent_type,
            "agent_type": agent_type,
            "port": port,
            "status": status,
            "pid": os.getpid(),
            "working_dir": working_dir or current_dir(),
            "endpoint": f"http://localhost:{port}",
            "started_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **more,
        }
        try:
            self._write(agent_id, entry)
        except SynapseError:
            self.unregister(agent_id)
            raise
        return entry

    def lock_descriptors(self) -> list[int]:
        return list(self._locks.values())

    def withdraw(self, agent_id: str) -> None:
        """Remove the entry. The id is taken until `unregister`, and nobody publishes it again."""
        if (held := self._locks.get(agent_id)) is not None:
            os.pwrite(held, ENDING, 0)
        _unlink(self._file(agent_id, "json"))

    def unregister(self, agent_id: str) -> None:
        self.withdraw(agent_id)
        fd = self._locks.pop(agent_id, None)
        if fd is not None:
            _unlink(self._file(agent_id, "lock"))
            os.close(fd)

    def update_status(self, agent_id: str, status: str) -> bool:
        """Change the status of a live agent; False when there is no such agent."""
        _check_status(status)
        return self.update(agent_id, status=status)

    def update(self, agent_id: str, **changed: object) -> bool:
        """Change fields of a live agent's entry; None removes one. False when there is no such agent."""
        entry = self._read(agent_id)
        return entry is not None and self.publish(entry, **changed)

    def publish(self, entry: Entry, **changed: object) -> bool:
        """List a live agent, with these changes, even if its file was removed or damaged. False if it ends or
        has ended."""
        agent_id = str(entry["agent_id"])
        if not self.is_alive(agent_id) or self._is_withdrawn(agent_id):
            return False
        known = self._read(agent_id)
        merged = {key: value for key, value in {**(known or entry), **changed}.items() if value is not None}
        if merged != known:
            checkpoints.reached("entry changes")
            self._write(agent_id, merged)
            if self._is_withdrawn(agent_id):  # meanwhile
                _unlink(self._file(agent_id, "json"))
                return False
        return True

    def _is_withdrawn(self, agent_id: str) -> bool:
        try:
            with open(self._file(agent_id, "lock"), "rb") as file:
                return file.read(len(ENDING)) == ENDING
        except OSError:
            return False

    def keep_lock(self, agent_id: str) -> None:
        """Take the lock again if its file was removed: without it this agent counts as dead."""
        held = self._locks.get(agent_id)
        if held is not None and not _same_file(held, self._file(agent_id, "lock")):
            self._make_dir()
            self._take_lock(agent_id)
            os.close(held)

    def list_agents(self) -> dict[str, Entry]:
        """The live agents by id, oldest first. Removes the files of agents that have died, and no others."""
        live, dead = self._sort_out()
        if dead:
            try:
                with self.mutex():
                    self._clear_away(dead)
            except (OSError, SynapseError):
                pass  # the list is correct even if nothing can be removed
        return live

    def is_agent(self, sender: Mapping[str, object]) -> bool:
        """Whether the sender has the id, the name or the type of a running agent, or is an agent of another
        machine: those have an id, and a name with the machine (`name@machine`)."""
        if sender.get("id") and "@" in str(sender.get("name") or ""):
            return True
        said = {str(sender[key]).casefold() for key in ("id", "name") if sender.get(key)}
        return any(
            said & {agent_id, *(str(entry[key]).casefold() for key in ("name", "agent_type"))}
            for agent_id, entry in self.list_agents().items()
        )

    def list_agents_unlocked(self) -> dict[str, Entry]:
        """The same, for a caller that holds `mutex`."""
        live, dead = self._sort_out()
        self._clear_away(dead)
        return live

    def _sort_out(self) -> tuple[dict[str, Entry], list[str]]:
        try:
            names = os.listdir(self.registry_dir)
        except FileNotFoundError:
            return {}, []
        except OSError as error:
            raise _failure("read", self.registry_dir, error, "make it readable") from error
        live, dead = [], []
        for name in names:
            if name.endswith(".json"):
                agent_id = name[:-5]
                if self.is_alive(agent_id):
                    if (entry := self._read(agent_id)) is not None:
                        live.append(entry)
                elif self._is_dead(agent_id):
                    dead.append(agent_id)
        live.sort(key=lambda entry: (str(entry.get("started_at", "")), str(entry["name"])))
        return {str(entry["agent_id"]): entry for entry in live}, dead

    def resolve(self, target: str, working_dir: str | None = None, but: str = "") -> Entry:
        """The one agent that `target` means: a name, a type, type-port, or the beginning of an id.

        `but` is the id of an agent to leave out."""
        live = [entry for entry in self.list_agents().values() if entry["agent_id"] != but]
        return resolve_among(live, target, working_dir or current_dir())

    def stale_files(self) -> list[str]:
        """Files of agents that have died, which `list_agents` would remove."""
        try:
            names = sorted(os.listdir(self.registry_dir))
        except OSError:
            return []
        ours = (name for name in names if name.endswith((".json", ".lock")))
        stale = [name for name in ours if self._is_dead(name.rpartition(".")[0])]
        return [os.path.join(self.registry_dir, name) for name in stale]

    def _is_dead(self, agent_id: str) -> bool:
        """Whether these are files of an agent, and it has certainly ended. Others may keep files here too."""
        entry, has_lock = self._read(agent_id), os.path.exists(self._file(agent_id, "lock"))
        if entry is None and not (has_lock and _is_digest(agent_id)):
            return False
        if has_lock:
            return not self.is_alive(agent_id)
        pid = None if entry is None else entry["pid"]  # somebody removed the lock
        return isinstance(pid, int) and not processes.is_running(pid)

    def _file(self, agent_id: str, suffix: str) -> str:
        return os.path.join(self.registry_dir, f"{agent_id}.{suffix}")

    def _make_dir(self) -> None:
        try:
            paths.private_dir(self.registry_dir)
        except OSError as error:
            raise _failure("create", self.registry_dir, error) from error

    def _read(self, agent_id: str) -> Entry | None:
        try:
            with open(self._file(agent_id, "json"), encoding="utf-8") as file:
                entry = jsontext.loads(file.read())
        except (OSError, ValueError):
            return None
        needed = ("agent_id", "name", "agent_type", "port", "status", "pid", "working_dir", "endpoint")
        is_ours = isinstance(entry, dict) and all(key in entry for key in needed)
        return entry if is_ours and entry["agent_id"] == agent_id else None

    def _write(self, agent_id: str, entry: Entry) -> None:
        path = self._file(agent_id, "json")
        try:
            files.replace(path, jsontext.dumps(entry, indent="  ").encode())
        except OSError as error:
            raise _failure("write", path, error, "make room or make it writable") from error

    def _take_lock(self, agent_id: str) -> None:
        path = self._file(agent_id, "lock")
        while True:
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise _failure("write to", self.registry_dir, error) from error
            try:
                # A shared lock first: readers hold one for microseconds, a live agent holds an exclusive one.
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                raise SynapseError(f"agent {agent_id[:12]} is already running: see `synapse list`.") from None
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _same_file(fd, path):
                os.ftruncate(fd, 0)  # one that was killed may have left ENDING there
                self._locks[agent_id] = fd
                return
            os.close(fd)  # the file was removed in the meantime

    def is_alive(self, agent_id: str) -> bool:
        path = self._file(agent_id, "lock")
        while True:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return False
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if _same_file(fd, path):
                    return False
            except BlockingIOError:
                return True
            finally:
                os.close(fd)

    def _clear_away(self, agent_ids: Sequence[str]) -> None:
        for agent_id in agent_ids:
            if self._is_dead(agent_id):
                _unlink(self._file(agent_id, "json"))
                _unlink(self._file(agent_id, "lock"))


def resolve_among(live: Sequence[Entry], target: str, here: str) -> Entry:
    """The one entry that `target` means; of several of a type, the one in the directory `here`."""
    wanted = target.casefold()
    exact = [e for e in live if str(e["name"]).casefold() == wanted or e["agent_id"] == wanted]
    if len(exact) == 1 and exact[0]["agent_type"] != exact[0]["name"]:
        return exact[0]
    of_type = [e for e in live if str(e["agent_type"]).casefold() == wanted]
    in_here = [e for e in of_type if e["working_dir"] == here]
    by_port = [e for e in live if f"{e['agent_type']}-{e['port']}".casefold() == wanted]
    by_prefix = [e for e in live if len(wanted) >= 4 and str(e["agent_id"]).startswith(wanted)]
    for candidates in (in_here, exact, of_type, by_port, by_prefix):
        if len(candidates) == 1:
            return candidates[0]
        both = [e for e in candidates if e in exact]
        if len(both) == 1:
            return both[0]
        if candidates:
            names = ", ".join(f"{e['name']} ({e['working_dir']})" for e in candidates)
            raise TargetError(f"{target!r} could be any of {names}: use one of these names.")
    raise NoSuchAgent(_no_such_agent(target, live))


class _Mutex:
    """A lock file as a context manager; `contextlib` would cost every start 3 ms."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _failure(what: str, path: str, error: OSError, remedy: str = "make it writable") -> SynapseError:
    return SynapseError(f"cannot {what} {path} ({error.strerror}): {remedy}, or set A2A_HOME.")


def _check_status(status: str) -> None:
    if status not in STATUSES:
        raise ValueError(f"status must be one of {', '.join(STATUSES)}, not {status!r}")


def _is_digest(agent_id: str) -> bool:
    return len(agent_id) == 64 and set(agent_id) <= set("0123456789abcdef")


def _same_file(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _no_such_agent(target: str, live: Sequence[Entry]) -> str:
    if not live:
        return f"no agent named {target!r} is running: `synapse list` shows who is."
    import difflib

    names = [str(entry["name"]) for entry in live]
    near = difflib.get_close_matches(target, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"running: {', '.join(names)}."
    return f"no agent named {target!r} is running; {hint}"
