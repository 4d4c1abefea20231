"""The launch flags of Codex where it runs embedded: its notify program.

Any `-c` separates it from its shared server, with a warning at every start and without its view of agents, so
by default it gets no flag at all.
"""

from __future__ import annotations

import os

from synapse.agents.flags import McpServer, hook_command, values
from synapse.base import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CACHE = "codex-flags.json"
PATIENCE = 10.0  # seconds for its help, which takes half a second


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    return []


def embedded_arguments(program: str, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    quiet = ["--no-daemon"] if "--no-daemon" not in args and _knows_no_daemon(program, env) else []
    if any(value.replace(" ", "").startswith("notify=") for value in values(args, "-c", "--config")):
        return quiet
    command = [*hook_command("codex"), *_users_notify(args, env)]
    return [*quiet, "-c", f"notify={jsontext.dumps(command)}"]


def mcp_arguments(program: str, server: McpServer, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    given = (value.replace(" ", "") for value in values(args, "-c", "--config"))
    if any(value.startswith("mcp_servers.synapse") for value in given):
        return []
    quiet = ["--no-daemon"] if "--no-daemon" not in args and _knows_no_daemon(program, env) else []
    variables = ",".join(f"{name}={jsontext.dumps(value)}" for name, value in server.env.items())
    table = f"command={jsontext.dumps(server.command)},args={jsontext.dumps(server.args)},env={{{variables}}}"
    return [*quiet, "-c", f"mcp_servers.synapse={{{table}}}"]


def _knows_no_daemon(program: str, env: Mapping[str, str]) -> bool:
    """Whether its help names the flag: an older version refuses it. Asked once for each installed program."""
    try:
        status = os.stat(os.path.realpath(program))
    except OSError:
        return False
    key: list[object] = [os.path.realpath(program), status.st_size, status.st_mtime_ns]
    known = files.cached(CACHE, key)
    if not isinstance(known, bool):
        import subprocess

        asked = [program, "--help"]
        try:
            done = subprocess.run(
                asked, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        known = b"--no-daemon" in done.stdout
        files.cache(CACHE, key, known)
    return known


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
