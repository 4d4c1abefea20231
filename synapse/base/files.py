"""Files that are replaced as a whole: a reader sees the old content or the new, never a part of it.

The cache under ~/.synapse holds results as JSON, each with a key that says what it was made from. It is only
an optimisation: a result that cannot be read is made again, one that cannot be written is not stored.
"""

from __future__ import annotations

import os

from synapse.base import jsontext, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SETTLED_NS = 100_000_000  # a file as young as this can change again without its time stamp moving


def replace(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write a temporary file beside `path`, then rename it to `path`.

    Raises OSError; `path` is then as it was, and the temporary file is removed. Nothing is flushed to the
    disk: after a power failure the content may be the old one.
    """
    temporary = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # the first error is the one to report
        raise


def read_object(path: str) -> dict[str, Any]:
    """The JSON object in a file; empty if there is none."""
    try:
        with open(path, "rb") as file:
            value = jsontext.loads(file.read().decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def cached(name: str, key: list[object]) -> Any:
    """The result in the cache file `name`, or None if there is none with this key."""
    entry = read_object(os.path.join(paths.cache_dir(), name))
    return entry.get("data") if entry.get("key") == key else None


def cache(name: str, key: list[object], data: object) -> None:
    try:
        directory = paths.private_dir(paths.cache_dir())
        replace(os.path.join(directory, name), jsontext.dumps({"key": key, "data": data}).encode())
    except (OSError, ValueError):
        pass


def changed_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
