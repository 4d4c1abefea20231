"""Sets one value in `config.yaml`: everything else in the file, comments and order included, stays as it is.

The text is changed only where the parser says that the value stands. The result is read again, and is written
only if it says what was asked for and otherwise the same as before.
"""

from __future__ import annotations

import os
from typing import Any

import yaml

from synapse.base import files, paths, yamlfile
from synapse.base.schema import Kind, RecordOf, nearest, validate
from synapse.config import FIELDS, SETTINGS, AgentSettings, load_settings
from synapse.errors import ConfigError, UsageError

AGENT_FIELDS = RecordOf(AgentSettings).declared


def set_value(key: str, text: str) -> object:
    """Write the setting to the file. Returns the value as it was understood."""
    kind = _kind(key)
    problems: list[str] = []
    value = kind.check(kind.read(text), key, problems)
    if problems:
        raise ConfigError(f"{problems[0]}: nothing was changed.")
    path = os.path.realpath(paths.config_file())  # the file may be a link into a repository
    before = _read(path) if os.path.exists(path) else ""
    after = edited(before, key.split("."), value)
    _check(before, after, key.split("."), value, path)
    try:
        paths.private_dir(os.path.dirname(path))
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o600
        files.replace(path, after.encode(), mode)
    except OSError as error:
        raise ConfigError(
            f"cannot write {path} ({error.strerror}): make room or make it writable."
        ) from error
    load_settings()
    return value


def _kind(key: str) -> Kind:
    if key in FIELDS:
        return FIELDS[key].kind
    section, _, field = key.rpartition(".")
    if section.startswith("agents.") and section.count(".") == 1:
        if field not in AGENT_FIELDS:
            known = ", ".join(AGENT_FIELDS)
            raise UsageError(f"an agent has no setting {field!r}: use one of {known}.")
        return AGENT_FIELDS[field].kind
    inner = [name for name in FIELDS if name.startswith(f"{key}.")]
    if inner:
        raise UsageError(f"{key} is a section: set one of {', '.join(inner)}.")
    raise UsageError(f"there is no setting {key!r}{nearest(key, FIELDS)}: `synapse config` lists them.")


def _read(path: str) -> str:
    yamlfile.load(path, ConfigError)  # raises if this is no YAML that Synapse reads
    with open(path, encoding="utf-8-sig") as file:
        return file.read()


def edited(text: str, keys: list[str], value: object) -> str:
    """The text with the value at a path of keys."""
    root = yaml.compose(text, yaml.SafeLoader)
    if text and not text.endswith("\n"):
        text += "\n"
    if root is None or _is_null(root):
        return text + _block(keys, value, 0)
    if not isinstance(root, yaml.MappingNode):
        raise ConfigError(f"{paths.config_file()} must be a mapping: correct the file first.")
    parent, node, depth = None, root, 0
    while depth < len(keys) and isinstance(node, yaml.MappingNode):
        found = [inner for inner in node.value if inner[0].value == keys[depth]]
        if not found:
            return _added(text, node, keys[depth:], value)
        parent, node = found[0]
        depth += 1
    if depth < len(keys):  # a section without entries: the key, a colon and nothing
        return _filled(text, parent, node, keys[depth:], value)
    return text[: node.start_mark.index] + _flow(value) + text[_end(node) :]


def _added(text: str, section: Any, keys: list[str], value: object) -> str:
    """An entry after the last one of a section."""
    if section.flow_style:
        end = section.end_mark.index - 1  # the closing brace
        separator = ", " if section.value else ""
        return text[:end].rstrip() + separator + _inline(keys, value) + text[end:]
    last = _end(section)
    line_end = text.find("\n", last)
    at = len(text) if line_end < 0 else line_end + 1
    return text[:at] + _block(keys, value, section.start_mark.column) + text[at:]


def _filled(text: str, key: Any, node: Any, keys: list[str], value: object) -> str:
    if not _is_null(node):
        raise ConfigError(f"{paths.config_file()}: {key.value} must be a mapping: correct the file first.")
    colon = text.index(":", key.end_mark.index) + 1
    if node.value:  # `null` or `~`
        return text[: node.start_mark.index] + "{" + _inline(keys, value) + "}" + text[_end(node) :]
    line_end = text.find("\n", colon)
    at = len(text) if line_end < 0 else line_end + 1
    return text[:at] + _block(keys, value, key.start_mark.column + 2) + text[at:]


def _is_null(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def _end(node: Any) -> int:
    """Where a node ends. The end mark of a block is after the comments that follow it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        end: int = node.end_mark.index
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            end -= 1  # its last line break belongs to it
        return end
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _block(keys: list[str], value: object, indent: int) -> str:
    lines = [f"{' ' * (indent + 2 * depth)}{key}:" for depth, key in enumerate(keys)]
    return "\n".join(lines) + f" {_flow(value)}\n"


def _inline(keys: list[str], value: object) -> str:
    head, *rest = keys
    return f"{head}: {{{_inline(rest, value)}}}" if rest else f"{head}: {_flow(value)}"


def _flow(value: object) -> str:
    """A value on one line, quoted where YAML would read it as something else."""
    # As an item of a list: the file may have the value inside of braces, where more must be quoted.
    for readable in (True, False):  # what YAML takes for a line break must be escaped
        text = yaml.safe_dump([value], default_flow_style=True, allow_unicode=readable, width=1 << 20)
        if yaml.safe_load(text) == [value]:
            break
    return text.removesuffix("\n")[1:-1]


def _check(before: str, after: str, keys: list[str], value: object, path: str) -> None:
    wanted = yaml.safe_load(before) or {}
    place = wanted
    for key in keys[:-1]:
        place[key] = place = place.get(key) or {}
    place[keys[-1]] = value
    try:
        found = yaml.safe_load(after)
    except yaml.YAMLError:
        found = None
    if found != wanted:
        name = ".".join(keys)
        raise ConfigError(
            f"{path} is written in a way that cannot be changed here: set {name} in it by hand."
        )
    validate(SETTINGS, found, path, ConfigError)
