"""What a human presses while the overlay has the focus, as names, however the terminal encodes it."""

import re

_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_SEQUENCE = re.compile(
    rb"\x1b\[<(\d+);\d+;\d+([Mm])"  # mouse
    rb"|\x1b\[(\d+)(?::\d*)*(?:;(\d+)(?::(\d+))?)?(?:;[\d:]*)?u"  # kitty
    rb"|\x1b\[27;(\d+);(\d+)~"  # modifyOtherKeys
    rb"|\x1b(?:\[(?:1;(\d+)(?::(\d+))?)?|O)([A-H])"
    rb"|\x1b\[(\d+)(?:;(\d+)(?::(\d+))?)?~"
    rb"|(\x1b\[Z)"
    rb"|(\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b[^\x1b\[O])"  # some other key, or one with Alt
    rb"|([\x00-\x1f\x7f])"
)
_LETTERS = {b"A": "Up", b"B": "Down", b"C": "Right", b"D": "Left", b"F": "End", b"H": "Home"}
_NUMBERS = {
    b"1": "Home",
    b"7": "Home",
    b"4": "End",
    b"8": "End",
    b"5": "PageUp",
    b"6": "PageDown",
    b"3": "Delete",
}
_CODES = {9: "Tab", 13: "Enter", 27: "Escape", 127: "Backspace", 8: "Backspace"}
_CODES |= {
    57352: "Up",
    57353: "Down",
    57354: "PageUp",
    57355: "PageDown",
    57356: "Home",
    57357: "End",
    57414: "Enter",
}


class KeyReader:
    """Bytes in; key names (`Up`, `C-u`), single characters and whole pastes (`paste:…`) out."""

    def __init__(self) -> None:
        self._paste: bytearray | None = None
        self._carry = b""
        self.left: list[int] = []  # of the bytes fed last, how many came after each key

    def feed(self, data: bytes) -> list[str]:
        data, self._carry = self._carry + data, b""
        keys: list[str] = []
        self.left = []
        while data:
            if self._paste is not None:
                data = self._pasted(data, keys)
            elif data.startswith(_PASTE_BEGIN):
                self._paste, data = bytearray(), data[len(_PASTE_BEGIN) :]
            elif match := _SEQUENCE.match(data):
                if name := _name(match):
                    keys.append(name)
                data = data[match.end() :]
            elif data[:1] == b"\x1b":
                keys.append("Escape")
                data = data[1:]
            else:
                data = self._text(data, keys)
            self.left += [len(data)] * (len(keys) - len(self.left))
        return keys

    def _pasted(self, data: bytes, keys: list[str]) -> bytes:
        assert self._paste is not None
        self._paste += data
        end = self._paste.find(_PASTE_END)
        if end < 0:
            return b""
        keys.append("paste:" + self._paste[:end].decode("utf-8", "replace"))
        rest, self._paste = bytes(self._paste[end + len(_PASTE_END) :]), None
        return rest

    def _text(self, data: bytes, keys: list[str]) -> bytes:
        end = next((n for n, byte in enumerate(data) if byte < 0x20 or byte == 0x7F), len(data))
        text, rest = data[:end], data[end:]
        decoded = text.decode("utf-8", "ignore")
        if not rest and (missing := _missing(text)):  # a character cut in two
            self._carry = text[-missing:]
        keys += decoded
        left = len(data)
        for char in decoded:
            left -= len(char.encode())
            self.left.append(left)
        return rest


def _missing(text: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    for back in range(1, min(len(text), 3) + 1):
        byte = text[-back]
        if byte >= 0xC0:
            return back if back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4) else 0
        if byte < 0x80:
            return 0
    return 0


def _name(match: re.Match[bytes]) -> str:
    button, press, code, mods, event, other_mods, other, _mods, l_event, letter, number, _, n_event = (
        match.groups()[:13]
    )
    back_tab, unknown, control = match.groups()[13:]
    if button:
        return {b"64": "WheelUp", b"65": "WheelDown"}.get(button, "") if press == b"M" else ""
    if b"3" in (event, l_event, n_event):
        return ""  # a release
    if code or other:
        return _coded(int(code or other), int(mods or other_mods or 1) - 1 & ~0xC0)
    if letter:
        return _LETTERS.get(letter, "")
    if number:
        return _NUMBERS.get(number, "")
    if back_tab:
        return "S-Tab"
    if unknown:
        return ""
    byte = control[0]
    if byte == 10:
        return "Enter"
    return _CODES.get(byte) or (f"C-{chr(byte | 0x60)}" if byte else "")


def _coded(code: int, bits: int) -> str:
    if code == 9 and bits == 1:
        return "S-Tab"
    if code in _CODES:
        return _CODES[code] if not bits & 6 else ""
    if code < 32 or 57344 <= code < 63744 or code > 0x10FFFF:
        return ""
    if bits == 4:
        return f"C-{chr(code)}"
    char = chr(code)
    return char.upper() if bits == 1 else char if not bits else ""
