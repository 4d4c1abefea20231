"""All paths that Synapse uses under the user's home.

Only `os.path`: this is on the start-up path, and `pathlib` would cost 10 ms.
"""

import os
import sys

from synapse.base.digest import sha256_hex


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


def config_file() -> str:
    return os.path.join(synapse_home(), "config.yaml")


def user_profiles_dir() -> str:
    return os.path.join(synapse_home(), "profiles")


def builtin_profiles_dir() -> str:
    return os.path.join(_package_dir(), "profiles")


def _package_dir() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


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


def remove_sockets(agent_id: str) -> None:
    """Remove an agent's sockets, and the directory if it is empty. The caller holds the registry's mutex."""
    directory = runtime_dir()
    for path in (control_socket(agent_id), events_socket(agent_id), attach_socket(agent_id)):
        try:
            os.unlink(path)
        except OSError:
            pass  # never bound, or already gone
    try:
        os.rmdir(directory)
    except OSError:
        pass  # it has sockets of other agents


def agent_dir(agent_id: str) -> str:
    """What an agent keeps from one run to the next: its tasks, their files, and messages that it sent."""
    return os.path.join(synapse_home(), "agents", agent_id)


def session_file(agent_id: str) -> str:
    """Which conversation of its CLI the agent shows, if its commands are to be known by that."""
    return os.path.join(agent_dir(agent_id), "session.json")


def log_file(name: str) -> str:
    return os.path.join(logs_dir(), f"{name}.log")


def output_file(name: str) -> str:
    return os.path.join(logs_dir(), f"{name}.out")
