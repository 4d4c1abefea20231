"""The scripts that can be named without their path: those that ship with Synapse, and the user's own."""

from __future__ import annotations

import os

from synapse.base import paths
from synapse.errors import UsageError


def builtin_dir() -> str:
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "runs")


def scripts() -> dict[str, str]:
    """The path of each script by its name; the user's own come first."""
    found: dict[str, str] = {}
    for folder in (paths.runs_dir(), builtin_dir()):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name.endswith(".py") and not name.startswith("_"):
                found.setdefault(name.removesuffix(".py"), os.path.join(folder, name))
    return found


def find(word: str) -> str:
    """The path of a script that is named by its path or by its name."""
    if os.path.exists(word) or os.sep in word:
        return word
    known = scripts()
    if word in known:
        return known[word]
    names = ", ".join(known)
    raise UsageError(f"there is no file {word!r} and no script of that name: name a file, or one of {names}.")


def summary(path: str) -> str:
    """The first line of what a script says about itself."""
    import ast

    try:
        with open(path, encoding="utf-8") as file:
            about = ast.get_docstring(ast.parse(file.read())) or ""
    except (OSError, SyntaxError, ValueError):
        return "cannot be read"
    return about.partition("\n")[0]
