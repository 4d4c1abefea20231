"""The house: who may import whom. docs/architecture.md draws it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "synapse"


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


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


def test_modules_stay_small() -> None:
    long = {str(p.relative_to(ROOT)): n for p in modules() if (n := p.read_text().count("\n")) > 420}
    assert long == {}


@pytest.mark.parametrize(("module", "more"), [("launch.run", ("collections",)), ("relay.loop", ())])
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
