"""Messages that wait for their machine: a file each, in `~/.synapse/machines/<name>.out/`.

A command that does not wait for a reply leaves its message here if the machine does not answer. The machine's
link stays while one is here and lets `synapse machine deliver` hand them over once it is connected. What the
agent refuses stays as a `.failed` file with the reason, for a day.
"""

from __future__ import annotations

import os
import time

from synapse.base import files, jsontext, paths
from synapse.errors import SynapseError, WaitTimeout
from synapse.peers.machines.known import KIND
from synapse.peers.machines.machine import Machine, Machines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from synapse.peers.origin import Origin

ANSWER = 30.0  # seconds for a machine that was connected a moment ago
FAILED_KEPT = 24 * 3600.0  # seconds
WAITING, FAILED = ".json", ".failed"


def machine_of(address: str) -> Machine | None:
    """The machine of a peer's address, if it is reached by SSH."""
    kind, _, place = address.partition(":")
    return Machines().find(place.rpartition("@")[2]) if kind == KIND else None


def _folder(machine: Machine) -> str:
    return os.path.join(paths.machines_dir(), f"{machine.name}.out")


def _files(machine: Machine, ending: str) -> list[str]:
    """The oldest first."""
    try:
        names = os.listdir(_folder(machine))
    except OSError:
        return []
    return [os.path.join(_folder(machine), name) for name in sorted(names) if name.endswith(ending)]


def waiting(machine: Machine) -> int:
    return len(_files(machine, WAITING))


def failures(machine: Machine) -> list[str]:
    """A sentence for each message that could not be handed over."""
    found = []
    for path in _files(machine, FAILED):
        told = files.read_object(path)
        if time.time() - float(told.get("failed_at") or 0) > FAILED_KEPT:
            os.unlink(path)
        else:
            found.append(f"a message to {told.get('name')} was not sent: {told.get('failure')}")
    return found


def keep(machine: Machine, document: dict[str, Any]) -> None:
    """Raises OSError if it cannot be stored. `document` has address, name, message, request_id, priority,
    expires, metadata and origin."""
    folder = paths.private_dir(_folder(machine))
    now = time.time()
    name = f"{int(now * 1000):015}-{document['request_id']}{WAITING}"
    files.replace(os.path.join(folder, name), jsontext.dumps({**document, "at": now}).encode())


def drop(machine: Machine) -> int:
    """Forget all; returns how many were not sent."""
    count = waiting(machine)
    for path in (*_files(machine, WAITING), *_files(machine, FAILED)):
        os.unlink(path)
    try:
        os.rmdir(_folder(machine))
    except OSError:
        pass  # there is none
    return count


async def hand_over(machine: Machine) -> None:
    """Send what waits, in order. Returns early if the machine is lost again."""
    for path in _files(machine, WAITING):
        told = files.read_object(path)
        try:
            await _send(told)
        except WaitTimeout:
            return
        except (SynapseError, KeyError, TypeError, ValueError) as error:
            failure = str(error) if isinstance(error, SynapseError) else "its file is damaged: send it again."
            failed = {**told, "failure": failure, "failed_at": time.time()}
            files.replace(path.removesuffix(WAITING) + FAILED, jsontext.dumps(failed).encode())
        os.unlink(path)


async def _send(told: dict[str, Any]) -> None:
    from synapse.peers.directory import open_directory

    expires = told.get("expires")
    if expires is not None:
        expires = float(told["at"]) + float(expires) - time.time()
        if expires <= 0:
            raise SynapseError("it expired before its machine answered: send it again.")
    peer = open_directory(_origin(told.get("origin"))).at(str(told["address"]), str(told["name"]))
    await peer.send(
        str(told["message"]),
        priority=int(told["priority"]),
        request_id=str(told["request_id"]),
        metadata=told.get("metadata") or {},
        timeout=ANSWER,
        expires=expires,
    )


def _origin(told: object) -> Origin | None:
    from synapse.peers.origin import Origin

    return Origin(str(told["id"]), str(told["name"])) if isinstance(told, dict) else None
