"""Settings: `~/.synapse/config.yaml`, over it `SYNAPSE_*` variables, and where each value comes from.

`docs/configuration.md` describes every key. `agents` is said in the file only.
"""

from __future__ import annotations

import os

from synapse.base import paths, schema, yamlfile
from synapse.base.record import Record
from synapse.base.schema import (
    Boolean,
    Choice,
    Integer,
    Kind,
    MappingOf,
    Number,
    Regex,
    Section,
    Text,
    Words,
    is_name,
    validate,
)
from synapse.errors import ConfigError
from synapse.keys import names as keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT = "default"


class _Chord(Kind):
    __slots__ = ()
    expected = "two key names such as `C-] d`, the first of which types nothing"

    def take(self, value: object) -> str:
        if not isinstance(value, str) or keys.parse_chord(value) is None:
            raise ValueError
        return value


KEYS = Section(
    {
        "input_routing": Section(
            {
                "enabled": Boolean(),
                "pattern": Regex(groups=2),
                "feedback": Choice("silent", "inline"),
                "passthrough_on_fail": Boolean(),
            }
        ),
        "default_response_mode": Choice("display", "return", "broadcast"),
        "response_timeout": Number(1, 604800),
        "shell_prompt": Text(),
        "initial_instructions": Boolean(),
        "detach_keys": _Chord(),
        "overlay_keys": _Chord(),
        "log_level": Choice("debug", "info", "warning", "error"),
        "allowed_hosts": Words(),
        "limits": Section(
            {
                "body": Integer(1024, 1 << 30),
                "rate": Number(0, 1_000_000),
                "connections": Integer(4, 10_000),
                "queue": Integer(1, 100_000),
                "message": Integer(1024, 1 << 30),
                "history": Integer(10, 10_000_000),
                "events": Integer(10, 1_000_000),
            }
        ),
        "push": Section({"allow_private": Boolean()}),
        "grpc_port": Integer(0, 65535),
        "routing": Section(
            {
                "draft_patience": Integer(0, 86_400),
                "max_hops": Integer(0, 1000),
                "pair_per_minute": Integer(0, 100_000),
            }
        ),
        "agents": MappingOf(
            Section({"port": Integer(1, 65535), "auto_start": Boolean(), "profile": Text(empty=False)}),
            is_name,
            "a name of letters, digits, _ and -",
            null=True,
        ),
    }
)

DEFAULTS: dict[str, Any] = {
    "input_routing.enabled": True,
    "input_routing.pattern": r"^@([\w-]+)\s+(.+)$",
    "input_routing.feedback": "inline",
    "input_routing.passthrough_on_fail": True,
    "default_response_mode": "display",
    "response_timeout": 300,
    "shell_prompt": "synapse> ",
    "initial_instructions": True,
    "detach_keys": "C-] d",
    "overlay_keys": "C-] o",
    "log_level": "info",
    "allowed_hosts": [],
    "limits.body": 2 * 1024 * 1024,
    "limits.rate": 200,
    "limits.connections": 256,
    "limits.queue": 100,
    "limits.message": 1_000_000,
    "limits.history": 10_000,
    "limits.events": 10_000,
    "push.allow_private": False,
    "grpc_port": 0,
    "routing.max_hops": 8,
    "routing.draft_patience": 20,
    "routing.pair_per_minute": 20,
}


class InputRouting(Record):
    __slots__ = ("enabled", "feedback", "passthrough_on_fail", "pattern")
    enabled: bool
    pattern: str
    feedback: str
    passthrough_on_fail: bool


class Limits(Record):
    __slots__ = ("body", "connections", "events", "history", "message", "queue", "rate")
    body: int
    rate: float
    connections: int
    queue: int
    message: int
    history: int
    events: int


class Push(Record):
    __slots__ = ("allow_private",)
    allow_private: bool


class Routing(Record):
    __slots__ = ("draft_patience", "max_hops", "pair_per_minute")
    draft_patience: int
    max_hops: int
    pair_per_minute: int


class AgentSettings(Record):
    __slots__ = ("auto_start", "port", "profile")
    port: int | None
    auto_start: bool
    profile: str


class Settings(Record):
    """Each setting by its name; `values` has them as they are written, by dotted key, as has `origins`."""

    __slots__ = (
        "agents", "allowed_hosts", "default_response_mode", "detach_keys", "grpc_port",
        "initial_instructions", "input_routing", "limits", "log_level", "origins", "overlay_keys", "push",
        "response_timeout", "routing", "shell_prompt", "values",
    )  # fmt: skip
    input_routing: InputRouting
    default_response_mode: str
    response_timeout: float
    shell_prompt: str
    initial_instructions: bool
    detach_keys: tuple[bytes, bytes]
    overlay_keys: tuple[bytes, bytes]
    log_level: str
    allowed_hosts: list[str]
    limits: Limits
    push: Push
    grpc_port: int  # 0: none
    routing: Routing
    agents: dict[str, AgentSettings]
    values: dict[str, Any]
    origins: dict[str, str]


def load_settings() -> Settings:
    path = paths.config_file()
    values = dict(DEFAULTS)
    origins = dict.fromkeys(DEFAULTS, DEFAULT)
    _read_file(path, values, origins)
    _read_environment(values, origins)
    return unpack_settings(values, origins)


def unpack_settings(values: dict[str, Any], origins: dict[str, str] | None = None) -> Settings:
    """Settings from their `values`, which another process may have loaded."""
    top = {key: value for key, value in values.items() if "." not in key}
    for chord in ("detach_keys", "overlay_keys"):
        top[chord] = keys.parse_chord(top[chord])
    return Settings(
        **top,
        input_routing=InputRouting(**_under("input_routing", values)),
        limits=Limits(**_under("limits", values)),
        push=Push(**_under("push", values)),
        routing=Routing(**_under("routing", values)),
        agents=_agents(values),
        values=values,
        origins=origins or {},
    )


def _under(section: str, values: dict[str, Any]) -> dict[str, Any]:
    start = section + "."
    return {key[len(start) :]: value for key, value in values.items() if key.startswith(start)}


def _agents(values: dict[str, Any]) -> dict[str, AgentSettings]:
    fields: dict[str, dict[str, Any]] = {}
    for key, value in _under("agents", values).items():
        name, _, field = key.partition(".")
        fields.setdefault(name, {})[field] = value
    return {name: AgentSettings(**found) for name, found in fields.items()}


def variable(key: str) -> str:
    """The environment variable of a dotted key."""
    return "SYNAPSE_" + key.upper().replace(".", "__")


def _read_file(path: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    try:
        read = yamlfile.load(path, ConfigError, _check, (__file__, schema.__file__))
    except FileNotFoundError:
        return
    agents = read.pop("agents", None) or {}
    for key, value in read.items():
        found = (
            {f"{key}.{inner}": item for inner, item in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
        for dotted, item in found.items():
            if item is not None:
                values[dotted] = item
                origins[dotted] = path
    _read_agents(agents, path, values, origins)


def _check(data: object, path: str) -> dict[str, Any]:
    return validate(KEYS, data, path, ConfigError)


def _read_agents(read: dict[str, Any], path: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    ports: dict[int, str] = {}
    for name, said in read.items():
        said = {key: value for key, value in (said or {}).items() if value is not None}
        port = said.get("port")
        if port in ports:
            raise ConfigError(f"{path}: agents.{name}.port is {port}, which agents.{ports[port]} has already")
        if port is not None:
            ports[port] = name
        full = {"port": None, "auto_start": False, "profile": name, **said}
        for key in ("port", "auto_start", "profile"):
            values[f"agents.{name}.{key}"] = full[key]
            origins[f"agents.{name}.{key}"] = path if key in said else DEFAULT


def _read_environment(values: dict[str, Any], origins: dict[str, str]) -> None:
    problems: list[str] = []
    for key in DEFAULTS:
        name = variable(key)
        text = os.environ.get(name)
        if text:
            kind = _kind(key)
            values[key] = kind.check(kind.read(text), name, problems)
            origins[key] = name
    if problems:
        raise ConfigError("\n".join(problems))


def _kind(key: str) -> Kind:
    kind: Kind = KEYS
    for part in key.split("."):
        assert isinstance(kind, Section)
        kind = kind.fields[part]
    return kind
