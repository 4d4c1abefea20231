"""Arguments that make a CLI report what it does. The user's own arguments always win.

The `flags.py` of each CLI has them; this module has what those share. On the relay's path: light imports
only.
"""

from __future__ import annotations

import os
import sys

from synapse.agents import folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOOK_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")

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


def hook_command(kind: str) -> list[str]:
    """The program that sends an event of the CLI to the host: see `hook.py`."""
    return [sys.executable, "-I", "-S", HOOK_PROGRAM, kind]


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
