"""Which tests share a running CLI: those marked `shared`, by CLI. xdist gives each group to one worker."""

from __future__ import annotations

import importlib
from typing import Any

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]


def group_of(nodeid: str) -> str | None:
    """From the name alone: the process that distributes the tests collects none."""
    path, _, test = nodeid.partition("::")
    if not path.startswith("tests/real/"):
        return None
    name, _, parameters = test.partition("[")
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    mark = _shared(getattr(module, name, None)) or _shared(module)
    if mark is None:
        return None
    cli = parameters.removesuffix("]").rpartition("-")[2]
    return f"{cli} as {module.__name__} prepares it" if mark.kwargs.get("prepare") else cli


def _shared(marked: Any) -> Any:
    marks = getattr(marked, "pytestmark", [])
    return next((m for m in (marks if isinstance(marks, list) else [marks]) if m.name == "shared"), None)


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid) or nodeid
