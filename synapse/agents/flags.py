"""Arguments and variables that make a CLI report what it does. The user's own arguments always win.

The `flags.py` of each CLI has them; this module has what those share. On the relay's path: light imports
only.
"""

from __future__ import annotations

import os
import sys

from synapse.agents import folders
from synapse.base import jsontext, paths
from synapse.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOOK_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")

# Which agent it is, where the agents are registered, and how Synapse is imported.
_MCP_VARIABLES = ("SYNAPSE_AGENT_ID", "SYNAPSE_AGENT_NAME", "SYNAPSE_HOME", "A2A_HOME", "PYTHONPATH")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")


def channel_arguments(
    channel: str, args: Sequence[str], env: Mapping[str, str], embedded: str = ""
) -> list[str]:
    """The arguments to put before the user's own. `embedded` is the program, if it is to run embedded."""
    module = folders.load(channel, "flags")
    added: list[str] = module.arguments(args, env) if module is not None else []
    if embedded and module is not None and hasattr(module, "embedded_arguments"):
        added = [*added, *module.embedded_arguments(embedded, args, env)]
    return added


def channel_environment(channel: str, args: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The variables to set for this launch, where the CLI has no argument for it."""
    module = folders.load(channel, "flags")
    if module is None or not hasattr(module, "environment"):
        return {}
    added: dict[str, str] = module.environment(args, env)
    return added


def mcp_arguments(channel: str, program: str, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The arguments that give the CLI the tools of `synapse mcp` for this launch; none if it has no way."""
    module = folders.load(channel, "flags")
    if module is None or not hasattr(module, "mcp_arguments"):
        return []
    words = [*paths.our_python(), "-m", "synapse", "mcp"]
    kept = {name: env[name] for name in _MCP_VARIABLES if name in env}
    added: list[str] = module.mcp_arguments(program, McpServer(words[0], words[1:], kept), args, env)
    return added


class McpServer(Record):
    """How a CLI starts `synapse mcp`. Some CLIs give such a program none of their own variables."""

    command: str
    args: list[str]
    env: dict[str, str]

    def __init__(self, command: str, args: list[str], env: dict[str, str]) -> None:
        super().__init__(command=command, args=args, env=env)


def hook_command(kind: str) -> list[str]:
    """The program that sends an event of the CLI to the host: see `hook.py`."""
    return [sys.executable, "-I", "-S", HOOK_PROGRAM, kind]


def installed_version(program: str, env: Mapping[str, str]) -> tuple[int, ...]:
    """From the npm package of the program; (0,) if there is none."""
    import shutil

    folder = os.path.dirname(os.path.realpath(shutil.which(program, path=env.get("PATH")) or ""))
    for place in (folder, os.path.dirname(folder)):
        try:
            with open(os.path.join(place, "package.json"), "rb") as file:
                version = jsontext.loads(file.read().decode())["version"]
            return tuple(int(number) for number in version.split("-")[0].split("."))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return (0,)


def quoted(word: str) -> str:
    """One word for a shell; `shlex` would bring `re`."""
    return word if _PLAIN.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


def has(args: Sequence[str], flag: str) -> bool:
    return any(arg == flag or arg.startswith(flag + "=") for arg in args)


def values(args: Sequence[str], *flags: str) -> list[str]:
    values = []
    for position, arg in enumerate(args):
        for flag in flags:
            if arg == flag and position + 1 < len(args):
                values.append(args[position + 1])
            elif arg.startswith(flag + "=") and flag.startswith("--"):
                values.append(arg[len(flag) + 1 :])
            elif arg.startswith(flag) and len(arg) > 2 and not flag.startswith("--"):
                values.append(arg[2:])
    return values
