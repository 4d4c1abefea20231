"""Loads profiles: what Synapse knows about one agent CLI, from a built-in YAML file or the user's own.

`profiles/fields.py` declares the fields. A `Profile` is plain data; functions here turn a field into bytes or
arguments. The relay starts through this module.
"""

from __future__ import annotations

import os

from synapse.agents import folders
from synapse.base import paths, schema, yamlfile
from synapse.base.record import Record
from synapse.base.schema import is_name, nearest, validate
from synapse.errors import ProfileError
from synapse.keys import names as keys
from synapse.profiles import fields
from synapse.profiles.fields import DEFAULTS, FIELDS, MODE_NAMES, PROFILE, RESERVED, Profile
from synapse.profiles.files import all_files, shipped_file, user_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = [
    "BUILT_IN", "DEFAULT", "DEFAULTS", "FIELDS", "MODE_NAMES", "PROFILE", "RESERVED", "USER",
    "USER_OVER_BUILT_IN", "Explained", "Listed", "Profile", "built_in_profile",
    "clear_steps", "explain_profile", "in_insert_mode", "instruction_arguments", "instruction_method",
    "instruction_variables", "interrupt_steps", "list_profiles", "load_profile", "pack_fields",
    "pack_profile", "runs_bare", "unpack_profile",
]  # fmt: skip

BUILT_IN = "built-in"
USER = "user"
USER_OVER_BUILT_IN = "user, over the built-in one"
DEFAULT = "default"
INSTALLED = "installed"  # by a package that adds a CLI
SCRIPT = "script"

ESCAPE_PAUSE = 0.1  # seconds between two Escapes: in one write they are Alt-Escape
MODE_PAUSE = 0.15  # seconds around a key that leaves a mode: an Escape and what follows it would be one key
EACH = 2000  # characters that `thorough` clears one by one: each key takes the CLI a moment


class Listed(Record):
    """One row of `list_profiles`: a profile, or the error in its file."""

    name: str
    source: str
    path: str
    profile: Profile | None
    error: str | None


class Explained(Record):
    """The values of a profile, merged from its files, and for each dotted field the file that sets it."""

    name: str
    source: str
    path: str
    values: dict[str, Any]
    origins: dict[str, str]


def load_profile(name: str) -> Profile:
    return unpack_profile(pack_profile(name))


def built_in_profile(name: str) -> Profile:
    path = os.path.join(paths.builtin_profiles_dir(), name + ".yaml")
    return unpack_profile(_packed(_explained(name, path, BUILT_IN)))


def explain_profile(name: str) -> Explained:
    return _explained(name, *_find(name))


def _explained(name: str, path: str, source: str) -> Explained:
    values, origins = _merged(_layers(name, path), path)
    return Explained(name=name, source=source, path=path, values=values, origins=origins)


def pack_profile(name: str) -> dict[str, Any]:
    """A profile as JSON, for the host: the file may change while the agent runs."""
    return _packed(explain_profile(name))


def _packed(explained: Explained) -> dict[str, Any]:
    return {key: getattr(explained, key) for key in ("name", "source", "path", "values")}


def unpack_profile(packed: dict[str, Any]) -> Profile:
    others = {key: packed[key] for key in ("name", "source", "path")}
    values = packed["values"]
    instructions = values["instructions"]
    if values["embedded"] and instructions["method"] == "message" and instructions["argument"]:
        values = {**values, "instructions": {**instructions, "method": "config"}}
    profile: Profile = PROFILE.build(values, **others)
    return profile


def pack_fields(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """A profile without a file, as JSON: the fields that a script gives, and defaults for the others."""
    if not is_name(name) or name in RESERVED:
        raise ProfileError(f"{name!r} cannot name an agent: use letters, digits, _ and -.")
    values, _ = _merged([(SCRIPT, _check(given, SCRIPT))], SCRIPT)
    return {"name": name, "source": SCRIPT, "path": SCRIPT, "values": values}


def list_profiles() -> list[Listed]:
    rows = []
    for name, path in sorted(all_files().items()):
        profile = error = None
        try:
            profile = load_profile(name)
        except ProfileError as problem:
            error = str(problem)
        source = _source(name, path)
        rows.append(Listed(name=name, source=source, path=path, profile=profile, error=error))
    return rows


def runs_bare(profile: Profile, arguments: Sequence[str]) -> bool:
    """Whether the CLI opens no conversation with these arguments; then it runs without Synapse."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    flags = [argument.partition("=")[0] for argument in own if argument.startswith("-")]
    return any(word in profile.bare for word in (*own[:1], *flags))


def clear_steps(
    profile: Profile, text: str, behind: int = 0, normal_mode: bool = False
) -> list[tuple[float, bytes]]:
    """The writes that remove `text` from a composer, each with the pause before it. `behind`: how many of
    its characters are behind the cursor. `normal_mode`: of vim keys; the clear keys do nothing in it, and
    the cursor may be anywhere."""
    leave = profile.modes.get(text[:1])
    more = [(MODE_PAUSE, leave), (MODE_PAUSE, b"")] if leave else []
    behind = len(text) if normal_mode else behind
    steps = [(0.0, _clear_keys(profile, text, behind)), *more]
    return [*(in_insert_mode(profile, steps) if normal_mode else steps), (profile.clear_delay, b"")]


def in_insert_mode(profile: Profile, steps: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    """The same writes, for a composer in the normal mode of vim keys."""
    (_, first), *others = steps
    back = [(MODE_PAUSE, b"\x1b"), (MODE_PAUSE, b"")] if profile.vim_mode.stays else []
    return [(0.0, b"i"), (MODE_PAUSE, first), *others, *back]


def _clear_keys(profile: Profile, text: str, behind: int) -> bytes:
    breaks = text.count("\n")
    if profile.clear_keys == "auto":
        # Measured: every line editor takes these as edits, in vi mode too, where Ctrl-K and Delete are text.
        return b"\x1b[C" * behind + b"\x15" + b"\x7f\x15" * breaks
    if profile.clear_keys in ("strong", "thorough"):
        # Measured: exact on these CLIs, adds nothing to the history, harmless in an empty composer.
        times = max(len(text) // 20, breaks) + 6
        each = min(len(text), EACH) if profile.clear_keys == "thorough" else 0
        before, after = b"\x15\x7f" * times + b"\x7f" * each, b"\x0b\x1b[3~" * times
        return before + after + b"\x1b[3~" * min(behind, each)
    return keys.encode(profile.clear_keys) * (breaks + 1)


def interrupt_steps(profile: Profile) -> list[tuple[float, bytes]]:
    """The writes that interrupt a running answer, each with the pause before it."""
    first, *others = profile.interrupt_keys.replace(b"\x1b\x1b", b"\x1b\0\x1b").split(b"\0")
    return [(0.0, first), *((ESCAPE_PAUSE, keys) for keys in others)]


def instruction_method(profile: Profile, setting: str) -> str:
    """How the agent gets its instructions; `setting` is the user's `initial_instructions`."""
    method = profile.instructions.method
    return method if setting == "auto" or method == "off" else setting


def instruction_arguments(profile: Profile, text: str) -> list[str]:
    """The launch arguments that carry the instructions; none if they go another way, or off."""
    method, argument = profile.instructions.method, profile.instructions.argument or ""
    if method == "argument":
        return [argument, text]
    if method == "config":
        import json

        # A JSON string is a TOML string, except for DEL and escaped surrogate pairs.
        return ["-c", f"{argument}={json.dumps(text, ensure_ascii=False)}".replace("\x7f", "\\u007f")]
    return []


def instruction_variables(profile: Profile, text: str) -> dict[str, str]:
    """The same for variables."""
    method, argument = profile.instructions.method, profile.instructions.argument
    return {argument: text} if method == "variable" and argument else {}


def _find(name: str) -> tuple[str, str]:
    if name in RESERVED:
        raise ProfileError(
            f"{name} is a word of synapse itself and cannot name a profile: see `synapse profiles`."
        )
    if is_name(name):
        path = user_file(name) or shipped_file(name)
        if path:
            return path, _source(name, path)
    elif name in (files := all_files()):
        raise ProfileError(f"{files[name]}: the name of a profile must be letters, digits, _ and -.")
    raise ProfileError(f"there is no profile {name}{nearest(name, all_files())}: see `synapse profiles`.")


def _source(name: str, path: str) -> str:
    built_in = os.path.join(paths.builtin_profiles_dir(), name + ".yaml")
    if path == built_in:
        return BUILT_IN
    if not path.startswith(paths.user_profiles_dir()):
        return INSTALLED
    return USER_OVER_BUILT_IN if os.path.exists(built_in) else USER


def _layers(name: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """The file and those that it extends, nearest first, each of them valid."""
    layers: list[tuple[str, dict[str, Any]]] = []
    chain = [name]
    while True:
        try:
            layer = yamlfile.load(path, ProfileError, _check, (fields.__file__, schema.__file__))
        except FileNotFoundError:
            raise ProfileError(
                f"{path} cannot be read: it is a link to nothing, or was just removed."
            ) from None
        base = layer.pop("extends", None)
        layers.append((path, layer))
        if base is None:
            return layers
        # A profile that extends its own name extends the one that is not the user's.
        found = shipped_file(base) if base == chain[-1] else user_file(base) or shipped_file(base)
        if not is_name(base) or not found:
            hint = nearest(base, [known for known in all_files() if known != name])
            raise ProfileError(f"{path}: extends names {base}, and there is no such profile to extend{hint}.")
        chain.append(base)
        if any(found == used for used, _ in layers):
            raise ProfileError(f"{path}: extends goes in a circle: {' -> '.join(chain)}.")
        path = found


def _check(data: object, path: str) -> dict[str, Any]:
    return validate(FIELDS, data, path, ProfileError)


def _merged(layers: list[tuple[str, dict[str, Any]]], path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of all layers over the defaults, and for each dotted field the file that sets it."""
    values = {key: _default(key) for key in DEFAULTS}
    origins: dict[str, str] = {}
    for origin, layer in reversed(layers):
        for key, value in layer.items():
            _merge(values, origins, key, value, origin)
    _complete(values, path)
    return values, origins


def _default(key: str) -> Any:
    default = DEFAULTS.get(key)
    return dict(default) if isinstance(default, dict) else default


def _merge(values: dict[str, Any], origins: dict[str, str], key: str, value: Any, path: str) -> None:
    """Merge one field into the values: mappings merge, the rest is replaced, null means the default."""
    if value is None:
        values[key] = _default(key)
        for field in [field for field in origins if field == key or field.startswith(f"{key}.")]:
            del origins[field]
    elif isinstance(value, dict):
        for inner, item in value.items():
            if item is None and key != "env":  # null in `env` unsets a variable
                values[key][inner] = DEFAULTS[key][inner]
                origins.pop(f"{key}.{inner}", None)
            else:
                values[key][inner] = item
                origins[f"{key}.{inner}"] = path
    else:
        values[key] = value
        origins[key] = path


def _complete(values: dict[str, Any], path: str) -> None:
    """Set what depends on other fields, and refuse fields that do not fit together."""
    problems = []
    if not values.get("command"):
        problems.append("command is missing: it must be the command that starts the agent")
    if not folders.exists(values["channel"]):
        problems.append(f"channel: {folders.unknown(values['channel'])}")
    idle = values["idle_detection"]
    if idle["strategy"] is None:
        idle["strategy"] = "pattern" if idle["pattern"] else "timeout"
    if idle["strategy"] != "timeout" and not idle["pattern"]:
        problems.append(f"idle_detection.pattern is missing: the strategy {idle['strategy']} needs one")
    instructions = values["instructions"]
    if instructions["method"] is None:
        instructions["method"] = "off" if _would_run_it(values) else "message"
    if instructions["method"] in ("argument", "config", "variable") and not instructions["argument"]:
        problems.append(f"instructions.argument is missing: the method {instructions['method']} needs one")
    if problems:
        raise ProfileError("\n".join(f"{path}: {problem}" for problem in problems))


def _would_run_it(values: dict[str, Any]) -> bool:
    """A program without a channel may be a shell, to which instructions are commands."""
    if values["channel"] != "none" or not values.get("command"):
        return False
    from synapse.profiles.interpreters import runs_what_it_reads

    return runs_what_it_reads([*values["command"], *values["args"]])
