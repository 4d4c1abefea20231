"""JSON for the start-up path: `json` itself would import `re` and `enum`, 12 ms of every start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

try:
    from _json import encode_basestring as _quoted
    from _json import make_scanner as _make_scanner
except ImportError:  # not CPython
    from json.encoder import py_encode_basestring as _quoted  # type: ignore[no-redef, attr-defined, unused-ignore]
    from json.scanner import py_make_scanner as _make_scanner  # type: ignore[no-redef, attr-defined, unused-ignore]


class _Plain:
    """The attributes that the scanner needs of a decoder."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}

    @staticmethod
    def parse_constant(name: str) -> object:
        raise ValueError(f"{name} is no JSON")


def loads(text: str) -> Any:
    """Raises ValueError if it is not one JSON value."""
    text = text.strip(" \t\r\n")
    scan: Callable[[str, int], tuple[Any, int]] = _make_scanner(_Plain())  # type: ignore[arg-type]
    try:
        value, end = scan(text, 0)
    except (StopIteration, SystemError):  # the latter where `json` has not been imported: CPython 3.11
        raise ValueError("this is not JSON") from None
    if end != len(text):
        raise ValueError("there is more after the JSON")
    return value


def dumps(value: object, indent: str = "") -> str:
    """Of text, numbers, lists and mappings. With `indent`, each entry of the outermost one has a line."""
    if isinstance(value, str):
        return str(_quoted(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float) and value - value == 0:  # neither infinite nor NaN
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(dumps, value))}]"
    if isinstance(value, dict):
        items = [f"{dumps(str(key))}: {dumps(item)}" for key, item in value.items()]
        if indent and items:
            return "{\n" + ",\n".join(indent + item for item in items) + "\n}"
        return f"{{{', '.join(items)}}}"
    raise ValueError(f"{value!r} cannot be written as JSON")
