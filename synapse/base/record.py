"""Immutable records."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Record:
    """Plain data: the annotations of the class are its names. `dataclasses` would cost every start 10 ms."""

    names: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls.names = tuple(cls.__annotations__)

    def __init__(self, **values: object) -> None:
        for name in self.names:
            object.__setattr__(self, name, values[name])

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self.names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.names)})"
