"""Fields that hold key names, as `synapse keys` takes them."""

from __future__ import annotations

from synapse.base.schema import Kind, nearest, shown
from synapse.keys import names


class Keys(Kind):
    """One key name or a list of them; or one of `words`, which stays as it is."""

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
