"""Which package may import which. docs/architecture.md has the same table in words."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "synapse"

# A package, or a module at the root, and what it may import of Synapse. The graph has no cycle.
ALLOWED: dict[str, set[str]] = {
    # plain helpers, and what everybody imports
    "errors": set(),
    "base": {"errors"},
    "terminal": {"base"},
    "keys": {"base", "terminal"},
    "profiles": {"agents", "base", "errors", "keys"},
    "config": {"base", "errors", "keys"},
    "registry": {"base", "errors"},
    "event_emitter": {"base"},
    "output_parser": {"agents", "base"},
    # the relay process, and what starts it
    "relay": {"base", "keys", "terminal"},
    "agent_context": {"base"},
    "launch": {
        "agent_context", "agents", "base", "config", "errors", "peers", "profiles", "registry", "relay",
    },
    # the host process
    "agents": {"base", "errors", "registry"},
    "watch": {"agents", "keys", "profiles", "registry", "terminal"},
    "input_detector": {"watch"},
    "agent_terminal": {"agents", "keys", "profiles", "relay", "terminal", "watch"},
    "tasks": {"base", "errors", "event_emitter", "registry"},
    "delivery": {
        "agent_terminal", "agents", "base", "event_emitter", "keys", "output_parser", "profiles", "registry",
        "relay", "tasks", "watch",
    },
    "peers": {"base", "config", "errors", "registry", "tasks"},
    "a2a_client": {"peers", "registry"},
    "api": {"errors", "launch", "output_parser", "peers", "registry", "tasks"},
    "input_router": {"a2a_client", "errors", "keys", "registry"},
    "messages": {
        "agent_terminal", "base", "config", "errors", "event_emitter", "keys", "launch", "peers",
        "registry", "relay", "tasks", "terminal",
    },
    "server": {
        "a2a_client", "agent_terminal", "base", "delivery", "errors", "event_emitter", "keys", "peers",
        "registry", "tasks", "terminal", "watch",
    },
    "mesh": {
        "base", "delivery", "errors", "event_emitter", "peers", "registry", "server", "tasks",
    },
    "a2a_compat": {"base", "event_emitter", "output_parser", "server", "tasks"},
    "host": {
        "a2a_client", "agent_context", "agent_terminal", "agents", "base", "config", "delivery",
        "errors", "event_emitter", "keys", "launch", "mesh", "messages", "peers", "profiles", "registry",
        "relay", "server", "tasks", "terminal", "watch",
    },
    # for scripts
    "controller": {
        "a2a_client", "base", "errors", "input_detector", "input_router", "keys", "launch", "peers",
        "profiles", "registry", "relay",
    },
    # commands
    "testing": {"base", "relay", "terminal"},
    "demo": {"base", "errors", "terminal", "testing"},
    "top": {"base", "errors", "peers", "terminal", "view"},
    "shell": {"base", "errors", "keys", "peers", "relay", "terminal"},
    "run": {"api", "base", "errors", "peers", "registry", "tasks", "terminal"},
    "runs": {"run"},
    "cli": {
        "a2a_client", "agents", "api", "base", "config", "demo", "errors", "keys", "launch", "mcp", "mesh",
        "peers", "profiles", "registry", "relay", "run", "selftest", "shell", "tasks", "terminal", "top",
        "view",
    },
    "view": {
        "base", "errors", "event_emitter", "launch", "peers", "profiles", "registry", "run", "server",
        "tasks", "terminal",
    },
    "mcp": {"api", "errors", "peers", "registry", "tasks"},
    "tools": {"cli", "keys"},
    "dummy_agent": {"base", "terminal"},
    # a scripted model, and the checks of a CLI with it
    "selftest": {
        "agents", "base", "errors", "launch", "peers", "profiles", "registry", "terminal", "testing", "watch",
    },
}  # fmt: skip
FREE = {"__init__", "__main__"}  # the public names, and the way into every command

# Loaded before the agent starts, or by commands that must be quick: nothing that has to be installed.
STANDARD_LIBRARY_ONLY = {
    "errors", "base", "keys", "profiles", "config", "registry", "relay", "agent_context",
    "launch", "dummy_agent",
    "peers.base", "peers.control", "peers.directory", "peers.fifo", "peers.local", "peers.local_http",
    "peers.machines", "peers.origin", "peers.prompts", "peers.remote", "peers.sse", "peers.status",
    "peers.task", "terminal.cells", "terminal.modes", "tasks.loop_guard",
}  # fmt: skip
EXCEPTIONS = {"base.yamlfile": {"yaml"}}  # only when its cache is cold


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)


def dotted(path: Path) -> str:
    """`relay.loop`, without the `synapse.` in front."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports(path: Path) -> frozenset[str]:
    """Dotted names that a module imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found)


def imported_packages(path: Path) -> set[str]:
    """The packages and root modules of Synapse that a module imports."""
    places = {name.split(".")[1] for name in imports(path) if name.startswith("synapse.")}
    return places - {"__version__"}


def test_the_table_names_what_there_is() -> None:
    places = {dotted(path).split(".")[0] for path in modules()} - FREE
    assert set(ALLOWED) == places


def test_a_package_imports_only_what_the_table_allows() -> None:
    forbidden = {}
    for path in modules():
        place = dotted(path).split(".")[0]
        if place not in FREE and (more := imported_packages(path) - ALLOWED[place] - {place}):
            forbidden[dotted(path)] = more
    assert forbidden == {}


def test_a_permission_that_nobody_uses_goes() -> None:
    used: dict[str, set[str]] = {place: set() for place in ALLOWED}
    for path in modules():
        place = dotted(path).split(".")[0]
        if place in ALLOWED:
            used[place] |= imported_packages(path) - {place}
    assert used == ALLOWED


def test_the_packages_have_no_cycle() -> None:
    left = {place: set(allowed) for place, allowed in ALLOWED.items()}
    while free := [place for place, needs in left.items() if not needs & set(left)]:
        for place in free:
            del left[place]
    assert left == {}


def test_the_documentation_has_every_package() -> None:
    page = (ROOT.parent / "docs" / "architecture.md").read_text().split("## Packages")[1].split("\n## ")[0]
    named = {name.rstrip("/") for name in re.findall(r"`([\w/]+)`", page)}
    assert set(ALLOWED) - named == set()


# Those that draw, and those that print a reply as it is into a pipe or a script for a shell.
PRINTING = {
    *("cli.shared.output", "cli.shared.conversation", "cli.list", "cli.runs", "cli.screen"),
    *("cli.completion", "cli.shell_hook"),
}


def test_commands_print_through_one_function() -> None:
    """`say` and `show` remove what would drive the terminal."""
    found = {dotted(p) for p in modules() if re.search(r"(?<![\w.])print\((?!ask)", p.read_text())}
    assert {name for name in found if name.startswith(("cli.", "tools."))} <= PRINTING


def test_init_modules_are_empty() -> None:
    full = [dotted(p) for p in modules() if p.name == "__init__.py" and p.parent != ROOT and p.read_text()]
    assert full == ["run"]  # the public module of scripts


def test_what_must_be_quick_needs_only_the_standard_library() -> None:
    quick = [
        p for p in modules() if f"{dotted(p)}.".startswith(tuple(f"{n}." for n in STANDARD_LIBRARY_ONLY))
    ]
    needs = {}
    for path in quick:
        tops = {name.split(".")[0] for name in imports(path) if not name.startswith("_")}
        if installed := tops - sys.stdlib_module_names - {"synapse"}:
            needs[dotted(path)] = installed
    assert needs == EXCEPTIONS


HEAVY = {
    "argparse", "asyncio", "contextlib", "dataclasses", "enum", "functools", "inspect", "json", "logging",
    "pathlib", "re", "shlex", "signal", "socket", "subprocess", "typing",
}  # fmt: skip


@pytest.mark.parametrize(("module", "more"), [("launch.run", {"collections"}), ("relay.loop", set())])
def test_what_the_human_waits_for_imports_nothing_heavy(module: str, more: set[str]) -> None:
    probe = f"import sys, synapse.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & (HEAVY | more) == set()


def test_the_line_editor_is_loaded_by_the_shell_alone() -> None:
    users = {dotted(p) for p in modules() if any("prompt_toolkit" in name for name in imports(p))}
    assert users == {"shell.prompt", "top.app"}
    probe = "import sys, synapse.cli.shell; print('prompt_toolkit' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "False False", done.stderr


def test_test_modules_share_only_what_is_in_support() -> None:
    tests = Path(__file__).parent
    shared = [
        f"{path.relative_to(tests)}: {name}"
        for path in tests.rglob("*.py")
        for name in imports(path)
        if name.startswith("tests.") and any(p.startswith(("test_", "conftest")) for p in name.split("."))
    ]
    assert shared == []


def test_the_markdown_parser_is_loaded_when_something_is_parsed() -> None:
    users = {dotted(p) for p in modules() if any("markdown_it" in name for name in imports(p))}
    assert users == {"terminal.commonmark"}
    probe = "import sys, synapse.host.host, synapse.cli.shell; print('markdown_it' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
