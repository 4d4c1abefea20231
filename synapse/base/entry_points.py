"""Packages that extend Synapse, found by the entry points that they declare.

`importlib.metadata` takes 45 ms, so the result is cached while the directories of `sys.path` are unchanged:
installing or removing a package changes one of them.
"""

import os
import sys
import time

from synapse.base import files, paths

FORMAT = 2


def find(group: str) -> dict[str, list[str]]:
    """For each entry point of the group that names a package: [package, its directory]."""
    places = _search_path()
    changes = [files.changed_ns(path) for path in places]
    key: list[object] = [FORMAT, sys.hexversion, group, places, changes]
    name = f"entry-points-{group}.json"
    found: dict[str, list[str]] | None = files.cached(name, key)
    if found is None:
        found = _search(group, places)
        if time.time_ns() - max(changes, default=0) > files.SETTLED_NS:
            files.cache(name, key, found)
    return found


def _search_path() -> list[str]:
    """What the host imports from too: PYTHONPATH counts only if Synapse is imported from it."""
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
