"""YAML files, parsed and checked once: a cache holds each one as JSON.

Importing and running PyYAML takes 20 ms of every `synapse claude`, compiling the patterns in a file 10 more.
The cache takes one stat and one read.
"""

from __future__ import annotations

import os
import stat
import sys
import time

from synapse.base import files
from synapse.base.digest import sha256_hex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from synapse.errors import SynapseError

MAX_BYTES = 1_000_000
MAX_EXPANDED = 10_000_000  # characters, with what aliases repeat; each value counts 8 more
CACHE_FORMAT = 2
KINDS = frozenset(("str", "int", "float", "bool", "null", "seq", "map"))


def load(
    path: str,
    error: type[SynapseError],
    check: Callable[[object, str], Any] = lambda data, _: data,
    checker: tuple[str, ...] = (),
) -> Any:
    """The content of the file as JSON types. Raises FileNotFoundError, or `error` for any other problem.

    `check` gets the content and the path of a file that has changed. Its result is cached while the source
    files in `checker` stay the same.
    """
    try:
        info = os.stat(path)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as problem:
        raise error(f"{path} cannot be read: {_reason(problem)}; make it readable") from None
    key = [_key(path, info), sys.hexversion, [files.changed_ns(source) for source in checker]]
    # The digest only keeps the names apart: the key holds the whole path.
    name = f"{os.path.basename(path)[:80]}-{sha256_hex(path)[:8]}.json"
    cached = files.cached(name, key)
    if cached is not None:
        return cached
    text, unchanged = _read(path, info, error)
    data = check(_parse(path, text, error), path)
    if unchanged and time.time_ns() - info.st_mtime_ns > files.SETTLED_NS:
        files.cache(name, key, data)
    return data


def _read(path: str, info: os.stat_result, error: type[SynapseError]) -> tuple[str, bool]:
    if stat.S_ISDIR(info.st_mode):
        raise error(f"{path} is a directory, and must be a YAML file")
    if not stat.S_ISREG(info.st_mode):
        raise error(f"{path} is not a regular file, and must be a YAML file")
    if info.st_size > MAX_BYTES:
        raise error(f"{path} is too large: {info.st_size} bytes, and at most {MAX_BYTES} are read")
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
            after = os.fstat(file.fileno())
    except OSError as problem:
        raise error(f"{path} cannot be read: {_reason(problem)}; make it readable") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise error(f"{path}, line {line}: the file is not UTF-8; save it as UTF-8") from None
    return text, _key(path, after) == _key(path, info)


def _parse(path: str, text: str, error: type[SynapseError]) -> object:
    import json

    import yaml

    try:
        loader = _loader(text)(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_nodes(node)
        _check_aliases(node)
        data = loader.construct_document(node)
        json.dumps(data)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = ", ".join(part for part in (problem.context, problem.problem) if part)
        raise error(f"{path}{where}: {what or 'this is not YAML'}") from None
    except yaml.reader.ReaderError as problem:
        # Its position is in bytes or characters, depending on the loader, so look for the character.
        at = text.find(chr(problem.character))
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise error(f"{path}, line {line}, column {column}: {problem.reason}") from None
    except RecursionError:
        raise error(f"{path} is nested too deeply") from None
    except (TypeError, ValueError) as problem:
        raise error(f"{path} contains a value that cannot be stored: {problem}") from None
    return data


def _loader(text: str) -> type[Any]:
    import yaml

    # libyaml's composer overflows the C stack on deep nesting, and no depth goes without one of these.
    deep = sum(text.count(indicator) for indicator in "[{-:?") > 20_000
    base: type[Any] = yaml.SafeLoader if deep else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    as_text = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [(tag, pattern) for tag, pattern in resolvers if tag not in as_text]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

    return Loader


def _check_nodes(root: Any) -> None:
    """Refuse what JSON would change silently: keys that are not text, duplicate keys, other types."""
    import yaml

    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        kind = node.tag.rpartition(":")[2]
        if not node.tag.startswith("tag:yaml.org,2002:") or kind not in KINDS:
            raise _refused(node, f"the type {node.tag} is not supported here")
        if isinstance(node, yaml.SequenceNode):
            stack += node.value
        elif isinstance(node, yaml.MappingNode):
            keys = set()
            for key, value in node.value:
                if key.tag.rpartition(":")[2] not in ("str", "merge"):
                    name = key.value if isinstance(key, yaml.ScalarNode) else "here"
                    raise _refused(key, f"the key {name} must be text: put it in quotes")
                if key.value in keys:
                    raise _refused(key, f"{key.value} appears twice")
                keys.add(key.value)
                stack.append(value)


def _check_aliases(root: Any) -> None:
    """Refuse aliases that contain themselves, and those that repeat too much: a few lines can stand for
    billions of values."""
    sizes: dict[int, int] = {}  # of the nodes that are counted; 0 while one is being counted
    stack = [root]
    while stack:
        node = stack[-1]
        text = node.value if isinstance(node.value, str) else ""
        inner = [] if node.value is text else _values(node)
        if id(node) not in sizes:
            sizes[id(node)] = 0
            new = [child for child in inner if sizes.get(id(child)) is None]
            if new:
                stack += new
                continue
        stack.pop()
        if sizes[id(node)]:
            continue
        if any(not sizes[id(child)] for child in inner):
            raise _refused(node, "this contains itself: an alias (*) must not stand inside its anchor (&)")
        sizes[id(node)] = 8 + len(text) + sum(sizes[id(child)] for child in inner)
        if sizes[id(node)] > MAX_EXPANDED:
            raise _refused(node, "with what its aliases (*) repeat, this is too large: use fewer of them")


def _values(node: Any) -> list[Any]:
    return [value[1] if isinstance(value, tuple) else value for value in node.value]


def _refused(node: Any, problem: str) -> Exception:
    import yaml

    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _reason(problem: Exception) -> str:
    return (getattr(problem, "strerror", None) or str(problem)).lower()


def _key(path: str, info: os.stat_result) -> list[object]:
    return [CACHE_FORMAT, path, info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino]
