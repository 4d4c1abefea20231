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
    "processes": set(),
    "schema": {"errors", "keys"},
    "yamlfile": {"errors", "paths"},
    "profiles": {"errors", "keys", "paths", "record", "schema", "yamlfile"},
    "config": {"errors", "keys", "paths", "record", "schema", "yamlfile"},
    "registry": {"digest", "errors", "paths"},
    "relay": {"modes", "processes"},
    "launch": {"addresses", "agents.flags", "config", "errors", "paths", "profiles", "registry", "relay"},
    "terminal": {"cells", "modes"},
    "overlay_keys": set(),
    "inbox": {"cells", "overlay_keys", "terminal"},
    "display": {"inbox", "relay.wire", "terminal"},
    "idle_detector": set(),
    "menus": set(),
    "input_detector": {"menus"},
    "error_detector": {"menus"},
    "screen_reply": set(),
    "fences": set(),
    "output_parser": {"fences"},
    "status": {"registry"},
    "agents": {"processes", "registry", "status"},
    "turns": {"agents", "registry"},
    "observer": {
        *("agents", "error_detector", "idle_detector", "input_detector", "profiles", "registry"),
        *("screen_reply", "status", "terminal", "turns"),
    },
    "database": set(),
    "event_emitter": set(),
    "task": {"event_emitter"},
    "task_rows": {"database", "task"},
    "task_store": {"database", "event_emitter", "task", "task_rows"},
    "tasks": {"event_emitter", "task", "task_store"},
    "composer": {"profiles"},
    "answers": {"composer", "input_detector", "keys", "task"},
    "task_files": {"paths", "task"},
    "delivery": {
        *("answers", "composer", "controller", "error_detector", "input_detector", "keys", "output_parser"),
        *("profiles", "registry", "relay.injector", "task", "task_files", "tasks", "turns"),
    },
    "refusals": {"task"},
    "callbacks": {"task", "tasks"},
    "dialect_models": {"task"},
    "dialect_stream": {"event_emitter", "task", "tasks"},
    "external_routes": {"dialect_models", "refusals", "task"},
    "dialect": {
        *("callbacks", "dialect_models", "dialect_stream", "event_stream", "external_routes", "refusals"),
        *("task", "tasks"),
    },
    "docs_page": set(),
    "event_stream": set(),
    "push": {"event_emitter", "task", "task_store", "urls"},
    "a2a_convert": {"event_emitter", "task"},
    "a2a_compat": {"a2a_convert", "event_emitter", "push", "task", "tasks", "urls"},
    "a2a_card": {"a2a_compat", "a2a_convert", "task"},
    "a2a_v03": set(),
    "a2a_streams": {"a2a_convert", "event_stream"},
    "a2a_routes": {
        *("a2a_card", "a2a_compat", "a2a_streams", "a2a_v03", "digest", "event_stream", "push", "tasks"),
    },
    "grpc_door": {"a2a_compat"},
    "recording": {"controller", "turns"},
    "output_log": set(),
    "tokens": {"errors"},
    "addresses": {"errors", "record"},
    "urls": set(),
    "doors": set(),
    "control": {"errors", "registry"},
    "controller": {"agents", "observer", "profiles", "relay.typed", "relay.wire", "status", "terminal"},
    "server": {
        *("a2a_card", "a2a_convert", "a2a_routes", "callbacks", "controller", "dialect", "docs_page"),
        *("keys", "push", "recording", "tasks", "urls"),
    },
    "host": {
        *(
            "a2a_card",
            "agents",
            "controller",
            "delivery",
            "doors",
            "output_log",
            "paths",
            "processes",
            "profiles",
        ),
        *("config", "display", "inbox", "task_store", "tasks"),
        *("registry", "relay.console", "relay.wire", "server", "terminal"),
    },
    "cli": {
        *("cells", "config", "control", "errors", "launch", "paths", "profiles", "registry"),
        *("relay.console", "schema", "terminal", "tokens"),
    },
    "testing": {"relay.pty", "terminal"},
    "dummy_agent": {"cells"},
}
STDLIB_ROOMS = {
    *("cells", "digest", "errors", "record", "paths", "modes", "keys", "processes", "schema", "yamlfile"),
    *("profiles", "config", "registry", "relay", "launch", "control", "dummy_agent"),
    *("addresses", "tokens"),
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


def test_the_relay_imports_nothing_heavy() -> None:
    heavy = ("asyncio", "dataclasses", "inspect", "logging", "pathlib", "subprocess", "typing", "argparse")
    probe = f"import sys, synapse.launch; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
