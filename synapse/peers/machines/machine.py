"""The machines that are reached by SSH: `~/.synapse/machines/<name>.json`."""

from __future__ import annotations

import os
import re

from synapse.base import files, jsontext, paths
from synapse.base.record import Record
from synapse.errors import NoSuchAgent, SynapseError, UsageError
from synapse.registry import ALL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,62}\w)?", re.ASCII)
FORM = "ssh://[user@]host[:port]"
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]|[\w.-]+)"
_URL = re.compile(rf"ssh://(?:(?P<user>[^@/:?#\s\[\]]+)@)?{_HOST}(?::(?P<port>\d{{1,5}}))?/?", re.ASCII)


class Machine(Record):
    """`synapse` is the path of Synapse there; if it is empty, it is looked up there."""

    name: str
    user: str
    host: str
    port: int
    synapse: str

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        user, port = self.user and f"{self.user}@", f":{self.port}" if self.port else ""
        return f"ssh://{user}{host}{port}"

    @property
    def destination(self) -> list[str]:
        """The last arguments of `ssh` before a command; what is not given, the user's configuration says."""
        user = ["-l", self.user] if self.user else []
        return [*user, *(["-p", str(self.port)] if self.port else []), "--", self.host]

    @property
    def typed(self) -> str:
        """How the user connects to it by hand."""
        port = f"-p {self.port} " if self.port else ""
        return f"ssh {port}{self.user and self.user + '@'}{self.host}"


def parse(name: str, url: str, synapse: str = "") -> Machine:
    """Raises UsageError with what is wrong."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name[:70]!r} cannot be a machine's name: use up to 64 letters, digits, `.`, `-` and `_`."
        )
    if name.casefold() == ALL:
        raise UsageError("a machine cannot be called all: `all@all` means every agent of every machine.")
    found = _URL.fullmatch(url)
    if found is None:
        raise UsageError(f"{url!r} is no address of a machine: write {FORM}.")
    host, user, port = found["host"].strip("[]"), found["user"] or "", int(found["port"] or 0)
    if host.startswith("-") or user.startswith("-"):  # `ssh` would take it as an option
        raise UsageError(f"{url!r} is no address of a machine: a host or user does not begin with `-`.")
    if found["port"] and not 0 < port < 65536:
        raise UsageError(f"{port} is no port: write a number from 1 to 65535.")
    if synapse and not synapse.startswith("/"):
        raise UsageError(
            f"{synapse!r} is no absolute path: write where Synapse is there, beginning with `/`."
        )
    return Machine(name=name, user=user, host=host, port=port, synapse=synapse)


class Machines:
    def __init__(self) -> None:
        self.folder = paths.machines_dir()

    def list(self) -> list[Machine]:
        """In the order of their names. A file that is not that of a machine is ignored."""
        try:
            names = sorted(os.listdir(self.folder), key=str.casefold)
        except OSError:
            return []
        found = (self._read(name[:-5]) for name in names if name.endswith(".json"))
        return [machine for machine in found if machine is not None]

    def get(self, name: str) -> Machine:
        """Without regard to case. Raises NoSuchAgent."""
        machine = self.find(name)
        if machine is None:
            raise NoSuchAgent(no_machine(name))
        return machine

    def find(self, name: str) -> Machine | None:
        return next((m for m in self.list() if m.name.casefold() == name.casefold()), None)

    def add(self, machine: Machine) -> bool:
        """Whether it is new. One of that name is replaced."""
        known = self.find(machine.name)
        if known is not None and known.name != machine.name:
            self.remove(known.name)
        document = {key: getattr(machine, key) for key in ("name", "synapse")} | {"url": machine.url}
        path = self._path(machine.name)
        try:
            paths.private_dir(self.folder)
            files.replace(path, jsontext.dumps(document, indent="  ").encode() + b"\n")
        except OSError as error:
            raise SynapseError(
                f"cannot write {path} ({error.strerror}): make room or make it writable."
            ) from error
        return known is None

    def remove(self, name: str) -> None:
        try:
            os.unlink(self._path(name))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SynapseError(
                f"cannot remove {self._path(name)} ({error.strerror}): make its directory writable."
            ) from error

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{name}.json")

    def _read(self, name: str) -> Machine | None:
        return from_document(name, files.read_object(self._path(name)))


def from_document(name: str, document: Mapping[str, object]) -> Machine | None:
    try:
        return parse(name, str(document["url"]), str(document.get("synapse") or ""))
    except (KeyError, UsageError):
        return None


def no_machine(name: str) -> str:
    return f"no machine named {name!r} is known: `synapse machine add {name} {FORM}` adds it."
