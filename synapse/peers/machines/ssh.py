"""The user's own `ssh`: its command lines, and what its errors mean.

One connection for each machine (ControlMaster) carries everything; the control path is in the runtime
directory. `BatchMode` keeps it from asking for a password where nobody would see the question.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess

from synapse.base import jsontext
from synapse.config import load_settings
from synapse.errors import SynapseError
from synapse.peers.machines.known import control_path
from synapse.peers.machines.machine import Machine
from synapse.registry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

CONNECTING = 10  # seconds until a host that does not answer counts as down
ALIVE_EVERY, ALIVE_MISSED = (
    5,
    3,
)  # seconds between two questions whether it is there, and how many may be lost
QUICK = 10.0  # seconds for a request to the master connection
NO_SYNAPSE = 127  # the exit status of a shell that does not find a command

# What would disturb a connection that nobody looks at is switched off, whatever the configuration says.
_MASTER = {
    "BatchMode": "yes",
    "ConnectTimeout": str(CONNECTING),
    "ServerAliveInterval": str(ALIVE_EVERY),
    "ServerAliveCountMax": str(ALIVE_MISSED),
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "StreamLocalBindUnlink": "yes",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "RequestTTY": "no",
    "RemoteCommand": "none",
    "PermitLocalCommand": "no",
    "LogLevel": "INFO",
}
_LOOK_UP = """\
s=$(command -v synapse) || s=$("${SHELL:-sh}" -lc "command -v synapse" 2>/dev/null </dev/null | tail -n 1)
case $s in /*) exec "$s" "$@";; esac
echo "synapse: command not found" >&2; exit 127"""

# What `ssh` writes, and the sentence for it; `{typed}` is how the user connects by hand.
_ERRORS: tuple[tuple[str, str, bool], ...] = (
    (
        r"Could not resolve hostname",
        "the host {host} is not known: check the address in `synapse machine list`, or the network",
        True,
    ),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key for .* has changed",
        "the host key of {host} has changed, which may be an attack: find out why before you connect again",
        False,
    ),
    (
        r"Host key verification failed|No \S+ host key is known",
        "the host key of {host} is not known: run `{typed}` once and compare the key",
        False,
    ),
    (
        r"Permission denied|Too many authentication failures|no mutual signature",
        "{host} asks for a password or does not accept your key: "
        "set up a key with `ssh-copy-id`, or load it with `ssh-add`, until `{typed}` asks for nothing",
        False,
    ),
    (r"Connection refused", "nothing listens at {at}: check the port, or whether sshd runs there", True),
    (
        r"timed out|Operation timed out",
        f"{{at}} did not answer within {CONNECTING} s: check the address, or whether the machine is on",
        True,
    ),
    (r"Network is unreachable|No route to host", "there is no way to {host}: check the network", True),
    (
        r"Bad configuration option|Can't open user config file|no argument after keyword",
        "ssh does not accept its configuration ({said}): correct it, or the setting machines.ssh",
        False,
    ),
)  # fmt: skip


class Failure(SynapseError):
    """A connection that could not be made, or has ended. `passes`: another attempt may succeed by itself."""

    def __init__(self, sentence: str, passes: bool = True) -> None:
        super().__init__(sentence)
        self.passes = passes


def program() -> list[str]:
    return list(load_settings().machines.ssh)


def master(machine: Machine, words: Sequence[str]) -> list[str]:
    """The command that opens the connection and runs Synapse there with these arguments."""
    options = [f"-o{name}={value}" for name, value in _MASTER.items()]
    return [*program(), *options, "-S", control_path(machine), *machine.destination, there(machine, words)]


def session(machine: Machine, words: Sequence[str], terminal: bool = False) -> list[str]:
    """The command that runs Synapse there over the connection, which must be open."""
    options = ["-oControlMaster=no", "-oRemoteCommand=none", "-oLogLevel=ERROR", "-t" if terminal else "-T"]
    if not terminal:
        options.append("-oBatchMode=yes")
    return [*program(), *options, "-S", control_path(machine), *machine.destination, there(machine, words)]


def there(machine: Machine, words: Sequence[str]) -> str:
    """What the login shell there, whichever it is, runs: Synapse by its path, from PATH, or from the PATH of
    a login shell, since `ssh` starts none."""
    if machine.synapse:
        return shlex.join(["exec", machine.synapse, *words])
    return shlex.join(["exec", "sh", "-c", _LOOK_UP, "synapse", *words])


def run(machine: Machine, words: Sequence[str], timeout: float = 30.0) -> Any:
    """The JSON that a command of Synapse there prints."""
    try:
        done = subprocess.run(
            session(machine, words), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"{machine.name} did not answer within {timeout:g} s: try again.") from None
    except OSError as error:
        raise no_ssh(error) from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("synapse: ")
        raise SynapseError(f"{machine.name} says: {said or f'status {done.returncode}'}")
    try:
        return jsontext.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError:
        raise SynapseError(f"{machine.name} gave an answer that makes no sense: try again.") from None


def forward(machine: Machine, entry: Entry) -> None:
    """Make the agent's private socket there answer here, as `entry["socket"]`."""
    _ask_master(machine, "forward", entry)
    if not os.path.exists(str(entry["socket"])):
        raise Failure(f"ssh did not forward the socket of {entry['name']}: try again.")


def cancel_forward(machine: Machine, entry: Entry) -> None:
    try:
        _ask_master(machine, "cancel", entry)
    except SynapseError:
        pass  # the connection has ended, and the forwarding with it
    try:
        os.unlink(str(entry["socket"]))
    except OSError:
        pass


def _ask_master(machine: Machine, what: str, entry: Entry) -> None:
    here, there = str(entry["socket"]), str(entry["socket_there"])
    if not there.startswith("/") or ":" in there:
        raise SynapseError(f"{entry['name']} has no private socket that can be forwarded: restart it there.")
    words = [*program(), "-S", control_path(machine), "-O", what, "-L", f"{here}:{there}"]
    try:
        done = subprocess.run(
            [*words, *machine.destination], stdin=subprocess.DEVNULL, capture_output=True, timeout=QUICK
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"the connection to {machine.name} hangs: try again.") from None
    except OSError as error:
        raise no_ssh(error) from error
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[-200:]
        raise Failure(f"the socket of {entry['name']} cannot be forwarded ({said}): try again.")


def no_ssh(error: OSError) -> Failure:
    name = program()[0]
    return Failure(
        f"{name} cannot be run ({error.strerror}): install it (OpenSSH), or set machines.ssh.", passes=False
    )


def failure(machine: Machine, status: int, said: str) -> Failure:
    """What is wrong, from the exit status of `ssh` and what it has written."""
    at = f"{machine.host}:{machine.port}" if machine.port else machine.host
    last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
    if status == NO_SYNAPSE:
        where = f"at {machine.synapse}" if machine.synapse else "in the PATH of its login shell"
        return Failure(
            f"there is no Synapse {where} on {machine.name}: install it there, "
            f"or say where it is with `synapse machine add {machine.name} {machine.url} --synapse PATH`.",
            passes=False,
        )
    for pattern, sentence, passes in _ERRORS if status == 255 else ():
        if re.search(pattern, said):
            filled = sentence.format(host=machine.host, at=at, typed=machine.typed, said=last[:200])
            return Failure(f"{filled}.", passes)
    if status == 255:
        return Failure(f"the connection to {at} ended ({last[:200] or 'without a reason'}).")
    return Failure(
        f"Synapse on {machine.name} ended with status {status} ({last[:200] or 'it said nothing'}): "
        f"it may be older than this one; try `{machine.typed} synapse --version`.",
        passes=False,
    )
