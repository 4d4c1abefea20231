"""Which terminal modes a program has switched on, read from the bytes it writes.

Enough to undo them when the program dies or is detached, and to set them again. The relay needs this, where
there is no emulator.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Only what changes a mode. The look-ahead rejects colours and cursor movement, most of any output, at once:
# trying the alternatives on each of them took as long as all other work of the relay.
_CHANGES = re.compile(rb"\x1b(?!\[[0-9;]*+[A-Zfm])(?:\[(?:[?>=<][0-9;:]*[hlum]|[0-9;]*r|[0-9]* q|!p)|[=>c])")
_PARTS = re.compile(rb"\x1b(?:\[(?:([?>=<])([0-9;:]*)([hlum])|([0-9;]*)(r)|([0-9]*) (q)|(!p))|([=>c]))")
_SIMPLE_LIMIT = 256
_COMPLETE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[^\[])")
_LONGEST = 64  # bytes of the sequences above

_ON_BY_DEFAULT = frozenset({7, 8, 25})
# What a program may have left on: mouse, focus, paste, synchronised output, colour scheme reports …
OFF_BY_DEFAULT = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 2031, 2048)
BRACKETED_PASTE, ALTERNATE_SCREEN = 2004, 1049
_ALTERNATE = frozenset({47, 1047, 1049})


def undo_all(shell_is_back: bool, is_set: Callable[[int], bool] | None = None) -> bytes:
    """The bytes that reset a terminal which a killed program has left, without knowing what it has set, or
    only those private modes that `is_set`. Bracketed paste and the kitty keyboard stack are the shell's if it
    is back."""
    out = b"" if shell_is_back else b"\x1b[<99u"
    for number in OFF_BY_DEFAULT:
        if (number != BRACKETED_PASTE or not shell_is_back) and (is_set is None or is_set(number)):
            out += b"\x1b[?%dl" % number
    if is_set is None:
        out += b"\x1b[?1047l"  # unlike 1049 it does not move the cursor where it was left already
    elif is_set(ALTERNATE_SCREEN):
        out += b"\x1b[?1049l" + (b"" if shell_is_back else b"\x1b[<99u")
    # Pen, modifyOtherKeys, keypad, wrapping, cursor and its shape; the scroll region, which moves the cursor.
    return out + b"\x1b[m\x1b[>4m\x1b>\x1b[?7h\x1b[?25h\x1b[0 q\x1b7\x1b[r\x1b8"


class ModeTracker:
    def __init__(self) -> None:
        self._carry = b""
        self._simple: dict[bytes, tuple[int, bool | None]] = {}  # what a sequence does to `_private`
        self._forget()

    def _forget(self) -> None:
        self._private: dict[int, bool] = {}
        self._kitty: dict[bool, list[int]] = {False: [], True: []}
        self._other_keys = 0
        self._keypad = False
        self._region = b""
        self._cursor_style = b""
        self.alternate_screen = False

    def feed(self, data: bytes) -> None:
        if self._carry:
            data = self._carry + data
            self._carry = b""
        cut = data.rfind(b"\x1b", -_LONGEST)
        if cut >= 0 and not _COMPLETE.match(data, cut):
            self._carry = data[cut:]
            data = data[:cut]
        for sequence in _CHANGES.findall(data):
            simple = self._simple.get(sequence)  # agents set the same few modes with every frame
            if simple is None:
                self._apply(sequence)
            elif simple[1] is None:
                self._private.pop(simple[0], None)
            else:
                self._private[simple[0]] = simple[1]

    def _apply(self, sequence: bytes) -> None:
        match = _PARTS.fullmatch(sequence)
        assert match is not None
        prefix, params, final, region, is_region, style, is_style, soft_reset, single = match.groups()
        if prefix == b"?" and final in (b"h", b"l"):
            for number in params.replace(b":", b";").split(b";"):
                if number:
                    self._set_private(int(number), final == b"h")
            if params.isdigit() and len(self._simple) < _SIMPLE_LIMIT and int(params) not in _ALTERNATE:
                self._simple[sequence] = (int(params), self._private.get(int(params)))
        elif final == b"u":
            self._set_kitty(prefix, params)
        elif final == b"m" and prefix == b">":
            what, _, value = params.partition(b";")
            if what == b"4":
                self._other_keys = int(value.split(b";")[0] or 0) if value else 0
        elif is_region:
            self._region = region
        elif is_style:
            self._cursor_style = b"" if style in (b"", b"0") else style
        elif single in (b"=", b">"):
            self._keypad = single == b"="
        elif soft_reset or single == b"c":
            self._forget()

    def _set_private(self, number: int, on: bool) -> None:
        if number in _ALTERNATE:
            self.alternate_screen = on
            if not on:
                self._kitty[True].clear()
        if on == (number in _ON_BY_DEFAULT):
            self._private.pop(number, None)
        else:
            self._private[number] = on

    def _set_kitty(self, prefix: bytes, params: bytes) -> None:
        stack = self._kitty[self.alternate_screen]
        numbers = [int(p) for p in params.replace(b":", b";").split(b";") if p]
        if prefix == b">":
            stack.append(numbers[0] if numbers else 0)
            del stack[:-16]
        elif prefix == b"<":
            del stack[-(numbers[0] if numbers and numbers[0] else 1) :]
        elif prefix == b"=":
            flags = numbers[0] if numbers else 0
            how = numbers[1] if len(numbers) > 1 else 1
            now = stack[-1] if stack else 0
            new = flags if how == 1 else now | flags if how == 2 else now & ~flags
            if stack:
                stack[-1] = new
            elif new:
                stack.append(new)

    def is_set(self, number: int) -> bool:
        return self._private.get(number, number in _ON_BY_DEFAULT)

    def undo(self) -> bytes:
        """The bytes that undo every mode; empty when none is set."""
        private, alternate = self._private_modes()
        out = b"\x1b7\x1b[r\x1b8" if self._region else b""  # resetting the region moves the cursor
        out += b"".join(b"\x1b[?%d%c" % (number, b"l" if on else b"h") for number, on in private)
        out += b"\x1b[<%du" % len(self._kitty[True]) if self._kitty[True] else b""
        out += b"".join(b"\x1b[?%dl" % number for number, _ in alternate)
        out += b"\x1b[<%du" % len(self._kitty[False]) if self._kitty[False] else b""
        out += b"\x1b[>4m" if self._other_keys else b""
        out += b"\x1b>" if self._keypad else b""
        return out + (b"\x1b[0 q" if self._cursor_style else b"")

    def redo(self) -> bytes:
        """The bytes that set every mode again, on a terminal that has none of them."""
        private, alternate = self._private_modes()
        out = b"".join(b"\x1b[>%du" % flags for flags in self._kitty[False])
        out += b"".join(b"\x1b[?%dh" % number for number, _ in alternate)
        out += b"".join(b"\x1b[>%du" % flags for flags in self._kitty[True])
        out += b"".join(b"\x1b[?%d%c" % (number, b"h" if on else b"l") for number, on in private)
        out += b"\x1b[>4;%dm" % self._other_keys if self._other_keys else b""
        out += b"\x1b=" if self._keypad else b""
        out += b"\x1b[%b q" % self._cursor_style if self._cursor_style else b""
        return out + (b"\x1b7\x1b[%br\x1b8" % self._region if self._region else b"")

    def _private_modes(self) -> tuple[list[tuple[int, bool]], list[tuple[int, bool]]]:
        """The ordinary private modes that are set, and those of the alternate screen."""
        alternate = [item for item in self._private.items() if item[0] in _ALTERNATE]
        return [item for item in self._private.items() if item not in alternate], alternate
