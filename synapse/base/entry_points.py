"""Packages that extend Synapse, by the entry points that they declare.

`importlib.metadata` costs 45 ms, so what it finds is kept in a file, for as long as the directories of
`sys.path` stay as they are: to install or remove a package changes one of them.
"""

from __future__ import annotations

import os
import sys
import time

from synapse.base import jsontext, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
SETTLED_NS = 100_000_000  # a directory as young as this can change again without its time stamp moving


def find(group: str) -> dict[str, list[str]]:
    """For each entry point of the group that names a package: [package, its directory]."""
    places = _search_path()
    changes = [_changed(path) for path in places]
    key = [FORMAT, sys.hexversion, group, places, changes]
    file = os.path.join(paths.cache_dir(), f"entry-points-{group}.json")
    kept = _read(file)
    found: dict[str, list[str]] = kept.get("found", {})
    if kept.get("key") == key:
        return found
    found = _search(group, places)
    if time.time_ns() - max(changes, default=0) > SETTLED_NS:
        _write(file, {"key": key, "found": found})
    return found


def _search_path() -> list[str]:
    """What the host process imports from as well: PYTHONPATH counts only where Synapse comes from there."""
    if "-E" not in paths.our_python():
        return [os.path.abspath(path) for path in sys.path]
    theirs = {os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    return [path for path in map(os.path.abspath, sys.path) if path not in theirs]


def _search(group: str, places: list[str]) -> dict[str, list[str]]:
    import importlib.util
    from importlib.metadata import distributions

    found: dict[str, list[str]] = {}
    for distribution in distributions(path=places):
        for point in distribution.entry_points.select(group=group):
            try:
                spec = importlib.util.find_spec(point.module)
            except (ImportError, ValueError):
                continue  # its package is gone
            folders = spec.submodule_search_locations if spec else None
            if folders:
                found.setdefault(point.name, [point.module, next(iter(folders))])
    return found


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, "rb") as stream:
            kept = jsontext.loads(stream.read().decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write(file: str, kept: dict[str, Any]) -> None:
    temporary = f"{file}.{os.getpid()}"
    try:
        paths.private_dir(paths.cache_dir())
        with open(temporary, "wb") as stream:
            stream.write(jsontext.dumps(kept).encode())
        os.replace(temporary, file)
    except OSError:
        pass  # only an optimisation
