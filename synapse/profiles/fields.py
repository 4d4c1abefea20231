"""What a profile may say, what it says by default, and the plain data it becomes."""

from __future__ import annotations

from synapse.base.record import Record
from synapse.base.schema import (
    Boolean,
    Choice,
    Integer,
    ListOf,
    MappingOf,
    Number,
    Ports,
    Regex,
    Section,
    Text,
    Words,
    is_name,
)
from synapse.profiles.key_fields import Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Words that `synapse WORD` means already.
RESERVED = frozenset(
    (
        "all", "all-here", "attach", "cancel", "completion", "config", "demo", "doctor", "external", "help",
        "input", "interrupt", "keys", "list", "logs", "profiles", "record", "screen", "send", "shell",
        "shell-hook", "start", "status", "stop", "task", "tasks", "why",
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


def _is_variable(text: str) -> bool:
    return bool(text) and "=" not in text and "\0" not in text


class _SubmitSequence(Text):
    __slots__ = ()
    expected = 'the keys that submit, such as "\\r" in double quotes'

    def take(self, value: object) -> str:
        text = super().take(value)
        # Without double quotes YAML reads \r as two characters, and the agent would be typed at for ever.
        if not any(character < " " for character in text):
            raise ValueError
        return text


class _Channel(Text):
    __slots__ = ()
    expected = "the name of a CLI that is built in or installed, or none"

    def take(self, value: object) -> str:
        name = super().take(value).lower()
        if not is_name(name):
            raise ValueError
        return name


_MEANS = ListOf(Choice("ready", "processing", "input_required"))
_SIGNAL = Section({"pattern": Regex(), "means": _MEANS}, required=("pattern", "means"))
_OSC_SIGNAL = Section(
    {"number": Integer(0, 99999), "pattern": Regex(), "means": _MEANS},
    required=("number", "pattern", "means"),
)

_COMPOSER = Section(
    {"first": Regex(), "above": Regex(), "below": Regex(), "placeholder": Boolean()}, required=("first",)
)
_MENU = Section(
    {
        "mark": Text(empty=False),
        "subject": Regex(groups=1),
        "letters": Boolean(),
        "question_first": Boolean(),
        "needs_hints": Boolean(),
    },
    required=("mark",),
)

FIELDS = Section(
    {
        "extends": Text(empty=False),
        "command": Words(),
        "args": ListOf(Text()),
        "env": MappingOf(Text(), _is_variable, "the name of a variable", null=True),
        "title": Text(),
        "description": Text(),
        "install": Text(),
        "ports": Ports(),
        "bare": ListOf(Text(empty=False)),
        "submit_sequence": _SubmitSequence(),
        "submit_delay": Number(0, 30),
        "paste": Choice("auto", "bracketed", "plain"),
        "paste_limit": Integer(100, 100_000_000),
        "expands": ListOf(Text(empty=False)),
        "answers": ListOf(Text(empty=False)),
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
        "composer": ListOf(_COMPOSER),
        "menus": ListOf(_MENU),
        "channel": _Channel(),
        "signals": Section({"title": ListOf(_SIGNAL), "osc": ListOf(_OSC_SIGNAL), "screen": ListOf(_SIGNAL)}),
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
    "paste": "auto",
    "paste_limit": 100_000,
    "expands": [],
    "answers": [],
    "clear_keys": "strong",
    "clear_delay": 0,
    "interrupt_keys": ["C-c"],
    "idle_detection": {"strategy": None, "pattern": None, "pattern_use": "always", "timeout": 2.0},
    "input_detection": {"enabled": True, "additional_patterns": []},
    "instructions": {"method": "off", "argument": None},
    "composer": None,  # as the CLIs that are known draw it
    "menus": None,
    "channel": "none",
    "signals": {"title": [], "osc": [], "screen": []},
    "response_end": None,
    "size": {"cols": 120, "rows": 40},
}


class IdleDetection(Record):
    __slots__ = ("pattern", "pattern_use", "strategy", "timeout")
    strategy: str
    pattern: str | None
    pattern_use: str
    timeout: float


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


class Signal(Record):
    """What a title, an OSC sequence or the screen means when the pattern matches."""

    __slots__ = ("means", "number", "pattern")
    pattern: str
    means: tuple[str, ...]
    number: int


class Signals(Record):
    __slots__ = ("osc", "screen", "title")
    title: tuple[Signal, ...]
    osc: tuple[Signal, ...]
    screen: tuple[Signal, ...]


class Profile(Record):
    __slots__ = (
        "answers", "args", "bare", "channel", "clear_delay", "clear_keys", "command", "composer",
        "description", "env", "expands", "idle_detection", "input_detection", "install", "instructions",
        "interrupt_keys", "menus", "name", "paste", "paste_limit", "path", "ports", "response_end",
        "signals", "size", "source", "submit_delay", "submit_sequence", "title",
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
    paste_limit: int  # bytes of a message; a longer one is given by a file
    expands: tuple[str, ...]  # what the CLI expands in a prompt, such as `@` before a file's name
    answers: tuple[str, ...]  # names of agents that may answer its prompts
    clear_keys: str | tuple[str, ...]
    clear_delay: float
    interrupt_keys: bytes
    idle_detection: IdleDetection
    input_detection: InputDetection
    instructions: Instructions
    composer: list[dict[str, Any]] | None  # as `agents/look.py` has it; None: as the known CLIs draw it
    menus: list[dict[str, Any]] | None
    channel: str  # which folder of synapse/agents reads its hooks and transcripts
    signals: Signals
    response_end: str | None
    size: tuple[int, int]  # columns, rows
