"""Settings: `~/.synapse/config.yaml`, over it `SYNAPSE_*` variables, and where each value comes from.

Each setting is declared once, in the records below. `agents` can be set in the file only.
"""

from __future__ import annotations

import os

from synapse.base import paths, schema, yamlfile
from synapse.base.record import Record
from synapse.base.schema import (
    FALSE_WORDS,
    TRUE_WORDS,
    Boolean,
    Choice,
    Integer,
    Kind,
    ListOf,
    MappingOf,
    Number,
    RecordOf,
    Regex,
    Text,
    Words,
    field,
    is_name,
    validate,
)
from synapse.errors import ConfigError
from synapse.keys import names as keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT = "default"
DEFAULT_PATTERN = r"^@([\w-]+(?:@[\w.-]+)?)\s+(.+)$"  # as in keys/commands.py, which is loaded later


class _Chord(Kind):
    __slots__ = ()
    expected = "two key names such as `C-] d`, the first of which types nothing"

    def take(self, value: object) -> str:
        if not isinstance(value, str) or keys.parse_chord(value) is None:
            raise ValueError
        return value

    def build(self, value: str) -> tuple[bytes, bytes] | None:
        return keys.parse_chord(value)


class _Instructions(Choice):
    """`true` means `auto`, `false` means `off`, and so do their synonyms."""

    def take(self, value: object) -> str:
        word = str(value).strip().lower()
        if word in TRUE_WORDS | FALSE_WORDS:
            return "auto" if word in TRUE_WORDS else "off"
        return super().take(value)


class InputRouting(Record):
    enabled: bool = field(
        Boolean(), True, "send a line `@agent …` typed in an agent's terminal to that agent"
    )
    pattern: str = field(Regex(groups=2), DEFAULT_PATTERN, "such a line; groups: name and message")
    feedback: str = field(
        Choice("silent", "inline"), "inline", "show the progress of a message, or only `sent` and results"
    )
    passthrough_on_fail: bool = field(Boolean(), True, "give a line for an unknown name to the agent")


class Limits(Record):
    body: int = field(Integer(1024, 1 << 30), 2 * 1024 * 1024, "bytes of one request")
    rate: float = field(Number(0, 1_000_000), 200, "requests a second from one user or address; 0: no limit")
    connections: int = field(Integer(4, 10_000), 256, "connections that are served at the same time")
    queue: int = field(Integer(1, 100_000), 100, "tasks that may wait for the agent")
    message: int = field(Integer(1024, 1 << 30), 1_000_000, "bytes of text in one message")
    history: int = field(Integer(10, 10_000_000), 10_000, "ended tasks that are kept")
    events: int = field(Integer(10, 1_000_000), 10_000, "events that wait for a slow reader of a stream")


class Push(Record):
    allow_private: bool = field(Boolean(), False, "allow push notifications to private networks")


class Notify(Record):
    command: list[str] = field(Words(), [], "run for each event, which it gets as JSON on standard input")
    terminal: bool = field(Boolean(), False, "tell the terminal of the agent (OSC 9 or 777)")
    toast: bool = field(Boolean(), False, "show here what other agents ask")
    events: list[str] = field(
        ListOf(Choice("question", "finished", "failed")),
        ["question", "finished", "failed"],
        "of `command` and `terminal`: the agent asks, has finished a turn, has failed in one",
    )
    finished_after: float = field(Number(0, 604800), 30, "seconds; `finished` only of turns that took longer")


class ConversationBudget(Record):
    turns: int = field(Integer(0, 10**9), 0, "turns of all agents in one conversation; 0: no limit")
    tokens: int = field(Integer(0, 10**12), 0, "tokens, where the CLIs report them; 0: no limit")
    messages: int = field(Integer(0, 10**9), 0, "messages that agents send in one conversation; 0: no limit")


class Routing(Record):
    max_hops: int = field(Integer(0, 1000), 8, "agents that a message may pass through; 0: no limit")
    draft_patience: int = field(
        Integer(0, 86_400),
        20,
        "seconds without a key until a draft is moved aside; 5 at most if all of it is seen; 0: never",
    )
    pair_per_minute: int = field(
        Integer(0, 100_000), 20, "messages a minute from one agent to another; 0: no limit"
    )
    budget: ConversationBudget = field(RecordOf(ConversationBudget))


class MachineSettings(Record):
    ssh: list[str] = field(
        Words(), ["ssh"], "the command for machines, with options of your own: `ssh -F FILE`"
    )
    keep: float = field(Number(1, 604800), 600, "seconds for which an unused connection is kept")


class Mesh(Record):
    allow: list[str] = field(
        Words(),
        ["own"],
        "who may send to agents of this machine: own (machines of the same user), all, or a machine; "
        "`WHO:AGENT` for one agent only",
    )
    keep_tasks: bool = field(
        Boolean(), False, "tasks in the mailbox of an agent that ends wait for its return instead of failing"
    )


class AgentSettings(Record):
    port: int | None = field(Integer(1, 65535), help="the port of this agent")
    auto_start: bool = field(Boolean(), False, "start it when a message is sent to it")
    profile: str = field(Text(empty=False), help="the profile it is started with; default: its name")


_AGENT = RecordOf(AgentSettings)


class Settings(Record):
    """Each setting by its name. `values` has what was written, by dotted key, and `origins` its source."""

    input_routing: InputRouting = field(RecordOf(InputRouting))
    default_response_mode: str = field(
        Choice("display", "return", "broadcast"), "display", "`return`: wait for replies without a flag too"
    )
    response_timeout: float = field(Number(1, 604800), 300, "seconds to wait for a reply")
    shell_prompt: str = field(Text(), "synapse> ", "the prompt of synapse-shell")
    initial_instructions: str = field(
        _Instructions("auto", "typed", "off"),
        "auto",
        "how each agent is told about the others; `typed`: by a message when it starts",
    )
    detach_keys: tuple[bytes, bytes] = field(_Chord(), "C-] d", "two keys that leave an attached agent")
    overlay_keys: tuple[bytes, bytes] = field(_Chord(), "C-] o", "two keys that open and close the replies")
    log_level: str = field(
        Choice("debug", "info", "warning", "error"), "info", "what is written to Synapse's own log"
    )
    allowed_hosts: list[str] = field(Words(), [], "further host names that requests may be addressed to")
    limits: Limits = field(RecordOf(Limits))
    push: Push = field(RecordOf(Push))
    grpc_port: int = field(Integer(0, 65535), 0, "the port for A2A over gRPC; 0: none")
    routing: Routing = field(RecordOf(Routing))
    notify: Notify = field(RecordOf(Notify))
    machines: MachineSettings = field(RecordOf(MachineSettings))
    mesh: Mesh = field(RecordOf(Mesh))
    agents: dict[str, AgentSettings] = field(
        MappingOf(_AGENT, is_name, "a name of letters, digits, _ and -", null=True),
        {},
        "agents of your own: `port`, `auto_start`, `profile`",
    )
    values: dict[str, Any]
    origins: dict[str, str]


SETTINGS = RecordOf(Settings)
FIELDS = {key: item for key, item in SETTINGS.flat().items() if key != "agents"}
DEFAULTS: dict[str, Any] = {key: item.default for key, item in FIELDS.items()}


def load_settings() -> Settings:
    path = paths.config_file()
    values = dict(DEFAULTS)
    origins = dict.fromkeys(DEFAULTS, DEFAULT)
    _read_file(path, values, origins)
    _read_environment(values, origins)
    return unpack_settings(values, origins)


def unpack_settings(values: dict[str, Any], origins: dict[str, str] | None = None) -> Settings:
    """Settings from their `values`, which another process may have loaded."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *sections, last = key.split(".")
        place = nested
        for section in sections:
            place = place.setdefault(section, {})
        place[last] = value
    settings: Settings = SETTINGS.build(nested, values=values, origins=origins or {})
    return settings


def variable(key: str) -> str:
    return "SYNAPSE_" + key.upper().replace(".", "__")


def _read_file(path: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    try:
        read = yamlfile.load(path, ConfigError, _check, (__file__, schema.__file__))
    except FileNotFoundError:
        return
    agents = read.pop("agents", None) or {}
    for key, value in read.items():
        found = {key: value}
        if isinstance(value, dict):
            found = {f"{key}.{inner}": item for inner, item in value.items()}
        for dotted, item in found.items():
            if item is not None:
                values[dotted] = item
                origins[dotted] = path
    _read_agents(agents, path, values, origins)


def _check(data: object, path: str) -> dict[str, Any]:
    return validate(SETTINGS, data, path, ConfigError)


def _read_agents(read: dict[str, Any], path: str, values: dict[str, Any], origins: dict[str, str]) -> None:
    ports: dict[int, str] = {}
    for name, given in read.items():
        given = {key: value for key, value in (given or {}).items() if value is not None}
        port = given.get("port")
        if port in ports:
            raise ConfigError(
                f"{path}: agents.{name}.port is {port}, which agents.{ports[port]} has already: "
                "choose another."
            )
        if port is not None:
            ports[port] = name
        for key, value in {**_AGENT.defaults, "profile": name, **given}.items():
            values[f"agents.{name}.{key}"] = value
            origins[f"agents.{name}.{key}"] = path if key in given else DEFAULT


def _read_environment(values: dict[str, Any], origins: dict[str, str]) -> None:
    problems: list[str] = []
    for key, item in FIELDS.items():
        name = variable(key)
        text = os.environ.get(name)
        if text:
            values[key] = item.kind.check(item.kind.read(text), name, problems)
            origins[key] = name
    if problems:
        raise ConfigError("\n".join(problems))
