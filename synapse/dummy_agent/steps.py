"""The steps of an answer, which a front end performs one after the other."""

from typing import NamedTuple


class Text(NamedTuple):
    """Words of the answer, streamed."""

    text: str


class Wait(NamedTuple):
    """A pause. Frozen: without any output. Deaf: ESC and Ctrl-C do nothing."""

    seconds: float
    frozen: bool = False
    deaf: bool = False


class Question(NamedTuple):
    """kind: confirm, choose, ask or password. The value given to `reply` is "1".."n" or the typed text."""

    kind: str
    text: str
    options: tuple[str, ...] = ()

    def reply(self, value: str) -> str:
        if self.kind == "confirm":
            return "Confirmed." if value == "1" else "Declined."
        if self.kind == "choose":
            return f"You chose: {self.options[int(value) - 1]}"
        if self.kind == "password":
            return f"Got a password of {len(value)} characters."
        return f"You answered: {value}"


class Raw(NamedTuple):
    data: bytes


class Title(NamedTuple):
    text: str


class Flood(NamedTuple):
    """This many numbered lines of 64 bytes, as fast as possible."""

    lines: int


class Fact(NamedTuple):
    """Something that only the running process knows: env, size, pid, cwd, args."""

    name: str
    argument: str = ""


class Edit(NamedTuple):
    path: str


class Tokens(NamedTuple):
    read: int
    written: int


class Exit(NamedTuple):
    status: int


class Crash(NamedTuple):
    message: str


class Die(NamedTuple):
    signal: int


Step = Text | Wait | Question | Raw | Title | Flood | Fact | Edit | Tokens | Exit | Crash | Die
