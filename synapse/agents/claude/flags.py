"""The launch flags of Claude Code: hooks by --settings, and --mcp-config."""

from __future__ import annotations

from synapse.agents.flags import McpServer, has, hook_command, quoted
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
    socket = env.get("SYNAPSE_EVENTS")
    named = [f"--socket={socket}"] if socket else []
    line = " ".join(map(quoted, [*hook_command("claude"), *named]))
    command = {"type": "command", "command": line, "timeout": 5}
    settings = {"hooks": {event: [{"hooks": [command]}] for event in _EVENTS}}
    return ["--settings", jsontext.dumps(settings)]


def mcp_arguments(program: str, server: McpServer, args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    if "--strict-mcp-config" in args or "--bare" in args:
        return []
    told = {"type": "stdio", "command": server.command, "args": server.args, "env": server.env}
    # With `=`: as a word of its own it would take the words after it as further files.
    return [f"--mcp-config={jsontext.dumps({'mcpServers': {'synapse': told}})}"]
