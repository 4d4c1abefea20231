"""Turns key names, as tmux spells them, into the bytes that a terminal sends.

`C-c`, `^c`, `M-x`, `S-Up`, `C-M-Left`, `Enter`, `F5`, `PPage` and so on, without regard to case. As with
`tmux send-keys`, anything else is text. The sequences are xterm's; a key with a modifier that has none there
(`S-Enter`) uses `CSI … u`, which all measured agent CLIs read.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The final byte after CSI, or after SS3 when the application asked for cursor keys (DECCKM).
_CURSOR = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}
_SS3 = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_TILDE = {
    "ic": 2, "insert": 2, "dc": 3, "delete": 3,
    "ppage": 5, "pageup": 5, "pgup": 5, "npage": 6, "pagedown": 6, "pgdn": 6,
    "f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24,
}  # fmt: skip
_PLAIN = {"enter": 13, "tab": 9, "escape": 27, "space": 32, "bspace": 127}
_KEYPAD = {f"kp{character}": character for character in "0123456789+-*/."} | {"kpenter": "\r"}

# Ctrl with these gives what xterm and tmux give; with `@` to `~` it is the low five bits.
_CONTROL = {
    " ": 0, "2": 0, "3": 27, "4": 28, "5": 29, "6": 30, "7": 31, "/": 31, "-": 31, "8": 127, "?": 127,
}  # fmt: skip

_SHIFT, _META, _CTRL = 1, 2, 4
_MODIFIERS = {"s-": _SHIFT, "m-": _META, "c-": _CTRL}

NAMES = (
    "Enter", "Escape", "Tab", "BTab", "Space", "BSpace", "Up", "Down", "Left", "Right", "Home", "End",
    "PPage", "PageUp", "PgUp", "NPage", "PageDown", "PgDn", "IC", "Insert", "DC", "Delete",
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12",
    "KP0", "KP1", "KP2", "KP3", "KP4", "KP5", "KP6", "KP7", "KP8", "KP9",
    "KP+", "KP-", "KP*", "KP/", "KP.", "KPEnter",
)  # fmt: skip


def encode(names: Iterable[str], application_cursor: bool = False) -> bytes:
    """The bytes for each name in turn; anything that is no key name is typed as text."""
    out = bytearray()
    for name in names:
        key = parse_key(name, application_cursor)
        out += name.encode("utf-8", "replace") if key is None else key
    return bytes(out)


def parse_key(name: str, application_cursor: bool = False) -> bytes | None:
    """The bytes of one key, or None if there is no such key. A single character is the key that types it."""
    modifiers = 0
    rest = name
    if len(rest) > 1 and rest[0] == "^":
        modifiers, rest = _CTRL, rest[1:]
    while len(rest) > 2 and (modifier := _MODIFIERS.get(rest[:2].lower())):
        modifiers |= modifier
        rest = rest[2:]
    if len(rest) == 1:
        return _character(rest, modifiers)
    return _named(rest.lower(), modifiers, application_cursor)


def parse_chord(text: str) -> tuple[bytes, bytes] | None:
    """`C-] d` as two keys. The first is held back, so it must not be a key that types a character."""
    keys = [parse_key(name) for name in text.split()]
    if len(keys) != 2 or keys[0] is None or keys[1] is None:
        return None
    if keys[0][0] >= 0x20 and keys[0] != b"\x7f":
        return None
    return keys[0], keys[1]


def _character(character: str, modifiers: int) -> bytes:
    prefix = b"\x1b" if modifiers & _META else b""
    others = modifiers & ~_META
    if others == _SHIFT and character.isalpha():
        return prefix + character.upper().encode("utf-8", "replace")
    if others == _CTRL and character in _CONTROL:
        return prefix + bytes([_CONTROL[character]])
    if others == _CTRL and "@" <= character <= "~":
        return prefix + bytes([ord(character) & 0x1F])
    if others:
        return f"\x1b[{ord(character.lower()[0])};{1 + modifiers}u".encode()
    return prefix + character.encode("utf-8", "replace")


def _named(name: str, modifiers: int, application_cursor: bool) -> bytes | None:
    if name == "btab" or (name == "tab" and modifiers == _SHIFT):
        return b"\x1b[Z" if modifiers in (0, _SHIFT) else f"\x1b[1;{1 + (modifiers | _SHIFT)}Z".encode()
    if name in _PLAIN:
        return _plain(name, _PLAIN[name], modifiers)
    if name in _CURSOR or name in _SS3:
        final = _CURSOR.get(name) or _SS3[name]
        if modifiers:
            return f"\x1b[1;{1 + modifiers}{final}".encode()
        return f"\x1b{'O' if application_cursor or name in _SS3 else '['}{final}".encode()
    if name in _TILDE:
        modified = f";{1 + modifiers}" if modifiers else ""
        return f"\x1b[{_TILDE[name]}{modified}~".encode()
    if name in _KEYPAD:
        return _character(_KEYPAD[name], modifiers)
    return None


def _plain(name: str, code: int, modifiers: int) -> bytes:
    prefix = b"\x1b" if modifiers & _META else b""
    others = modifiers & ~_META
    if not others:
        return prefix + bytes([code])
    if others == _CTRL and name in ("space", "bspace"):
        return prefix + (b"\0" if name == "space" else b"\x08")
    if others == _SHIFT and name in ("space", "bspace"):
        return prefix + bytes([code])
    return f"\x1b[{code};{1 + modifiers}u".encode()
