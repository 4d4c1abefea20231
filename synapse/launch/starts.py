"""How each agent was started: for `synapse restart`, and for the names of agents that have ended.

An agent's id is made from its directory and type, so several starts share one file, one line each. A token
is not kept, only the name of the file that it was read from.
"""

from __future__ import annotations

import os
import time

from synapse.base import files, jsontext, paths
from synapse.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from synapse.registry import Entry

KEPT = 100  # starts of one id


class Start(Record):
    at: float
    name: str
    profile: str  # empty: a script has made the profile, and it is in no file
    working_dir: str
    port: int
    host: str  # empty: the default
    token_file: str
    token: bool  # whether it has one
    foreground: bool
    args: list[str]


def remember_start(
    entry: Entry,
    args: Sequence[str],
    *,
    profile: str,
    host: str | None,
    token_file: str | None,
    token: bool,
    foreground: bool,
) -> None:
    """Keep how an agent is being started. What cannot be written is not kept: the agent starts anyway."""
    agent_id = str(entry["agent_id"])
    start: dict[str, object] = {
        "at": time.time(),
        "name": entry["name"],
        "profile": profile,
        "working_dir": entry["working_dir"],
        "port": entry["port"],
        "host": host or "",
        "token_file": os.path.abspath(token_file) if token_file else "",
        "token": token,
        "foreground": foreground,
        "args": [os.fsencode(word).decode("utf-8", "backslashreplace") for word in args],
    }
    try:
        paths.private_dir(paths.agent_dir(agent_id))
        lines = [*_lines(agent_id)[-KEPT + 1 :], jsontext.dumps(start)]
        files.replace(paths.starts_file(agent_id), "".join(f"{line}\n" for line in lines).encode())
    except (OSError, ValueError):
        pass


def read_starts(agent_id: str) -> list[Start]:
    """The starts of one id, the oldest first."""
    found = []
    for line in _lines(agent_id):
        try:
            found.append(Start(**jsontext.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue  # damaged, or of another version
    return found


def last_start(name: str) -> Start | None:
    """The latest start of any agent with this name."""
    try:
        agents = os.listdir(os.path.dirname(paths.agent_dir("x")))
    except OSError:
        return None
    wanted = name.casefold()
    starts = [
        start for agent_id in agents for start in read_starts(agent_id) if start.name.casefold() == wanted
    ]
    return max(starts, key=lambda start: start.at, default=None)


def _lines(agent_id: str) -> list[str]:
    try:
        with open(paths.starts_file(agent_id), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
