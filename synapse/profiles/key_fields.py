"""The kind of field that holds key names. On the relay's path: key names are imported when one is read."""

from __future__ import annotations

from synapse.base.schema import Kind, nearest, shown


class Keys(Kind):
    """Key names as `synapse keys` takes them, one or a list; or one of `words`, which stays as it is."""

    __slots__ = ("expected", "words")
    expected: str

    def __init__(self, *words: str) -> None:
        self.words = words
        self.expected = (
            "".join(f"`{word}`, or " for word in words) + "a list of key names such as [Escape, C-u]"
        )

    def take(self, value: object) -> list[str] | str:
        from synapse.keys import names

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
