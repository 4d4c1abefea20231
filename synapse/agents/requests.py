"""What a CLI asks permission for: a tool and its arguments, as a line and in full. Pure."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

SUBJECT = 300  # characters of the line
DETAIL = 20_000  # characters of the whole text

_COMMANDS = ("command", "cmd")
_FILES = ("file_path", "absolute_path", "notebook_path", "path")
_REASONS = ("description", "justification", "prompt", "instruction")
_PATCHED = re.compile(r"(?m)^\*\*\* (Add|Update|Delete) File: (.+)$")
_PATCHING = "apply_patch"  # Codex may call it as a tool or as a command
_MCP = re.compile(r"mcp__(.+?)__(.+)")
_ASKING = ("AskUserQuestion", "request_user_input", "ask_user")  # they run nothing: the dialog says it all


@dataclass(frozen=True)
class ToolRequest:
    """`subject` is one line: the command, the file, the URL, the tool. `detail` is everything."""

    subject: str
    detail: str
    tool: str = ""  # of an MCP server: its name there, which every dialog shows


def one_line(text: str) -> str:
    """The first line, marked if there are more or if it is cut."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    first = " ".join(lines[0].split()) if lines else ""
    if len(first) > SUBJECT:
        return f"{first[:SUBJECT]} …"
    return f"{first} … ({len(lines)} lines)" if len(lines) > 1 else first


def tool_request(name: str, arguments: object) -> ToolRequest | None:
    """None for a tool that only asks the human something, and for one without a name."""
    if not name or name in _ASKING:
        return None
    given = _object(arguments)
    if mcp := _MCP.fullmatch(name):  # first: its arguments may be called as those of the CLI's own tools
        return _of_server(mcp[1], mcp[2], given or {})
    if given is None:
        return _patch(name, _text(arguments))
    command = _command(given)
    if command.lstrip().startswith(_PATCHING) and _PATCHED.search(command):
        return _patch(_PATCHING, command)
    if command:
        return _made(one_line(command), command, _reasons(given))
    if isinstance(patch := given.get("patch") or given.get("input"), str) and _PATCHED.search(patch):
        return _patch(name, patch)
    if path := next((_text(given[key]) for key in _FILES if key in given), ""):
        return _made(one_line(f"{name} {path}"), f"{name} {path}", _change(given) or _rest(given))
    if url := _text(given.get("url")):
        return _made(one_line(f"{name} {url}"), f"{name} {url}", _reasons(given))
    if plan := _text(given.get("plan")):
        return _made(one_line(f"the plan: {plan}"), plan, "")
    return _made(one_line(f"{name} {_compact(given)}"), name, _rest(given))


def _of_server(server: str, tool: str, given: Mapping[str, Any]) -> ToolRequest:
    lines = [
        f"{key}: {value if isinstance(value, str) else json.dumps(value)}" for key, value in given.items()
    ]
    made = _made(one_line(f"{server}: {tool} {_compact(given)}"), f"{server}: {tool}", "\n".join(lines))
    return replace(made, tool=tool)


def _compact(given: Mapping[str, Any]) -> str:
    return json.dumps(given, ensure_ascii=False) if given else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(arguments: object) -> Mapping[str, Any] | None:
    """Codex has its arguments as JSON in a string."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, Mapping) else None


def _command(given: Mapping[str, Any]) -> str:
    command = next((given[key] for key in _COMMANDS if key in given), None)
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return command[-1] if command[1:2] in (["-lc"], ["-c"]) else shlex.join(command)
    return _text(command)


def _patch(name: str, patch: str) -> ToolRequest | None:
    files = [f"{what.lower()} {path.strip()}" for what, path in _PATCHED.findall(patch)]
    if not files:
        return _made(one_line(f"{name} {patch}"), f"{name} {patch}", "") if patch.strip() else None
    return _made(one_line(f"{name}: {', '.join(files)}"), patch, "")


def _change(given: Mapping[str, Any]) -> str:
    """What an edit takes away and puts in its place, or what is written."""
    old, new = (_text(given.get("old_string")), _text(given.get("new_string")) or _text(given.get("content")))
    lines = [*(f"- {line}" for line in old.splitlines()), *(f"+ {line}" for line in new.splitlines())]
    return "\n".join(lines)


def _reasons(given: Mapping[str, Any]) -> str:
    return "\n".join(text for key in _REASONS if (text := _text(given.get(key))))


def _rest(given: Mapping[str, Any]) -> str:
    more = {key: value for key, value in given.items() if key not in _FILES}
    return json.dumps(more, ensure_ascii=False, indent=2) if more else ""


def _made(subject: str, *texts: str) -> ToolRequest:
    detail = "\n\n".join(filter(None, texts))
    if len(detail) > DETAIL:
        detail = f"{detail[:DETAIL]}\n… and {len(detail) - DETAIL} characters more"
    return ToolRequest(subject, detail)
