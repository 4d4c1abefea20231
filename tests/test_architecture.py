"""The house: who may import whom. docs/architecture.md draws it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "synapse"

# Each room and what it may import of the house; "stdlib" rooms import nothing that must be installed.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "record": set(),
    "digest": set(),
    "paths": {"digest"},
    "modes": set(),
    "keys": set(),
    "cells": set(),
    "jsontext": set(),
    "processes": set(),
    "schema": {"errors", "keys"},
    "yamlfile": {"digest", "errors", "jsontext", "paths"},
    "profiles": {"errors", "keys", "paths", "record", "schema", "yamlfile"},
    "config": {"errors", "keys", "paths", "record", "schema", "yamlfile"},
    "key_decoder": set(),
    "line_editor": {"cells"},
    "commands": {"record"},
    "input_router": {"commands", "errors", "key_decoder", "line_editor"},
    "relay": {"commands", "input_router", "jsontext", "modes", "processes"},
    "registry": {"digest", "errors", "jsontext", "paths"},
    "starter": {"config", "errors", "external_agents", "paths", "profiles", "registry"},
    "agent_context": set(),
    "launch": {
        *("addresses", "agent_context", "agents.flags", "config", "errors", "jsontext", "paths", "profiles"),
        *("registry", "relay"),
    },
    "terminal": {"cells", "modes"},
    "overlay_keys": set(),
    "answer_line": {"cells", "terminal"},
    "inbox": {"answer_line", "overlay_keys", "terminal"},
    "display": {"inbox", "relay.wire", "terminal"},
    "idle_detector": set(),
    "menus": set(),
    "input_detector": {"menus"},
    "error_detector": {"menus"},
    "screen_reply": set(),
    "fences": set(),
    "output_parser": {"fences"},
    "status": {"registry"},
    "agents": {"jsontext", "processes", "registry", "status"},
    "turns": {"agents"},
    "observer": {
        *("agents", "error_detector", "idle_detector", "input_detector", "profiles", "registry"),
        *("screen_reply", "status", "terminal", "turns"),
    },
    "database": set(),
    "event_emitter": set(),
    "task": {"event_emitter"},
    "task_rows": {"database", "task"},
    "task_store": {"database", "event_emitter", "task", "task_rows"},
    "loop_guard": set(),
    "tasks": {"event_emitter", "loop_guard", "task", "task_store"},
    "task_shelf": {"errors", "paths", "registry", "task", "task_rows"},
    "composer": {"profiles"},
    "answers": {"composer", "input_detector", "keys", "task"},
    "task_files": {"paths", "task"},
    "draft_stash": {"composer", "controller", "profiles", "relay.injector", "typist"},
    "typist": {"controller", "keys", "profiles", "registry"},
    "questions": {
        *("answers", "controller", "input_detector", "registry", "relay.injector", "task", "tasks", "typist"),
    },
    "delivery": {
        *(
            "composer",
            "controller",
            "draft_stash",
            "output_parser",
            "profiles",
            "questions",
        ),
        *("registry", "relay.injector", "task", "task_files", "tasks", "turns", "typist"),
    },
    "about": set(),
    "refusals": {"task"},
    "callbacks": {"task", "tasks"},
    "dialect_models": {"task"},
    "dialect_stream": {"event_emitter", "task", "tasks"},
    "external_routes": {"dialect_models", "refusals", "task"},
    "dialect": {
        *("about", "callbacks", "dialect_models", "dialect_stream", "event_stream", "external_routes"),
        *("refusals", "task", "tasks"),
    },
    "sse": set(),
    "a2a_task": {"errors"},
    "local_http": set(),
    "local_agents": {"a2a_task", "errors", "local_http", "registry", "sse"},
    "external_agents": {"errors", "paths", "registry"},
    "external_card": {"errors", "external_agents"},
    "external_wire": {"a2a_task", "errors", "external_agents"},
    "external_http": {"errors", "external_wire", "urls"},
    "external_talk": {"a2a_task", "errors", "external_agents", "external_http", "external_wire", "sse"},
    "external_client": {
        *("a2a_task", "errors", "external_agents", "external_card", "external_http", "external_talk"),
        "external_wire",
    },
    "a2a_client": {
        *("a2a_task", "errors", "external_agents", "external_client", "external_wire", "local_agents"),
        *("loop_guard", "registry"),
    },
    "external_door": {"a2a_client", "a2a_task", "errors", "external_http", "external_routes", "task"},
    "docs_page": set(),
    "event_stream": set(),
    "push": {"event_emitter", "task", "task_store", "urls"},
    "a2a_convert": {"event_emitter", "task"},
    "a2a_compat": {"a2a_convert", "event_emitter", "push", "task", "tasks", "urls"},
    "a2a_card": {"a2a_compat", "a2a_convert", "about", "task"},
    "a2a_v03": set(),
    "a2a_streams": {"a2a_convert", "event_stream"},
    "a2a_routes": {
        *("a2a_card", "a2a_compat", "a2a_streams", "a2a_v03", "about", "digest", "event_stream", "push"),
        "tasks",
    },
    "a2a_door": {"about", "loading"},
    "outbound": {"a2a_convert", "callbacks", "event_emitter", "push", "task", "tasks", "urls"},
    "grpc_door": {"a2a_card", "a2a_compat", "about", "doors", "push", "tasks"},
    "recording": {"controller", "turns"},
    "output_log": set(),
    "tokens": {"errors"},
    "addresses": {"errors", "record"},
    "urls": set(),
    "doors": set(),
    "control": {"errors", "registry"},
    "controller": {"agents", "observer", "profiles", "relay.typed", "relay.wire", "status", "terminal"},
    "server": {
        *("a2a_door", "a2a_routes", "about", "controller", "dialect", "docs_page", "external_routes"),
        *("outbound", "tasks", "terminal_routes"),
    },
    "terminal_routes": {"controller", "keys", "recording", "registry"},
    "doorkeeper": {
        *(
            "a2a_client",
            "about",
            "config",
            "controller",
            "loading",
            "doors",
            "external_door",
            "outbound",
            "server",
        ),
        "tasks",
    },
    "relay_wire": set(),
    "loading": set(),
    "aftermath": {"paths", "processes", "registry"},
    "log_keeper": {"output_log", "terminal"},
    "address_book": {"errors", "external_agents", "registry"},
    "errands": {"paths"},
    "prompts": set(),
    "external_errand": {"a2a_client", "a2a_task", "errands", "errors", "prompts"},
    "notices": {"a2a_client", "a2a_task", "errors", "loop_guard", "task", "tasks"},
    "messenger": {
        *("a2a_client", "a2a_task", "address_book", "config", "controller", "errands", "errors"),
        *("external_errand", "inbox", "prompts", "registry", "starter", "task", "task_shelf", "tasks"),
    },
    "host": {
        "loading",
        *("about", "agent_context", "agents", "controller", "delivery", "doorkeeper", "output_log", "paths"),
        *("grpc_door", "outbound", "processes", "profiles", "task"),
        *("config", "display", "inbox", "task_files", "task_store", "tasks"),
        *("registry", "relay.console", "relay.link", "relay.wire", "relay_wire", "terminal"),
        *("a2a_client", "address_book", "aftermath", "errands", "log_keeper", "loop_guard"),
        *("messenger", "notices", "starter"),
    },
    "shell": {
        *("cells", "commands", "errors", "external_agents", "paths", "registry", "relay.console"),
        *("relay.pty", "terminal"),
    },
    "cli": {
        *(
            "a2a_client",
            "a2a_task",
            "cells",
            "commands",
            "config",
            "control",
            "demo",
            "errors",
            "external_agents",
            "launch",
            "paths",
            "profiles",
            "prompts",
            "registry",
        ),
        "shell",
        *("relay.console", "starter", "task", "task_shelf", "terminal", "tokens"),
    },
    "demo": {"cells", "errors", "paths", "testing"},
    "tools": {"cli"},
    "testing": {"relay.pty", "terminal"},
    "dummy_agent": {"cells"},
}
STDLIB_ROOMS = {
    *("cells", "digest", "errors", "jsontext", "record", "paths", "modes", "keys", "processes", "schema"),
    *("yamlfile", "profiles", "config", "registry", "relay", "launch", "control", "dummy_agent"),
    *("addresses", "agent_context", "tokens", "commands", "input_router", "key_decoder", "line_editor"),
    *("sse", "a2a_task", "local_http", "local_agents", "external_agents", "external_card"),
    *("external_wire", "loop_guard", "a2a_client", "starter"),
}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Dotted names that a module imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_what_its_row_says(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    assert room in ROOMS, f"{room} has no row in the house"
    files = {".".join(p.relative_to(ROOT).with_suffix("").parts) for p in modules()}
    for name in imports(path):
        head, _, inner = name.partition(".")
        if head != "synapse" or not inner or inner.startswith("__"):
            continue
        parts = inner.split(".")
        if parts[0] == room or parts[0] not in ROOMS:
            continue
        module = ".".join(parts[:2]) if ".".join(parts[:2]) in files else parts[0]
        allowed = ROOMS[room]
        assert parts[0] in allowed or module in allowed or any(a.startswith(inner + ".") for a in allowed), (
            f"{room} may not import {name}"
        )


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_rooms_before_the_agent_need_only_the_standard_library(path: Path) -> None:
    if room_of(path) not in STDLIB_ROOMS:
        return
    tops = {name.split(".")[0] for name in imports(path)}
    outside = {top for top in tops if not top.startswith("_")} - set(sys.stdlib_module_names) - {"synapse"}
    assert outside == ({"yaml"} if path.name == "yamlfile.py" else set())  # only when the cache is cold


def test_modules_stay_small() -> None:
    long = {str(p.relative_to(ROOT)): n for p in modules() if (n := p.read_text().count("\n")) > 420}
    assert long == {}


@pytest.mark.parametrize(("module", "more"), [("launch", ("collections",)), ("relay.loop", ())])
def test_what_the_human_waits_for_imports_nothing_heavy(module: str, more: tuple[str, ...]) -> None:
    heavy = (
        *(
            "argparse",
            "asyncio",
            "contextlib",
            "dataclasses",
            "enum",
            "functools",
            "inspect",
            "json",
            "logging",
        ),
        *("pathlib", "re", "shlex", "signal", "socket", "subprocess", "typing", *more),
    )
    probe = f"import sys, synapse.{module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_line_editor_is_loaded_by_the_shell_alone() -> None:
    users = {str(p.relative_to(ROOT)) for p in modules() if any("prompt_toolkit" in n for n in imports(p))}
    assert users == {"shell/prompt.py"}
    probe = "import sys, synapse.cli.shell; print('prompt_toolkit' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "False False", done.stderr
