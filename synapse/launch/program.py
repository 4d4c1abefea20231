"""The program of a profile: where it is installed, and the environment that it gets."""

from __future__ import annotations

import os

from synapse.base import paths
from synapse.errors import SynapseError
from synapse.profiles.loader import Profile
from synapse.registry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# They describe the terminal that started us. A background agent has another one.
_TERMINAL_VARIABLES = (
    "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "LC_TERMINAL", "LC_TERMINAL_VERSION",
    "TMUX", "TMUX_PANE", "STY", "WINDOWID", "COLUMNS", "LINES", "VTE_VERSION", "WT_SESSION",
    "KITTY_WINDOW_ID", "KITTY_PID", "WEZTERM_PANE", "ITERM_SESSION_ID", "GHOSTTY_RESOURCES_DIR",
)  # fmt: skip


def find_command(profile: Profile) -> list[str]:
    program, *rest = profile.command
    if os.sep in program:
        found = program if os.access(program, os.X_OK) and not os.path.isdir(program) else None
    else:
        places = (os.path.join(d or ".", program) for d in os.get_exec_path())
        found = next((p for p in places if os.access(p, os.X_OK) and os.path.isfile(p)), None)
    if found is None:
        how = f"install it with `{profile.install}`" if profile.install else "install it"
        raise SynapseError(
            f"{profile.name} needs the program {program!r}, which is not installed: "
            f"{how}, or name another command in the profile."
        )
    return [found, *rest]


def run_bare(profile: Profile, args: Sequence[str]) -> None:
    """Replace this process by the CLI, for arguments that open no interactive session."""
    command = find_command(profile)
    os.execve(command[0], [*command, *args], environment(profile, None))


def environment(profile: Profile, entry: Entry | None) -> dict[str, str]:
    env = dict(os.environ)
    for key, value in profile.env.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = value
    if entry is not None:
        env["SYNAPSE_AGENT_ID"] = str(entry["agent_id"])
        env["SYNAPSE_AGENT_NAME"] = str(entry["name"])
        env["SYNAPSE_ENDPOINT"] = str(entry["endpoint"])
        env["SYNAPSE_EVENTS"] = paths.events_socket(str(entry["agent_id"]))
        env["SYNAPSE_REQUESTS"] = paths.request_fifo(str(entry["agent_id"]))
        env["SYNAPSE_COMMAND"] = paths.our_command()
    return env


def background_environment(env: dict[str, str]) -> dict[str, str]:
    """The environment for a background agent, whose terminal is our screen model."""
    kept = {key: value for key, value in env.items() if key not in _TERMINAL_VARIABLES}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
