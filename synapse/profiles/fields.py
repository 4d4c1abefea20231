"""The fields of a profile, each declared once, and the records that they become."""

from __future__ import annotations

import os
import sys

from synapse.base import paths
from synapse.base.commands import COMMANDS
from synapse.base.record import Record
from synapse.base.schema import (
    REQUIRED,
    Boolean,
    Choice,
    Integer,
    Kind,
    ListOf,
    MappingOf,
    Number,
    Ports,
    RecordOf,
    Regex,
    Section,
    Text,
    Words,
    field,
    is_name,
    nearest,
    shown,
)
from synapse.keys import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Words that `synapse WORD` and `synapse send WORD` already use.
RESERVED = frozenset((*COMMANDS, "help", "all", "all-here"))

# An idle pattern may be the name of a terminal mode (its DEC private mode number).
MODE_NAMES = {
    "ALTERNATE_SCREEN": 1049, "APPLICATION_CURSOR": 1, "BRACKETED_PASTE_MODE": 2004, "CURSOR_VISIBLE": 25,
    "FOCUS_EVENTS": 1004,
}  # fmt: skip


def _is_variable(text: str) -> bool:
    return bool(text) and "=" not in text and "\0" not in text


def _is_character(text: str) -> bool:
    return len(text) == 1


class Keys(Kind):
    """A key name as `synapse keys` takes it, or a list of them; or one of `words`, which stays as it is."""

    __slots__ = ("expected", "words")
    expected: str

    def __init__(self, *words: str) -> None:
        self.words = words
        self.expected = (
            "".join(f"`{word}`, or " for word in words) + "a list of key names such as [Escape, C-u]"
        )

    def take(self, value: object) -> list[str] | str:
        if isinstance(value, str):
            if value in self.words:
                return value
            value = [value]
        if not isinstance(value, list) or not value:
            raise ValueError
        for name in value:
            if not isinstance(name, str):
                raise ValueError(f"must be {self.expected}, and {shown(name)} is not text: put it in quotes")
            if names.parse_key(name) is None:
                raise ValueError(f"must be {self.expected}; {name!r} is no key{nearest(name, names.NAMES)}")
        return list(value)

    def build(self, value: list[str] | str) -> str | tuple[str, ...] | bytes:
        return value if isinstance(value, str) else tuple(value)


class KeyBytes(Keys):
    """The same, as the bytes that these keys send."""

    __slots__ = ()

    def build(self, value: list[str] | str) -> bytes:
        return names.encode(value)


class _Command(Words):
    __slots__ = ()

    def build(self, value: list[str]) -> tuple[str, ...]:
        pythons = {"{python}": [sys.executable], "{synapse-python}": paths.our_python()}
        program, *rest = [part for word in value for part in pythons.get(word, [word])]
        return os.path.expanduser(program), *rest


class _SubmitSequence(Text):
    __slots__ = ()
    expected = 'the keys that submit, such as "\\r" in double quotes'

    def take(self, value: object) -> str:
        text = super().take(value)
        # Without double quotes YAML reads \r as two characters, and no message would ever be submitted.
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


class _Means(ListOf):
    __slots__ = ()

    def build(self, value: list[str]) -> tuple[str, ...]:
        return tuple(word.upper() for word in value)


class _Size(RecordOf):
    __slots__ = ()

    def build(self, value: dict[str, int], **others: object) -> tuple[int, int]:
        return value["cols"], value["rows"]


_COMPOSER = Section(
    {
        "first": Regex(),
        "above": Regex(),
        "below": Regex(),
        "placeholder": Boolean(),
        "hint": Regex(),
        "margin": Integer(0, 100),
        "least": Integer(0, 100),
        "rows": Integer(0, 500),
        "half": Boolean(),
        "hidden_cursor": Boolean(),
        "repeats": Boolean(),
        "unless": Regex(),
        "bar": Text(empty=False),
        "edge": Text(empty=False),
        "mode": Regex(),
    },
    required=("first",),
)
_MENU = Section(
    {
        "mark": Text(empty=False),
        "subject": Regex(groups=1),
        "letters": Boolean(),
        "question_first": Boolean(),
        "finish": Text(empty=False),
        "needs_hints": Boolean(),
        "coloured": Boolean(),
        "bar": Text(empty=False),
    },
    required=("mark",),
)


class IdleDetection(Record):
    strategy: str = field(
        Choice("pattern", "timeout", "hybrid"),
        help="what decides that the agent is idle; `pattern` if there is one, else `timeout`",
    )
    pattern: str | None = field(Regex(names=MODE_NAMES), help="what the screen shows when it is idle")
    pattern_use: str = field(Choice("always", "startup_only"), "always", "when the pattern counts")
    timeout: float = field(Number(0.1, 600), 2.0, "seconds without output after which it is idle")
    repaints: bool = field(Boolean(), False, "it goes on painting while it is idle: only the pattern tells")


class InputPattern(Record):
    pattern: str = field(Regex(), REQUIRED)
    type: str = field(Choice("confirmation", "selection", "text", "password"), REQUIRED)
    options: tuple[str, ...] = field(ListOf(Text()), [])


class InputDetection(Record):
    enabled: bool = field(Boolean(), True, "whether questions of the CLI are recognised")
    additional_patterns: tuple[InputPattern, ...] = field(
        ListOf(RecordOf(InputPattern)), [], "further questions: `pattern`, `type`, `options`"
    )


class VimMode(Record):
    """How the screen tells the mode of vim keys: in normal mode letters are commands."""

    insert: str | None = field(Regex(), help="what it shows in insert mode")
    normal: str | None = field(Regex(), help="what it shows in normal mode")
    after_insert: bool = field(
        Boolean(), False, "`normal` counts only after `insert` was shown: without vim keys it is shown too"
    )
    stays: bool = field(Boolean(), True, "whether a prompt that is sent from normal mode leaves it on")


class Instructions(Record):
    method: str = field(
        Choice("argument", "config", "variable", "message", "typed", "off"),
        help="how the agent learns about Synapse; `message`, but `off` for a program that runs what it reads",
    )
    argument: str | None = field(Text(empty=False), help="the flag, key or variable for the first three")


_MEANS = _Means(Choice("ready", "processing", "input_required"))


class Signal(Record):
    """The states that a title or the screen means if it matches the pattern."""

    pattern: str = field(Regex(), REQUIRED)
    means: tuple[str, ...] = field(_MEANS, REQUIRED)


class OscSignal(Record):
    number: int = field(Integer(0, 99999), REQUIRED)
    pattern: str = field(Regex(), REQUIRED)
    means: tuple[str, ...] = field(_MEANS, REQUIRED)


class Signals(Record):
    title: tuple[Signal, ...] = field(ListOf(RecordOf(Signal)), [], "what the window title means")
    osc: tuple[OscSignal, ...] = field(ListOf(RecordOf(OscSignal)), [], "what an OSC sequence means")
    screen: tuple[Signal, ...] = field(ListOf(RecordOf(Signal)), [], "what the screen means")


class Size(Record):
    cols: int = field(Integer(20, 1000), 120, "columns of the terminal in the background")
    rows: int = field(Integer(5, 500), 40, "rows of the terminal in the background")


class Profile(Record):
    name: str
    source: str
    path: str
    command: tuple[str, ...] = field(_Command(), help="the command that starts the CLI")
    args: tuple[str, ...] = field(ListOf(Text()), [], "arguments before those of the command line")
    env: dict[str, str | None] = field(
        MappingOf(Text(), _is_variable, "the name of a variable", null=True),
        {},
        "variables to set; null removes one",
    )
    title: str = field(Text(), "", "its name for people and for the agent card")
    description: str = field(Text(), "", "one sentence for people and for the agent card")
    install: str = field(Text(), "", "the command that installs the CLI")
    measured: str = field(Text(), "", "the version of the CLI that the profile was measured with")
    untested: bool = field(
        Boolean(), False, "written from the documentation of the CLI, and never run with it"
    )
    ports: tuple[int, int] | None = field(Ports(), help="a range such as 8100-8109; default: from 8200")
    bare: tuple[str, ...] = field(
        ListOf(Text(empty=False)), [], "words and flags with which the CLI runs without Synapse"
    )
    submit_sequence: str = field(_SubmitSequence(), "\r", "what submits a message")
    submit_delay: float = field(Number(0, 30), 0.3, "seconds between a message and its submit sequence")
    paste: str = field(Choice("auto", "bracketed", "plain"), "auto", "how a message is typed")
    paste_limit: int = field(
        Integer(100, 100_000_000), 100_000, "bytes of a message; a longer one is given as a file"
    )
    expands: tuple[str, ...] = field(
        ListOf(Text(empty=False)), [], "what the CLI expands in a prompt, such as `@` before a file name"
    )
    answers: tuple[str, ...] = field(
        ListOf(Text(empty=False)), [], "names of agents that may answer its questions"
    )
    clear_keys: str | tuple[str, ...] = field(
        Keys("auto", "strong", "thorough"),
        "auto",
        "the keys that empty the input; `strong` and `thorough` only where they were tried",
    )
    clear_delay: float = field(Number(0, 30), 0, "seconds to wait after the clear keys")
    modes: dict[str, bytes] = field(
        MappingOf(KeyBytes(), _is_character, "one character"),
        {},
        "characters that begin a mode of the input which the clear keys do not leave, and the keys that do",
    )
    vim_mode: VimMode = field(RecordOf(VimMode))
    interrupt_keys: bytes = field(KeyBytes(), ["C-c"], "the keys that interrupt a running answer")
    idle_detection: IdleDetection = field(RecordOf(IdleDetection))
    input_detection: InputDetection = field(RecordOf(InputDetection))
    instructions: Instructions = field(RecordOf(Instructions))
    composer: list[dict[str, Any]] | None = field(
        ListOf(_COMPOSER), help="how its composer looks; default: as the known CLIs draw it"
    )
    menus: list[dict[str, Any]] | None = field(
        ListOf(_MENU), help="how its menus look; default: as the known CLIs draw them"
    )
    channel: str = field(
        _Channel(), "none", "the CLI whose hooks and transcripts are read: a folder of synapse/agents"
    )
    embedded: bool = field(
        Boolean(),
        False,
        "run the CLI apart from a server that it shares with others; it may then get more launch flags",
    )
    mcp: bool = field(Boolean(), False, "give the CLI the tools of `synapse mcp`, if it has a flag for that")
    signals: Signals = field(RecordOf(Signals))
    response_end: str | None = field(Text(empty=False), help="a marker that ends an answer on the screen")
    size: tuple[int, int] = field(_Size(Size))


PROFILE = RecordOf(Profile)
DEFAULTS: dict[str, Any] = PROFILE.defaults
FIELDS = Section({"extends": Text(empty=False), **PROFILE.fields})
