"""Finds the code for a CLI: the folder `synapse/agents/NAME/`, or an installed package.

A folder has any of these modules, and each is imported when it is needed:

    channel.py   CHANNEL, a subclass of `synapse.agents.base.Channel`: hooks and transcripts
    flags.py     arguments(args, env): the arguments that make the CLI report what it does;
                 environment(args, env), if it takes variables for that;
                 embedded_arguments(program, args, env), if there are others for `embedded: true`;
                 mcp_arguments(program, server, args, env), if it takes an MCP server for `mcp: true`
    offline.py   prepare(home, work, url): how to run it against a scripted model (`agents/offline.py`)
    screen.py    LOOK, a `synapse.agents.look.Look`: how the CLI looks, beyond what its profile says

Another package adds a CLI by an entry point of the group `synapse.agents` whose name is the CLI's and whose
value is a package with the same modules. Its `profile.yaml`, if there is one, is the profile of that name.
On the relay's path: light imports only, and no search among installed packages for a built-in name.
"""

from __future__ import annotations

import os
import sys

from synapse.errors import SynapseError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

GROUP = "synapse.agents"
NONE = "none"  # the channel of a CLI that has no folder
_HERE = os.path.dirname(os.path.abspath(__file__))


def built_in() -> list[str]:
    """The CLIs that come with Synapse, and `events`, for agents that send events themselves."""
    return sorted(name for name in os.listdir(_HERE) if _is_built_in(name))


def exists(name: str) -> bool:
    return name == NONE or _is_built_in(name) or name in _installed()


def load(name: str, part: str) -> ModuleType | None:
    """The module `part` of a CLI's folder; None if the folder has no such module."""
    if name == NONE:
        return None
    package, folder = f"{GROUP}.{name}", os.path.join(_HERE, name)
    if not _is_built_in(name):
        if name not in _installed():
            raise SynapseError(unknown(name))
        package, folder = _installed()[name]
    if not os.path.exists(os.path.join(folder, f"{part}.py")):
        return None
    module = f"{package}.{part}"
    __import__(module)  # `importlib` would be one more import before the agent starts
    return sys.modules[module]


def unknown(name: str) -> str:
    """What is wrong with a channel of this name, and what to do."""
    known = ", ".join((NONE, *built_in(), *sorted(_installed())))
    return f"there is no channel {name}: install the package that adds it, or name one of {known}"


def installed_profiles() -> dict[str, str]:
    files = {name: os.path.join(folder, "profile.yaml") for name, (_, folder) in _installed().items()}
    return {name: path for name, path in files.items() if os.path.exists(path)}


def _is_built_in(name: str) -> bool:
    return name != "generic" and os.path.exists(os.path.join(_HERE, name, "__init__.py"))


def _installed() -> dict[str, list[str]]:
    from synapse.base.entry_points import find

    return find(GROUP)
