"""The keys that the panel uses, by tmux's names."""

from synapse.keys.decoder import KEY, MOUSE, PASTE, TEXT, KeyDecoder

_NAMES = {
    "up": "Up", "down": "Down", "left": "Left", "right": "Right", "home": "Home", "end": "End",
    "page-up": "PageUp", "page-down": "PageDown", "delete": "Delete", "enter": "Enter",
    "shift-enter": "Enter", "ctrl-j": "Enter", "esc": "Escape", "shift-esc": "Escape",
    "tab": "Tab", "shift-tab": "S-Tab", "backspace": "Backspace",
    "wheel-up": "WheelUp", "wheel-down": "WheelDown",
}  # fmt: skip
_WITH_ANY_MODIFIER = {"up", "down", "left", "right", "home", "end", "page-up", "page-down", "delete"}


class KeyReader:
    """Takes bytes; returns key names (`Up`, `C-u`), single characters and whole pastes (`paste:…`)."""

    def __init__(self) -> None:
        self._decoder = KeyDecoder()
        self.left: list[int] = []  # of the bytes fed last, how many came after each key

    def feed(self, data: bytes) -> list[str]:
        keys: list[str] = []
        self.left = []
        for kind, value, start, end in self._decoder.decode(data):
            if kind == TEXT:
                self._add_text(keys, value, len(data) - start, len(data) - end)
            elif name := f"paste:{value}" if kind == PASTE else _name(kind, value):
                keys.append(name)
                self.left.append(len(data) - end)
        if self._decoder.pending == b"\x1b":  # no need to wait: the relay does not cut sequences there
            self._decoder.settle()
            keys.append("Escape")
            self.left.append(0)
        return keys

    def _add_text(self, keys: list[str], text: str, left: int, after: int) -> None:
        plain = left - after == len(text.encode())  # and not one key that kitty encodes
        for char in text:
            left -= len(char.encode())
            keys.append(char)
            self.left.append(left if plain else after)


def _name(kind: str, value: str) -> str:
    if kind not in (KEY, MOUSE):
        return ""
    base = value.rpartition("ctrl-")[2].rpartition("alt-")[2].rpartition("shift-")[2]
    name = _NAMES.get(base if base in _WITH_ANY_MODIFIER else value, "")
    return name or (f"C-{value[5:]}" if len(value) == 6 and value.startswith("ctrl-") else "")
