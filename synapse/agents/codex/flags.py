"""The launch flag of Codex: its notify program."""

from __future__ import annotations

import os

from synapse.agents.flags import hook_command, values
from synapse.base import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    if any(value.replace(" ", "").startswith("notify=") for value in values(args, "-c", "--config")):
        return []
    command = [*hook_command("codex"), *_users_notify(args, env)]
    return ["-c", f"notify={jsontext.dumps(command)}"]


def _users_notify(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The notify program in the user's own configuration, which ours must call."""
    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME", ""), ".codex")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            data = file.read()
    except OSError:
        return []
    if b"notify" not in data:
        return []
    import tomllib

    try:
        config = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return []  # Codex will complain about it itself
    names = [*values(args, "-p", "--profile"), config.get("profile")]
    profiles = config.get("profiles", {})
    chosen = next((profiles[n] for n in names if n in profiles and "notify" in profiles[n]), config)
    notify = chosen.get("notify")
    return notify if isinstance(notify, list) and all(isinstance(word, str) for word in notify) else []
