"""What Synapse knows about one agent CLI, from a YAML file: a built-in one, or the user's own over it.

`docs/profiles.md` describes every field. A `Profile` is plain data; the few functions beside it turn a field
into what a caller needs (bytes, arguments). `synapse claude` comes through here before it starts the agent.
"""

from __future__ import annotations

import os
import re
import sys

from synapse import keys, paths, yamlfile
from synapse.errors import ProfileError
from synapse.schema import (
    NAME,
    Boolean,
    Choice,
    Integer,
    Keys,
    ListOf,
    MappingOf,
    Number,
    Ports,
    Regex,
    Section,
    Text,
    Words,
    nearest,
    validate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

# Words that `synapse WORD` means already.
RESERVED = frozenset(
    (
        "all", "attach", "cancel", "config", "demo", "doctor", "external", "help", "input", "interrupt",
        "keys", "list", "logs", "profiles", "screen", "send", "shell-hook", "start", "status", "stop",
        "task", "tasks", "why",
    )
)  # fmt: skip

# An idle pattern may be one of these names: then it asks for a terminal mode (DEC private mode number).
MODE_NAMES = {
    "ALTERNATE_SCREEN": 1049,
    "APPLICATION_CURSOR": 1,
    "BRACKETED_PASTE_MODE": 2004,
    "CURSOR_VISIBLE": 25,
    "FOCUS_EVENTS": 1004,
}

BUILT_IN = "built-in"
USER = "user"
USER_OVER_BUILT_IN = "user, over the built-in one"
DEFAULT = "default"

_ENV_NAME = re.compile(r"[^=\0]+")


class _SubmitSequence(Text):
    __slots__ = ()
    expected = 'the keys that submit, such as "\\r" in double quotes'

    def take(self, value: object) -> str:
        text = super().take(value)
        # Without double quotes YAML reads \r as two characters, and the agent would be typed at for ever.
        if not any(character < " " for character in text):
            raise ValueError
        return text


FIELDS = Section(
    {
        "extends": Text(empty=False),
        "command": Words(),
        "args": ListOf(Text()),
        "env": MappingOf(Text(), _ENV_NAME, "the name of a variable", null=True),
        "title": Text(),
        "description": Text(),
        "install": Text(),
        "ports": Ports(),
        "bare": ListOf(Text(empty=False)),
        "submit_sequence": _SubmitSequence(),
        "submit_delay": Number(0, 30),
        "paste": Choice("bracketed", "plain"),
        "clear_keys": Keys("strong"),
        "clear_delay": Number(0, 30),
        "interrupt_keys": Keys(),
        "idle_detection": Section(
            {
                "strategy": Choice("pattern", "timeout", "hybrid"),
                "pattern": Regex(names=MODE_NAMES),
                "pattern_use": Choice("always", "startup_only"),
                "timeout": Number(0.1, 600),
            }
        ),
        "input_detection": Section(
            {
                "enabled": Boolean(),
                "additional_patterns": ListOf(
                    Section(
                        {
                            "pattern": Regex(),
                            "type": Choice("confirmation", "selection", "text", "password"),
                            "options": ListOf(Text()),
                        },
                        required=("pattern", "type"),
                    )
                ),
            }
        ),
        "instructions": Section(
            {"method": Choice("argument", "config", "typed", "off"), "argument": Text(empty=False)}
        ),
        "response_end": Text(empty=False),
        "size": Section({"cols": Integer(20, 1000), "rows": Integer(5, 500)}),
    }
)

DEFAULTS: dict[str, Any] = {
    "args": [],
    "env": {},
    "title": "",
    "description": "",
    "install": "",
    "ports": None,  # from 8200 on
    "bare": [],
    "submit_sequence": "\r",
    "submit_delay": 0.3,
    "paste": "bracketed",
    "clear_keys": "strong",
    "clear_delay": 0,
    "interrupt_keys": ["C-c"],
    "idle_detection": {"strategy": None, "pattern": None, "pattern_use": "always", "timeout": 2.0},
    "input_detection": {"enabled": True, "additional_patterns": []},
    "instructions": {"method": "typed", "argument": None},
    "response_end": None,
    "size": {"cols": 120, "rows": 40},
}


class Record:
    """Named values that do not change; `dataclasses` would cost the start 10 ms."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **values: object) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, values[name])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, n) == getattr(other, n) for n in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


class IdleDetection(Record):
    __slots__ = ("pattern", "pattern_use", "strategy", "timeout")
    strategy: str
    pattern: str | None
    pattern_use: str
    timeout: float

    @property
    def mode(self) -> int | None:
        """The terminal mode that the pattern names, if it names one."""
        return MODE_NAMES.get(self.pattern) if self.pattern else None


class InputPattern(Record):
    __slots__ = ("options", "pattern", "type")
    pattern: str
    type: str
    options: tuple[str, ...]


class InputDetection(Record):
    __slots__ = ("additional_patterns", "enabled")
    enabled: bool
    additional_patterns: tuple[InputPattern, ...]


class Instructions(Record):
    __slots__ = ("argument", "method")
    method: str
    argument: str | None


class Profile(Record):
    __slots__ = (
        "args", "bare", "clear_delay", "clear_keys", "command", "description", "env", "idle_detection",
        "input_detection", "install", "instructions", "interrupt_keys", "name", "paste", "path", "ports",
        "response_end", "size", "source", "submit_delay", "submit_sequence", "title",
    )  # fmt: skip
    name: str
    source: str
    path: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: dict[str, str | None]
    title: str
    description: str
    install: str
    ports: tuple[int, int] | None
    bare: tuple[str, ...]
    submit_sequence: str
    submit_delay: float
    paste: str
    clear_keys: str | tuple[str, ...]
    clear_delay: float
    interrupt_keys: bytes
    idle_detection: IdleDetection
    input_detection: InputDetection
    instructions: Instructions
    response_end: str | None
    size: tuple[int, int]  # columns, rows


class Listed(Record):
    """One row of `list_profiles`: a profile, or the error that its file is."""

    __slots__ = ("error", "name", "path", "profile", "source")
    name: str
    source: str
    path: str
    profile: Profile | None
    error: str | None


class Explained(Record):
    """A profile as its files say it, merged, and for each dotted field the file that says it."""

    __slots__ = ("name", "origins", "path", "source", "values")
    name: str
    source: str
    path: str
    values: dict[str, Any]
    origins: dict[str, str]


def load_profile(name: str) -> Profile:
    return _build(explain_profile(name))


def explain_profile(name: str) -> Explained:
    path, source = _find(name)
    layers = _layers(name, path)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, default in DEFAULTS.items():
        values[key] = dict(default) if isinstance(default, dict) else default
    for layer_path, layer in reversed(layers):
        for key, value in layer.items():
            _merge(values, origins, key, value, layer_path)
    _complete(values, path)
    return Explained(name=name, source=source, path=path, values=values, origins=origins)


def list_profiles() -> list[Listed]:
    rows = []
    for name, path in sorted(_all_files().items()):
        source = _source(name, path)
        try:
            profile = load_profile(name)
        except ProfileError as error:
            rows.append(Listed(name=name, source=source, path=path, profile=None, error=str(error)))
        else:
            rows.append(Listed(name=name, source=source, path=path, profile=profile, error=None))
    return rows


def profile_names() -> list[str]:
    """Every name there is a file for, valid or not."""
    return sorted(_all_files())


def runs_bare(profile: Profile, arguments: Sequence[str]) -> bool:
    """Whether with these arguments the CLI opens no conversation, and runs without Synapse."""
    if arguments and not arguments[0].startswith("-") and arguments[0] in profile.bare:
        return True
    for argument in arguments:
        if argument == "--":
            return False
        if argument.startswith("-") and argument.partition("=")[0] in profile.bare:
            return True
    return False


def clear_bytes(profile: Profile, characters: int) -> bytes:
    """What empties a composer that holds about `characters`, wherever its cursor is."""
    if profile.clear_keys == "strong":
        # Measured: exact on every CLI, adds nothing to the history, harmless in an empty composer.
        times = max(characters, 0) // 20 + 6
        return b"\x15\x7f" * times + b"\x0b\x1b[3~" * times
    return keys.encode(profile.clear_keys)


def instruction_arguments(profile: Profile, text: str) -> list[str]:
    """The launch arguments that give the CLI its instructions; none if they are typed, or off."""
    method, argument = profile.instructions.method, profile.instructions.argument or ""
    if method == "argument":
        return [argument, text]
    if method == "config":
        import json

        # A JSON string is a TOML one, but for DEL and for escaped surrogate pairs.
        return ["-c", f"{argument}={json.dumps(text, ensure_ascii=False)}".replace("\x7f", "\\u007f")]
    return []


def _find(name: str) -> tuple[str, str]:
    """The file for a name, and its source."""
    if name in RESERVED:
        raise ProfileError(
            f"{name} is a word of synapse itself and cannot name a profile; see `synapse profiles`"
        )
    if NAME.fullmatch(name):
        path = _user_file(name) or _built_in_file(name)
        if path:
            return path, _source(name, path)
    elif name in (files := _all_files()):
        raise ProfileError(f"{files[name]}: the name of a profile must be letters, digits, _ and -")
    raise ProfileError(f"there is no profile {name}{nearest(name, _all_files())}; see `synapse profiles`")


def _source(name: str, path: str) -> str:
    built_in = _built_in_file(name)
    if path == built_in:
        return BUILT_IN
    return USER_OVER_BUILT_IN if built_in else USER


def _user_file(name: str) -> str | None:
    folder = paths.user_profiles_dir()
    found = [
        path
        for path in (os.path.join(folder, name + end) for end in (".yaml", ".yml"))
        if os.path.lexists(path)
    ]
    if len(found) > 1:
        raise ProfileError(f"there are both {found[0]} and {found[1]}: remove one of them")
    return found[0] if found else None


def _built_in_file(name: str) -> str | None:
    path = os.path.join(paths.builtin_profiles_dir(), name + ".yaml")
    return path if os.path.exists(path) else None


def _all_files() -> dict[str, str]:
    files = {}
    for folder in (paths.builtin_profiles_dir(), paths.user_profiles_dir()):
        try:
            entries = sorted(os.listdir(folder))
        except OSError:
            continue
        for entry in entries:
            name, end = os.path.splitext(entry)
            if end in (".yaml", ".yml") and not entry.startswith("."):
                files[name] = os.path.join(folder, entry)
    return files


def _layers(name: str, path: str) -> list[tuple[str, dict[str, Any]]]:
    """The file and those it extends, nearest first, each valid on its own."""
    layers: list[tuple[str, dict[str, Any]]] = []
    chain = [name]
    while True:
        try:
            data = yamlfile.load(path, ProfileError)
        except FileNotFoundError:
            raise ProfileError(
                f"{path} cannot be read: it is a link to nothing, or was just removed"
            ) from None
        layer = validate(FIELDS, data, path, ProfileError)
        base = layer.pop("extends", None)
        layers.append((path, layer))
        if base is None:
            return layers
        # A profile that extends its own name means the built-in one.
        found = _built_in_file(base) if base == chain[-1] else _user_file(base) or _built_in_file(base)
        if not NAME.fullmatch(base) or not found:
            hint = nearest(base, [known for known in _all_files() if known != name])
            raise ProfileError(f"{path}: extends names {base}, and there is no such profile to extend{hint}")
        chain.append(base)
        if any(found == used for used, _ in layers):
            raise ProfileError(f"{path}: extends goes in a circle: {' -> '.join(chain)}")
        path = found


def _merge(values: dict[str, Any], origins: dict[str, str], key: str, value: Any, path: str) -> None:
    """Lay one field over what is there: mappings merge, the rest is replaced, null means the default."""
    if value is None:
        default = DEFAULTS.get(key)
        values[key] = dict(default) if isinstance(default, dict) else default
        for field in [field for field in origins if field == key or field.startswith(f"{key}.")]:
            del origins[field]
    elif isinstance(value, dict):
        for inner, item in value.items():
            if item is None and key != "env":  # a variable set to null is one to unset
                values[key][inner] = DEFAULTS[key][inner]
                origins.pop(f"{key}.{inner}", None)
            else:
                values[key][inner] = item
                origins[f"{key}.{inner}"] = path
    else:
        values[key] = value
        origins[key] = path


def _complete(values: dict[str, Any], path: str) -> None:
    """Fill in what depends on other fields, and refuse what does not go together."""
    problems = []
    if not values.get("command"):
        problems.append("command is missing: it must be the command that starts the agent")
    idle = values["idle_detection"]
    if idle["strategy"] is None:
        idle["strategy"] = "pattern" if idle["pattern"] else "timeout"
    if idle["strategy"] != "timeout" and not idle["pattern"]:
        problems.append(f"idle_detection.pattern is missing: the strategy {idle['strategy']} needs one")
    instructions = values["instructions"]
    if instructions["method"] in ("argument", "config") and not instructions["argument"]:
        problems.append(f"instructions.argument is missing: the method {instructions['method']} needs one")
    if problems:
        raise ProfileError("\n".join(f"{path}: {problem}" for problem in problems))


def _build(explained: Explained) -> Profile:
    values = explained.values
    command = [sys.executable if word == "{python}" else word for word in values["command"]]
    command[0] = os.path.expanduser(command[0])
    clear = values["clear_keys"]
    detection = values["input_detection"]
    patterns = tuple(
        InputPattern(pattern=item["pattern"], type=item["type"], options=tuple(item.get("options") or ()))
        for item in detection["additional_patterns"]
    )
    return Profile(
        **{
            **values,
            "name": explained.name,
            "source": explained.source,
            "path": explained.path,
            "command": tuple(command),
            "args": tuple(values["args"]),
            "env": dict(values["env"]),
            "bare": tuple(values["bare"]),
            "clear_keys": clear if isinstance(clear, str) else tuple(clear),
            "interrupt_keys": keys.encode(values["interrupt_keys"]),
            "idle_detection": IdleDetection(**values["idle_detection"]),
            "input_detection": InputDetection(enabled=detection["enabled"], additional_patterns=patterns),
            "instructions": Instructions(**values["instructions"]),
            "size": (values["size"]["cols"], values["size"]["rows"]),
        }
    )
