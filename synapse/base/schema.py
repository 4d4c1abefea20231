"""Kinds of fields that a YAML file may have, and the records that declare them.

A record declares each of its fields once, with its kind, its default and one line of help:

    class Limits(Record):
        queue: int = field(Integer(1, 100_000), 100, "tasks that may wait for the agent")

    LIMITS = RecordOf(Limits)

`LIMITS.check` validates what a file says, `LIMITS.defaults` has the defaults, and `LIMITS.build` makes the
record. A kind converts a value twice: `take` checks what YAML gives and returns what JSON can carry (to the
cache and to the host), and `build` turns that into the attribute.

A problem is one sentence that starts with the dotted field. `validate` puts the file in front of each and
raises them together, so that a person can correct a file in one go. The relay starts through this module, so
it imports nothing that the relay does not load anyway.
"""

from __future__ import annotations

from synapse.base.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable
    from typing import Any

    from synapse.errors import SynapseError

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
TRUE_WORDS = frozenset(("true", "on", "yes", "1"))
FALSE_WORDS = frozenset(("false", "off", "no", "0"))
# Where one of these stands in a set, Python warns on stderr, which is the human's terminal.
AMBIGUOUS_IN_A_SET = ("[[", "--", "&&", "~~", "||")


def is_name(text: str) -> bool:
    """Letters, digits, `_` and `-`; the first one is not `-`."""
    return bool(text) and text[0] != "-" and _LETTERS.issuperset(text)


def nearest(word: str, allowed: Iterable[str]) -> str:
    """` (did you mean X?)`, or the empty string."""
    import difflib

    close = difflib.get_close_matches(word, list(allowed), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def shown(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Kind:
    """`expected` completes "X must be …"; `take` returns the checked value or raises ValueError."""

    expected = "a value"

    def take(self, value: object) -> Any:
        raise NotImplementedError

    def check(self, value: object, at: str, problems: list[str]) -> Any:
        try:
            return self.take(value)
        except ValueError as error:
            return self._refuse(value, at, problems, str(error))

    def _refuse(self, value: object, at: str, problems: list[str], why: str = "") -> None:
        problems.append(f"{at} {why}" if why else f"{at} must be {self.expected}, not {shown(value)}")

    def read(self, text: str) -> object:
        """An environment variable's text as YAML would have given it."""
        return text

    def build(self, value: Any) -> Any:
        """The attribute of the record; `value` is what `take` or JSON gave, and not None."""
        return value


class Text(Kind):
    expected = "text"

    def __init__(self, empty: bool = True) -> None:
        self.empty = empty

    def take(self, value: object) -> str:
        if not isinstance(value, str):
            if isinstance(value, (int, float)):
                raise ValueError(f"must be text, not {shown(value)}: put it in quotes")
            raise ValueError
        if not value and not self.empty:
            raise ValueError("must not be empty")
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise ValueError("must not contain NUL or half a surrogate pair")
        return value


class Boolean(Kind):
    expected = "true or false"

    def take(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    def read(self, text: str) -> object:
        word = text.strip().lower()
        return word in TRUE_WORDS if word in TRUE_WORDS | FALSE_WORDS else text


class Number(Kind):
    expected: str
    noun = "a number"
    types: tuple[type, ...] = (int, float)

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.expected = f"{self.noun} from {low} to {high}"

    def take(self, value: object) -> Any:
        # NaN fails the comparison too.
        if isinstance(value, bool) or not isinstance(value, self.types) or not self.low <= value <= self.high:  # type: ignore[operator]
            raise ValueError
        return value

    def read(self, text: str) -> object:
        for convert in (int, float):
            try:
                return convert(text)
            except ValueError:
                pass
        return text


class Integer(Number):
    noun = "a whole number"
    types = (int,)


class Choice(Kind):
    expected: str

    def __init__(self, *words: str) -> None:
        self.words = words
        self.expected = "one of " + ", ".join(words)

    def take(self, value: object) -> str:
        if isinstance(value, bool):  # YAML reads a bare `off` as false
            value = "on" if value else "off"
        word = value.lower() if isinstance(value, str) else ""
        if word not in self.words:
            raise ValueError
        return word


class Regex(Kind):
    """A pattern that compiles, kept as text. `names` are words with a meaning of their own."""

    expected = "a regular expression"

    def __init__(self, names: Iterable[str] = (), groups: int = 0) -> None:
        self.names = frozenset(names)
        self.groups = groups

    def take(self, value: object) -> str:
        pattern = Text(empty=False).take(value)
        if pattern in self.names:
            return pattern
        import re

        if self.names and "_" in pattern and re.fullmatch("[A-Z0-9_]+", pattern):
            raise ValueError(
                f"names a terminal mode that is not known: {pattern}{nearest(pattern, self.names)}"
            )
        try:
            groups = compiled(pattern).groups
        except (re.error, OverflowError, RecursionError, Warning) as error:
            raise ValueError(f"is not a valid regular expression: {error}") from None
        if groups < self.groups:
            raise ValueError(f"must have {self.groups} groups in parentheses, and has {groups}")
        return pattern


def compiled(pattern: str) -> re.Pattern[str]:
    import re

    if not any(pair in pattern for pair in AMBIGUOUS_IN_A_SET):
        return re.compile(pattern)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return re.compile(pattern)


class Ports(Kind):
    """`8100-8109` or `8100`, as (first, last)."""

    expected = "a port or a range of ports such as 8100-8109, from 1 to 65535"

    def take(self, value: object) -> tuple[int, int]:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError
        import re

        match = re.fullmatch(r"\s*([0-9]{1,5})\s*(?:-\s*([0-9]{1,5})\s*)?", str(value))
        if not match:
            raise ValueError
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= 65535:
            raise ValueError
        return first, last

    def build(self, value: Any) -> tuple[int, int]:
        return value[0], value[1]  # JSON made it a list


class Words(Kind):
    """A command: a list of words, or one text that is split as a shell would."""

    expected = "a command: text, or a list of text"

    def take(self, value: object) -> list[str]:
        if isinstance(value, str):
            import shlex

            try:
                value = shlex.split(value)
            except ValueError as error:
                raise ValueError(f"cannot be split into words: {error}") from None
        elif not isinstance(value, list):
            raise ValueError
        words = [Text().take(word) for word in value]
        if not words or not words[0]:
            raise ValueError("must not be empty")
        return words


class ListOf(Kind):
    expected = "a list"

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def check(self, value: object, at: str, problems: list[str]) -> Any:
        if not isinstance(value, list):
            return self._refuse(value, at, problems)
        return [self.kind.check(item, f"{at}[{index}]", problems) for index, item in enumerate(value)]

    def build(self, value: Any) -> tuple[Any, ...]:
        return tuple(map(self.kind.build, value))


class MappingOf(Kind):
    """Any keys that `key` takes, each with a value of `kind`, or none where `null` allows it."""

    expected = "a mapping"

    def __init__(self, kind: Kind, key: Callable[[str], bool], key_rule: str, null: bool = False) -> None:
        self.kind, self.key, self.key_rule, self.null = kind, key, key_rule, null

    def check(self, value: object, at: str, problems: list[str]) -> Any:
        if not isinstance(value, dict):
            return self._refuse(value, at, problems)
        result: dict[str, Any] = {}
        for key, item in value.items():
            if not self.key(key):
                problems.append(f"{at} has the key {key!r}, and a key here must be {self.key_rule}")
            elif item is None and self.null:
                result[key] = None
            else:
                result[key] = self.kind.check(item, f"{at}.{key}", problems)
        return result

    def build(self, value: Any) -> dict[str, Any]:
        return {key: None if item is None else self.kind.build(item) for key, item in value.items()}


class Section(Kind):
    """Named fields. A field that is empty (null) stays None: the reader puts its default there."""

    expected = "a mapping of fields"

    def __init__(self, fields: dict[str, Kind], required: Iterable[str] = ()) -> None:
        self.fields = fields
        self.required = tuple(required)

    def check(self, value: object, at: str, problems: list[str]) -> Any:
        value = {} if value is None else value
        if not isinstance(value, dict):
            return self._refuse(value, at or "the file", problems)
        prefix = f"{at}." if at else ""
        result = {}
        for key, item in value.items():
            kind = self.fields.get(key)
            if kind is None:
                hint = nearest(key, self.fields) or f" (allowed: {', '.join(self.fields)})"
                named = key if key.isprintable() else repr(key)
                problems.append(f"{prefix}{named} is not a known field{hint}")
            else:
                result[key] = None if item is None else kind.check(item, prefix + key, problems)
        for key in self.required:
            if value.get(key) is None:
                problems.append(f"{prefix}{key} is missing: it must be {self.fields[key].expected}")
        return result


REQUIRED = object()  # in place of a default


class Field:
    def __init__(self, kind: Kind, default: Any, help: str) -> None:
        self.kind, self.default, self.help = kind, default, help


def field(kind: Kind, default: object = None, help: str = "") -> Any:
    """Declares a field of a record. The default is a value as YAML has it; a section has those of its fields.

    It is Any for the type checker, which then takes the type from the annotation."""
    return Field(kind, kind.defaults if isinstance(kind, RecordOf) else default, help)


class RecordOf(Section):
    """The fields that a record declares. Attributes without a declaration are given to `build` by name."""

    def __init__(self, record: type[Record]) -> None:
        self.record = record
        found = {name: getattr(record, name, None) for name in record.names}
        self.declared = {name: field for name, field in found.items() if isinstance(field, Field)}
        self.defaults = {name: field.default for name, field in self.declared.items()}
        required = [name for name, default in self.defaults.items() if default is REQUIRED]
        super().__init__({name: field.kind for name, field in self.declared.items()}, required)

    def build(self, value: Any, **others: object) -> Any:
        for name, field in self.declared.items():
            item = field.default if value.get(name) is None else value[name]
            others[name] = None if item is None else field.kind.build(item)
        return self.record(**others)

    def flat(self) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for name, field in self.declared.items():
            if isinstance(field.kind, RecordOf):
                found |= {f"{name}.{inner}": item for inner, item in field.kind.flat().items()}
            else:
                found[name] = field
        return found


def validate(section: Section, data: object, source: str, error: type[SynapseError]) -> dict[str, Any]:
    problems: list[str] = []
    values = section.check(data, "", problems)
    if problems:
        raise error("\n".join(f"{source}: {problem}" for problem in problems))
    assert isinstance(values, dict)
    return values
