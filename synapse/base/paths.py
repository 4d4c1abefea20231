"""All paths that Synapse uses under the user's home.

Only `os.path`: this is on the start-up path, and `pathlib` would cost 10 ms.
"""

from __future__ import annotations

import os
import sys

from synapse.base.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def synapse_home() -> str:
    return os.environ.get("SYNAPSE_HOME") or os.path.expanduser("~/.synapse")


def a2a_home() -> str:
    return os.environ.get("A2A_HOME") or os.path.expanduser("~/.a2a")


def shortened(directory: str) -> str:
    """For display: with `~` for the user's home."""
    home = os.path.expanduser("~").rstrip("/")
    under = directory == home or directory.startswith(f"{home}/")
    return f"~{directory[len(home) :]}" if under else directory


def registry_dir() -> str:
    return os.path.join(a2a_home(), "registry")


def external_dir() -> str:
    return os.path.join(a2a_home(), "external")


def machines_dir() -> str:
    """The machines that are reached by SSH, and what was last seen of them."""
    return os.path.join(synapse_home(), "machines")


def config_file() -> str:
    return os.path.join(synapse_home(), "config.yaml")


def user_profiles_dir() -> str:
    return os.path.join(synapse_home(), "profiles")


def builtin_profiles_dir() -> str:
    return os.path.join(_package_dir(), "profiles")


def _package_dir() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def runs_dir() -> str:
    """A directory for each run, and the user's own scripts."""
    return os.path.join(synapse_home(), "runs")


def cache_dir() -> str:
    return os.path.join(synapse_home(), "cache")


def logs_dir() -> str:
    return os.path.join(synapse_home(), "logs")


def our_python() -> list[str]:
    """The command that runs this Python with this Synapse.

    PYTHONPATH is meant for the user's agents: it is ignored, unless Synapse itself is imported from it.
    """
    theirs = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = os.path.dirname(_package_dir())
    options = ["-P"] if ours in map(os.path.abspath, theirs) else ["-P", "-E"]
    return [sys.executable, *options]


def our_command() -> str:
    """The `synapse` of this installation, as a shell takes it: the PATH of an agent's shell may lack it."""
    script = os.path.join(os.path.dirname(sys.executable), "synapse")
    words = [script] if os.access(script, os.X_OK) else [*our_python(), "-m", "synapse"]
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Not with shlex: this is imported while an agent starts."""
    plain = all(char.isalnum() or char in "/._-+" for char in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"


def private_dir(path: str) -> str:
    """Create `path` and its missing parents with mode 0700; return `path`."""
    if not os.path.isdir(path):
        private_dir(os.path.dirname(os.path.abspath(path)))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
    return path


def runtime_dir() -> str:
    """The directory of the sockets. It is short, since AF_UNIX paths are limited to 107 bytes, and private.

    Each pair of SYNAPSE_HOME and A2A_HOME has its own: the same agent in another home is another agent.
    """
    homes = f"{os.path.abspath(synapse_home())}|{os.path.abspath(a2a_home())}"
    base = os.environ.get("XDG_RUNTIME_DIR")
    if not base or len(base) > 40 or not os.access(base, os.W_OK):
        base = f"/tmp/synapse-{os.getuid()}"
        status = os.lstat(private_dir(base))
        if status.st_uid != os.getuid() or status.st_mode & 0o077 or not os.path.isdir(base):
            raise PermissionError(1, "not a private directory of this user", base)
    return private_dir(os.path.join(base, "synapse-" + sha256_hex(homes)[:10]))


def control_socket(agent_id: str) -> str:
    """The host's private socket: HTTP for Synapse's own commands."""
    return os.path.join(runtime_dir(), agent_id[:16] + ".http")


def events_socket(agent_id: str) -> str:
    return os.path.join(runtime_dir(), agent_id[:16] + ".hook")


def attach_socket(agent_id: str) -> str:
    return os.path.join(runtime_dir(), agent_id[:16] + ".tty")


def request_fifo(agent_id: str) -> str:
    """Where a sandboxed agent's commands write what they may not send."""
    return os.path.join(runtime_dir(), agent_id[:16] + ".requests")


def replies_dir(agent_id: str) -> str:
    """The responses to what came through the FIFO: a file each."""
    return os.path.join(runtime_dir(), agent_id[:16] + ".replies")


def mesh_file() -> str:
    """Is there while this machine has joined a mesh."""
    return os.path.join(synapse_home(), "mesh", "joined.json")


def view_socket() -> str:
    """The private socket of a running `synapse view`."""
    return os.path.join(runtime_dir(), "view.http")


def machine_socket(machine: str, suffix: str) -> str:
    """A file of the connection to a machine. `ssh` adds 17 characters to the path of its own socket."""
    return os.path.join(runtime_dir(), f"m-{sha256_hex(machine)[:8]}{suffix}")


def restored_file(agent: int) -> str:
    """Says that the terminal of the agent with this process id was restored after its relay was killed."""
    return os.path.join(runtime_dir(), f"{agent}.restored")


def remove_sockets(agent_id: str) -> None:
    """Remove an agent's sockets, its FIFO with its replies, and the directory if it is empty. The caller
    holds the registry's mutex."""
    directory, replies = runtime_dir(), replies_dir(agent_id)
    for path in (control_socket, events_socket, attach_socket, request_fifo):
        _remove(os.unlink, path(agent_id))  # or it was never made
    try:
        for name in os.listdir(replies):
            _remove(os.unlink, os.path.join(replies, name))
    except OSError:
        pass
    _remove(os.rmdir, replies)
    _remove(os.rmdir, directory)  # unless it has sockets of other agents


def _remove(how: Callable[[str], None], path: str) -> None:
    try:
        how(path)
    except OSError:
        pass


def agent_dir(agent_id: str) -> str:
    """What an agent keeps from one run to the next: its tasks, their files, and messages that it sent."""
    return os.path.join(synapse_home(), "agents", agent_id)


def awaited_dir(agent_id: str) -> str:
    """The tasks on other machines whose replies the agent did not wait for: a file each."""
    return os.path.join(agent_dir(agent_id), "awaited")


def starts_file(agent_id: str) -> str:
    """How the agent was started, each time."""
    return os.path.join(agent_dir(agent_id), "starts.jsonl")


def session_file(agent_id: str) -> str:
    """Which conversation of its CLI the agent shows, if its commands are to be known by that."""
    return os.path.join(agent_dir(agent_id), "session.json")


def log_file(name: str) -> str:
    return os.path.join(logs_dir(), f"{name}.log")


def output_file(name: str) -> str:
    return os.path.join(logs_dir(), f"{name}.out")
