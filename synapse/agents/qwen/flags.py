"""The launch flag of Qwen Code: a file for the events of this process."""

from __future__ import annotations

import os

from synapse.agents.flags import has, installed_version
from synapse.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OWN = ("--json-fd", "--json-file", "--jsonFd", "--jsonFile")
_KNOWS_EVENTS = (0, 15)  # an older version may refuse the flag


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """It writes at the beginning of a file that is there, without cutting it: the last run's must go."""
    agent = env.get("SYNAPSE_AGENT_ID")
    if not agent or any(has(args, flag) for flag in _OWN) or _configured(env):
        return []
    if installed_version("qwen", env) < _KNOWS_EVENTS:
        return []
    path = os.path.join(paths.agent_dir(agent), "qwen-events.jsonl")
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        return []
    return ["--json-file", path]


def _configured(env: Mapping[str, str]) -> bool:
    """Whether the user's settings may name such a file: the flag would take its place."""
    home = env.get("QWEN_HOME") or os.path.join(env.get("HOME", ""), ".qwen")
    try:
        with open(os.path.join(home, "settings.json"), "rb") as file:
            return b'"dualOutput"' in file.read()
    except OSError:
        return False
