"""KeyRouter: passes a human's keys on, and holds back the Enter of a line such as `@codex review it`.

A pure state machine; the relay runs every key through it. Ordinary keys are passed on at once and unchanged.
Enter is held back only if the line is known for certain, is in the agent's composer, and names a known agent;
a Command comes out instead. The line is deduced from the keys, starting from what the screen last showed.
"""

from __future__ import annotations

from synapse.keys.commands import PATTERN, Command, CommandParser, Refusal
from synapse.keys.decoder import KEY, MOUSE, OTHER, PASTE, REPORT, SILENT, TEXT, KeyDecoder
from synapse.keys.line_editor import COOKED, NORMAL, LineEditor
from synapse.keys.typed import ARROWS, CLEARED, MOVED, NOTHING, SUBMITTED, TYPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal

    Action = (
        tuple[Literal["pass"], bytes]
        | tuple[Literal["command"], Command]
        | tuple[Literal["refusal"], Refusal]
    )

EMPTY, DRAFT, UNKNOWN = "empty", "draft", "unknown"  # what the screen shows; any other word: no composer

PASS: Literal["pass"] = "pass"
COMMAND: Literal["command"] = "command"
REFUSAL: Literal["refusal"] = "refusal"

# No text to the kernel: end of input, discard, start, reprint, stop, literal, quit; or it is not known.
_KERNEL = (b"", b"\x04", b"\x0f", b"\x11", b"\x12", b"\x13", b"\x16", b"\x1c")
_COMPOSER = (EMPTY, DRAFT, UNKNOWN)


class KeyRouter:
    """`cooked` returns whether the kernel edits the agent's lines: then few keys edit, and a line feed
    submits. Without `cooked`, a line feed submits, and the editing keys are those of a composer. `is_there`
    is asked before a line is routed: whether the agent, and no other program, reads the keys.

    `typed` says what the last keys did: NOTHING, TYPED, SUBMITTED, CLEARED or MOVED; `submitted` is the line
    of the last SUBMITTED, if it is known. `last` is the last command.
    """

    def __init__(
        self,
        names: Iterable[str] | None = None,
        pattern: str = PATTERN,
        cooked: Callable[[], bool] | None = None,
        is_there: Callable[[], bool] = lambda: True,
    ) -> None:
        self.enabled = True
        self.typed = NOTHING
        self.submitted: str | None = None
        self.editor = LineEditor()
        self._composer: LineEditor | None = None  # what it held when a question or a program took the keys
        self.parser = CommandParser(pattern, names)
        self._cooked = cooked
        self._is_there = is_there
        self._decoder = KeyDecoder()
        self._kept = b""  # the start of a sequence that may be an Enter to hold back
        self.last: Command | None = None
        self._set_aside = ""  # how the line that was taken out began, if a paste was part of that
        self._before = ("", 0)  # the line of the last command, and where the cursor was

    def feed(self, data: bytes) -> list[Action]:
        actions: list[Action] = []
        while data:
            done, data = self.step(data)
            for action in done:
                if action[0] == PASS and actions and actions[-1][0] == PASS:
                    actions[-1] = (PASS, actions[-1][1] + action[1])
                else:
                    actions.append(action)
        return actions

    def step(self, data: bytes) -> tuple[list[Action], bytes]:
        """The actions up to the first command, and the keys after it, which are not decoded yet."""
        decoder, editor = self._decoder, self.editor
        if len(data) == 1 and 0x20 <= data[0] < 0x7F and not decoder.pending and not decoder.in_paste:
            editor.insert(chr(data[0]))  # the usual key: one printable character
            self.typed = TYPED
            return [(PASS, data)], b""
        self.typed = NOTHING
        kept, self._kept = self._kept, b""
        for kind, value, start, end in decoder.decode(data):
            if kind == KEY and self._submits(value):
                whole = start >= 0 or len(kept) == -start
                found = self._look(kept + data[:end] if start < 0 else data[start:end]) if whole else None
                if found is not None:
                    before = kept + data[:start] if start >= 0 else b""
                    actions: list[Action] = [(PASS, before)] if before else []
                    actions.append(found)
                    return actions, data[end:]
                self._enter()
                self.typed = SUBMITTED
            else:
                self._apply(kind, value, data[start:end] if start >= 0 else b"")
        if self.typed in (NOTHING, MOVED) and (decoder.pending or decoder.in_paste):
            self.typed = TYPED  # a sequence or a paste is not complete yet
        begun = decoder.pending
        whole = len(begun) <= len(data) or len(begun) == len(kept) + len(data)
        if begun[:2] == b"\x1b[" and whole and self._look(b"") is not None:  # it may be a command's Enter
            self._kept = begun
            data = (kept + data)[: -len(begun)]
            return [(PASS, data)] if data else [], b""
        return [(PASS, kept + data)], b""

    def drop_unfinished(self) -> None:
        """Forget an incomplete sequence: its terminal was replaced by another one."""
        self._decoder = KeyDecoder()
        self._kept = b""

    @property
    def undecided(self) -> bool:
        """Whether a sequence is incomplete. If nothing follows within 50 ms, call `settle`."""
        return bool(self._decoder.pending)

    @property
    def in_escape_sequence(self) -> bool:
        return self._decoder.pending[:1] == b"\x1b"

    def settle(self) -> list[Action]:
        """Nothing followed: an ESC was the Escape key."""
        self.typed = NOTHING
        for kind, value in self._decoder.settle():
            self._apply(kind, value, b"\x1b" if value == "esc" else b"")
        kept, self._kept = self._kept, b""
        return [(PASS, kept)] if kept else []

    def follow(self, data: bytes) -> None:
        """Keys that were typed into the same composer by another source, for example over HTTP."""
        self.typed = NOTHING
        decoder = KeyDecoder()
        keys = [(kind, value, data[start:end]) for kind, value, start, end in decoder.decode(data)]
        keys += [(kind, value, b"\x1b" if value == "esc" else b"") for kind, value in decoder.settle()]
        for kind, value, raw in keys:
            if kind == KEY and self._submits(value):
                self._enter()
                self.typed = SUBMITTED
            else:
                self._apply(kind, value, raw)

    def see(self, state: str, text: str | None, is_latest: bool) -> None:
        """What the screen shows in the composer; `is_latest`: no key has come since.

        While a question or another program has the keys, they change nothing in the composer."""
        composer = self._composer if self._composer is not None else self.editor
        if not is_latest:
            if (state not in _COMPOSER) != (self._composer is not None):
                composer.forget()  # some of the keys went to one, some to the other
        elif state in (EMPTY, DRAFT):
            composer.see("" if state == EMPTY else text)
        if state in _COMPOSER:
            self.editor, self._composer = composer, None
        elif self._composer is None:
            self.editor, self._composer = LineEditor(composer.columns), composer

    def set_mode(self, mode: str, stays: bool) -> None:
        """The mode of vim keys that the screen shows; `stays`: Enter does not leave normal mode."""
        composer = self._composer or self.editor
        composer.mode, composer.stays = mode, stays

    @property
    def in_normal_mode(self) -> bool:
        return (self._composer or self.editor).mode == NORMAL

    @property
    def in_composer(self) -> bool:
        return self._composer is None

    def _enter(self) -> None:
        editor, line = self.editor, self.line
        editor.enter()
        self.submitted = line if self.in_composer and editor.known else None

    def _submits(self, key: str) -> bool:
        return key == "enter" or (key == "ctrl-j" and (self._cooked is None or self._cooked()))

    def _apply(self, kind: str, value: str, raw: bytes) -> None:
        """`raw` is the key as it was typed, if that is known."""
        editor, moves = self.editor, False
        if kind in (REPORT, SILENT) or (kind == MOUSE and value != "click"):
            return
        if kind == TEXT:
            editor.insert(value)
        elif kind == PASTE:
            editor.paste(value)
        elif self._cooked is not None and self._cooked():
            self._apply_cooked(value, raw)
        elif kind == OTHER:
            editor.forget()
        else:
            editor.key(value)
            moves = value in ARROWS and self.typed in (NOTHING, MOVED)
        if moves:
            self.typed = MOVED
        elif self.typed != SUBMITTED:
            self.typed = CLEARED if value in ("ctrl-c", "ctrl-u") and editor.is_empty else TYPED

    def _apply_cooked(self, key: str, raw: bytes) -> None:
        """The kernel knows few keys; one such as an arrow is text to it, and so part of the line."""
        if key in ("ctrl-z", "ctrl-u"):
            self.editor.clear()  # the kernel discards the line
        elif key in COOKED:
            self.editor.key(key)
        elif raw.isascii() and raw[:1] not in _KERNEL:
            self.editor.insert(raw.decode())
        else:
            self.editor.forget()

    def _look(self, enter: bytes) -> Action | None:
        """The command or refusal that Enter would produce now, if any."""
        line = self.line
        if not self.enabled or not line or not self.in_composer:
            return None
        if self.editor.at_mention and len(line[: self.editor.cursor].split()) > 1:
            return None  # a completion menu is open, and Enter accepts its entry
        found = self.parser.parse(line, enter)
        if found is None or (self.editor.text[: self.editor.cursor].endswith("\\")):
            return None
        if not self.editor.is_typed(len(found.name) + 2) or not self._is_there():
            return None
        if isinstance(found, Refusal):
            return (REFUSAL, found)
        if enter:
            self._before = (self.editor.text, self.editor.cursor)
            self.editor.clear()
            self.typed = CLEARED
            self.last = found
        return (COMMAND, found)

    @property
    def line(self) -> str | None:
        """What is in the composer, if that is known."""
        return None if self._decoder.in_paste else (self._composer or self.editor).line

    @property
    def is_empty(self) -> bool:
        return (self._composer or self.editor).is_empty and not self._decoder.in_paste

    @property
    def command_behind(self) -> int:
        """How many characters of the last command's line were behind the cursor."""
        text, cursor = self._before
        return len(text) - cursor

    def restore(self) -> None:
        """The line of the last command is still in the composer."""
        self.editor.text, self.editor.cursor = self._before

    def replace(self, text: str) -> None:
        """Synapse takes the human's line out of the composer (`text` is empty), or puts it back."""
        if not text:
            self._set_aside = (self._composer or self.editor).pasted
        self.reset()
        self.editor.paste(text)
        self.editor.pasted = self._set_aside if text else ""

    def reset(self) -> None:
        self.editor.clear()
        if self._composer is not None:
            self._composer.clear()
        self.last = None
