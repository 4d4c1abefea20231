"""The errors that reach people are sentences of one style: what is wrong, then the next step."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import synapse

PACKAGE = Path(synapse.__file__).parent
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
# A sentence that ends with a value after a colon passes on another error's sentence, or what a program said.
_ENDS = re.compile(r"(?:[.?]|:[ \n]\{\})\Z")
_TWO_SENTENCES = re.compile(r"[.?!] [A-Z]")
_NEXT_STEP = re.compile(r":[ \n]|`")


def faults(sentence: str) -> list[str]:
    """What is wrong with the style of a sentence; its values are written as {}."""
    found = []
    if not _ENDS.search(sentence):
        found.append("it does not end with a full stop")
    if sentence[:1].isupper():
        found.append("it follows `synapse: ` and begins in lower case")
    if _TWO_SENTENCES.search(sentence):
        found.append("it is more than one sentence")
    if not _NEXT_STEP.search(sentence):
        found.append("it says no next step after a colon, and no command in backticks")
    return found


def error_classes() -> set[str]:
    """SynapseError and all that derive from it, by name."""
    classes = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    found = {"SynapseError"}
    while more := {each.name for each in classes if found & set(map(_name, each.bases))} - found:
        found |= more
    return found


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _sentence(node: ast.expr) -> str | None:
    """The text with {} for each value; None if it is made elsewhere."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def raised() -> list[tuple[str, str]]:
    """Each sentence with which a SynapseError is raised, and where."""
    classes, found = error_classes(), []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            call = node.exc if isinstance(node, ast.Raise) else None
            if not isinstance(call, ast.Call) or _name(call) not in classes or not call.args:
                continue
            if (sentence := _sentence(call.args[0])) is not None:
                found.append((f"{path.relative_to(PACKAGE)}:{call.lineno}", sentence))
    return found


def test_every_error_says_what_is_wrong_and_what_to_do() -> None:
    sentences = raised()
    assert len(sentences) > 150  # else they are not found any more
    bad = [
        f"{where}: {sentence!r}: {', '.join(wrong)}"
        for where, sentence in sentences
        if (wrong := faults(sentence))
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(
    "sentence",
    [
        "{} is not running: see `synapse list`.",
        "{} cannot be reached at {}: is it running there?",
        "{} refused: {}",
        "`synapse attach` needs a terminal.",
    ],
)
def test_sentences_of_the_style(sentence: str) -> None:
    assert not faults(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "{} has ended.",
        "{} is taken: choose another",
        "The port is taken: choose another.",
        "{} has ended. Its last lines: {}",
        "{}",
    ],
)
def test_sentences_of_another_style(sentence: str) -> None:
    assert faults(sentence)
