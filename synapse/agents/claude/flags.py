"""The launch flag of Claude Code: hooks by --settings."""

from __future__ import annotations

from synapse.agents.flags import has, hook_command, quoted
from synapse.base import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolUse", "Notification"),
    *("Stop", "StopFailure", "PreCompact", "SessionEnd"),
)


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    if has(args, "--settings") or "--bare" in args:
        return []
    line = " ".join(map(quoted, hook_command("claude")))
    command = {"type": "command", "command": line, "timeout": 5}
    settings = {"hooks": {event: [{"hooks": [command]}] for event in _EVENTS}}
    return ["--settings", jsontext.dumps(settings)]
