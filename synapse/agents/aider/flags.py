"""The launch flags of aider: a record of what it sends to the model and gets from it, and one of the tokens.

Its chat history would not do: agents in one directory share it, and a reply may contain what looks like the
next prompt. The user's own files always win; a flag would replace one that is set in a configuration file.
"""

from __future__ import annotations

import os

from synapse.agents.flags import has
from synapse.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HISTORY, EVENTS = "--llm-history-file", "--analytics-log"
_FILES = {HISTORY: "aider-llm.log", EVENTS: "aider-events.jsonl"}  # in the agent's own folder
_CONFIGURED = (".aider.conf.yml", ".env")


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    agent = env.get("SYNAPSE_AGENT_ID")
    if not agent:
        return []
    settings = _settings(env)
    added: list[str] = []
    for flag, name in _FILES.items():
        variable = "AIDER" + flag[1:].replace("-", "_").upper()
        if has(args, flag) or variable in env or flag[2:] in settings or variable in settings:
            continue
        path = os.path.join(paths.agent_dir(agent), name)
        if os.path.exists(path):  # of an earlier run
            os.unlink(path)
        added += [flag, path]
    return added


def _settings(env: Mapping[str, str]) -> str:
    """The text of the user's configuration files: of the home, the repository and this directory."""
    folders = [env.get("HOME") or os.path.expanduser("~")]
    here = os.getcwd()
    while here not in folders:
        folders.append(here)
        here = os.path.dirname(here)
    text = ""
    for folder in folders:
        for name in _CONFIGURED:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    text += file.read(1_000_000)
            except OSError:
                continue
    return text
