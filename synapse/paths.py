"""Every path Synapse uses under the user's home, built in one place.

Only `os.path`: the relay starts through here, and `pathlib` alone would cost it 10 ms.
"""

import os


def synapse_home() -> str:
    return os.environ.get("SYNAPSE_HOME") or os.path.expanduser("~/.synapse")


def a2a_home() -> str:
    return os.environ.get("A2A_HOME") or os.path.expanduser("~/.a2a")


def registry_dir() -> str:
    return os.path.join(a2a_home(), "registry")


def external_dir() -> str:
    return os.path.join(a2a_home(), "external")


def config_file() -> str:
    return os.path.join(synapse_home(), "config.yaml")


def user_profiles_dir() -> str:
    return os.path.join(synapse_home(), "profiles")


def builtin_profiles_dir() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles")


def cache_dir() -> str:
    return os.path.join(synapse_home(), "cache")


def logs_dir() -> str:
    return os.path.join(synapse_home(), "logs")


def agent_dir(agent_id: str) -> str:
    return os.path.join(synapse_home(), "agents", agent_id)


def private_dir(path: str) -> str:
    """Make `path` with mode 0700, parents too, and return it."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path
