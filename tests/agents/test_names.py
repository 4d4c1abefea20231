"""What is special about one CLI is in its folder and its profile: its name and glyphs are nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "synapse"
FOLDERS = sorted(path.parent for path in (ROOT / "agents").glob("*/__init__.py"))
SHARED = ("events", "generic")  # folders that are no CLI
CLIS = [folder.name for folder in FOLDERS if folder.name not in SHARED]
ALLOWED = (*FOLDERS, ROOT / "demo", ROOT / "dummy_agent")
NAMES = re.compile(
    "|".join(CLIS) + r"|anthropic|openai|qwen|copilot|aider"
    r"|StopFailure|UserPromptSubmit|PermissionRequest|PostToolUse|SessionStart|isApiErrorMessage"
    r"|agent-turn-complete|turn_aborted|task_complete|toolCalls|rollout-",
    re.IGNORECASE,
)


def _symbols(folder: str) -> set[str]:
    """The symbols that a folder knows, without the letters and lines that every program draws."""
    text = "".join(path.read_text() for path in (ROOT / "agents" / folder).glob("*.py"))
    return {char for char in text if char > "\u2190" and not char.isalpha() and not "─" <= char <= "▟"}


GLYPHS = frozenset("❯›●⏺✦■✕✻✢✳✶✽∴⎿◇✋⊶⊷⏵◐◑◒◓").union(*map(_symbols, CLIS)) - {"→", "←", "✗", "✓", "✔"}
DRAWS = ("messages",)  # the overlay has a prompt of its own, and reads no screen of a CLI
# Help texts, examples in errors, and addresses: what a person reads, not what the program decides by.
HELP = re.compile(
    r"`synapse |codex@|^  synapse |\n  synapse |synapse keys|synapse start|@codex|tests/recordings/"
)


def said(source: str) -> Iterator[tuple[int, str]]:
    """Names and texts of a module outside its docstrings, each with its line."""
    tree = ast.parse(source)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield line, node.value
        for name in ("id", "attr", "arg", "name", "module"):
            word = getattr(node, name, None)
            if isinstance(word, str):
                yield line, word


def found(source: str, glyphs: frozenset[str] = GLYPHS) -> list[tuple[int, str]]:
    return [
        (line, text)
        for line, text in said(source)
        if (NAMES.search(text) and not HELP.search(text)) or glyphs.intersection(text)
    ]


def modules() -> list[Path]:
    return [path for path in sorted(ROOT.rglob("*.py")) if not any(path.is_relative_to(f) for f in ALLOWED)]


def test_no_module_outside_the_folders_knows_a_cli() -> None:
    known = {}
    for path in modules():
        draws = path.relative_to(ROOT).parts[0] in DRAWS
        if names := found(path.read_text(), frozenset() if draws else GLYPHS):
            known[str(path.relative_to(ROOT))] = names
    assert known == {}


@pytest.mark.parametrize("folder", CLIS)
def test_no_folder_knows_another_cli(folder: str) -> None:
    others = set(CLIS) - {folder}
    for path in (ROOT / "agents" / folder).glob("*.py"):
        texts = [text.lower() for _, text in said(path.read_text())]
        assert [text for text in texts if any(other in text for other in others)] == [], path


@pytest.mark.parametrize(
    "source",
    [
        'if name == "codex": pass',
        "from synapse.agents.claude import channel",
        "def claude_flags(): pass",
        "x.gemini = 1",
        'MARKS = "❯"',
        'event.get("hook_event_name") == "StopFailure"',
        'f"{x} of Claude"',
    ],
)
def test_the_search_finds_each_kind(source: str) -> None:
    assert found(source)


def test_what_people_read_may_name_them() -> None:
    assert found('"""As Claude does."""\nx = "`synapse claude` runs one"  # Codex too\n') == []
