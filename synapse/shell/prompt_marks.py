"""Marks that the shell prints at its prompt: counted, and removed from what is shown. Pure."""

import secrets


class PromptMarks:
    """What is before `prompt` is output of commands; after `hide`, nothing is shown until the next prompt.

    Both are random for each session, so that no output contains them by chance.
    """

    def __init__(self) -> None:
        nonce = secrets.token_hex(8)
        self.prompt = f"\x1b]7711;{nonce}p\a"
        self.hide = f"\x1b]7711;{nonce}h\a"
        self.seen = 0
        self.hidden = False
        self._both = (self.prompt.encode(), self.hide.encode())
        self._kept = b""  # possibly the beginning of a mark

    def feed(self, data: bytes) -> bytes:
        data = self._kept + data
        self._kept = b""
        shown = bytearray()
        while data:
            at, mark = min(
                ((data.find(m) % (len(data) + 1), m) for m in self._both), key=lambda found: found[0]
            )
            if at == len(data):  # neither is in it
                at -= self._beginning(data)
                self._kept, mark = data[at:], b""
            if not self.hidden:
                shown += data[:at]
            if not mark:
                break
            self.hidden = mark == self._both[1]
            self.seen += not self.hidden
            data = data[at + len(mark) :]
        return bytes(shown)

    def rest(self) -> bytes:
        kept, self._kept = self._kept, b""
        return b"" if self.hidden else kept

    def _beginning(self, data: bytes) -> int:
        longest = min(len(data), len(self._both[0]) - 1)
        return next((n for n in range(longest, 0, -1) if any(m.startswith(data[-n:]) for m in self._both)), 0)
