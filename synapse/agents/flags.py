"""What is added to a CLI's command line so that it tells what it does. The user's own arguments always win.

On the relay's path: light imports only.
"""

from __future__ import annotations

import os
import sys

from synapse.base import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOOK_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")
_CLAUDE_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Notification"),
    *("Stop", "StopFailure", "PreCompact", "SessionEnd"),
)
_GEMINI_SESSIONS = ("--resume", "--session-file", "--session-id")
_GEMINI_KNOWS_IDS = (0, 61)  # the version that was measured; an older one may refuse the flag


def channel_arguments(channel: str, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The arguments to put before the user's own."""
    if channel == "claude":
        return _claude(args)
    if channel == "codex":
        return _codex(args, env)
    if channel == "gemini":
        return _gemini(args, env)
    return []


def _hook_command(kind: str) -> list[str]:
    return [sys.executable, "-I", "-S", HOOK_PROGRAM, kind]


def _quoted(word: str) -> str:
    """One word for a shell; `shlex` would bring `re`."""
    return word if _PLAIN.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


def _claude(args: Sequence[str]) -> list[str]:
    if _has(args, "--settings") or "--bare" in args:
        return []
    line = " ".join(map(_quoted, _hook_command("claude")))
    command = {"type": "command", "command": line, "timeout": 5}
    settings = {"hooks": {event: [{"hooks": [command]}] for event in _CLAUDE_EVENTS}}
    return ["--settings", jsontext.dumps(settings)]


def _codex(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    if any(value.replace(" ", "").startswith("notify=") for value in _values(args, "-c", "--config")):
        return []
    command = [*_hook_command("codex"), *_codex_users_notify(args, env)]
    return ["-c", f"notify={jsontext.dumps(command)}"]


def _codex_users_notify(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
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
    names = [*_values(args, "-p", "--profile"), config.get("profile")]
    profiles = config.get("profiles", {})
    chosen = next((profiles[n] for n in names if n in profiles and "notify" in profiles[n]), config)
    notify = chosen.get("notify")
    return notify if isinstance(notify, list) and all(isinstance(word, str) for word in notify) else []


def _gemini(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """An id that leads to the chat file: another agent in this directory writes its own beside it."""
    if any(arg.startswith("-r") for arg in args) or any(_has(args, flag) for flag in _GEMINI_SESSIONS):
        return []
    if _gemini_version(env) < _GEMINI_KNOWS_IDS:
        return []
    raw = bytearray(os.urandom(16))
    raw[6], raw[8] = raw[6] & 0x0F | 0x40, raw[8] & 0x3F | 0x80  # a UUID of version 4; `uuid` costs 5 ms
    text = raw.hex()
    parts = (text[:8], text[8:12], text[12:16], text[16:20], text[20:])
    return ["--session-id", "-".join(parts)]


def _gemini_version(env: Mapping[str, str]) -> tuple[int, ...]:
    """From the package beside the program; (0,) where it is not one."""
    import shutil

    program = os.path.realpath(shutil.which("gemini", path=env.get("PATH")) or "")
    try:
        with open(os.path.join(os.path.dirname(os.path.dirname(program)), "package.json"), "rb") as file:
            version = jsontext.loads(file.read().decode())["version"]
        return tuple(int(number) for number in version.split("-")[0].split("."))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return (0,)


def _has(args: Sequence[str], flag: str) -> bool:
    return any(arg == flag or arg.startswith(flag + "=") for arg in args)


def _values(args: Sequence[str], *flags: str) -> list[str]:
    """What an option was given, each time it was given."""
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
