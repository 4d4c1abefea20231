"""InputRouter: a human's keys in, the same keys out, but for the Enter of a line such as `@codex review it`.

A pure state machine, inside the relay. Ordinary keys are passed on at once and as they are. Only where the
line is known for certain and names an agent that is known is its Enter held back, and a Command comes out.
"""

from __future__ import annotations

import re

from synapse.keys.commands import PATTERN, Command, CommandParser, Refusal
from synapse.keys.decoder import KEY, MOUSE, OTHER, PASTE, REPORT, SILENT, TEXT, KeyDecoder
from synapse.keys.line_editor import COOKED, LineEditor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    Action = (
        tuple[Literal["pass"], bytes]
        | tuple[Literal["command"], Command]
        | tuple[Literal["refusal"], Refusal]
    )

A2A_PATTERN = re.compile(PATTERN, re.DOTALL)
PASS: Literal["pass"] = "pass"
COMMAND: Literal["command"] = "command"
REFUSAL: Literal["refusal"] = "refusal"
NOTHING, TYPED, SUBMITTED, CLEARED = -1, 0, 1, 2


class InputRouter:
    """`cooked` tells whether the kernel edits the agent's lines: then there are few keys, and a line feed
    submits. Where nobody can tell, a line feed submits, and the keys are those of a composer.

    `typed` says what the last keys amounted to: NOTHING, TYPED, SUBMITTED or CLEARED.
    """

    def __init__(
        self,
        registry: Any = None,
        a2a_client: Any = None,
        names: Iterable[str] | None = None,
        pattern: str = PATTERN,
        cooked: Callable[[], bool] | None = None,
    ) -> None:
        self.registry = registry
        self.a2a_client = a2a_client
        self.enabled = True
        self.typed = NOTHING
        self.editor = LineEditor()
        self.parser = CommandParser(pattern, names)
        self._cooked = cooked
        self._decoder = KeyDecoder()
        self._kept = b""  # the beginning of what may be an Enter that has to be held back
        self._last: Command | None = None
        self._before = ("", 0)  # the line of the last command, and where the cursor was
        self.is_external_agent = False
        self.last_response: str | None = None

    # --- bytes --------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Action]:
        """What becomes of these keys, in order."""
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
        """The same up to the first command, and the rest of the keys, not yet looked at."""
        decoder, editor = self._decoder, self.editor
        if len(data) == 1 and 0x20 <= data[0] < 0x7F and not decoder.pending and not decoder.in_paste:
            editor.insert(chr(data[0]))  # as nearly all keys are
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
                editor.enter()
                self.typed = SUBMITTED
            else:
                self._apply(kind, value)
        if self.typed == NOTHING and (decoder.pending or decoder.in_paste):
            self.typed = TYPED  # something has begun
        begun = decoder.pending
        if begun[:2] == b"\x1b[" and self._may_hold(kept, data):
            self._kept = begun
            data = (kept + data)[: -len(begun)]
            return [(PASS, data)] if data else [], b""
        return [(PASS, kept + data)], b""

    def drop_unfinished(self) -> None:
        """The terminal is another one."""
        self._decoder = KeyDecoder()
        self._kept = b""

    @property
    def undecided(self) -> bool:
        """Something has begun: if nothing follows in a moment, call `settle`."""
        return bool(self._decoder.pending)

    def settle(self) -> list[Action]:
        self.typed = NOTHING
        for kind, value in self._decoder.settle():
            self._apply(kind, value)
        kept, self._kept = self._kept, b""
        return [(PASS, kept)] if kept else []

    def follow(self, data: bytes) -> None:
        """What somebody else has typed into the same composer."""
        decoder = KeyDecoder()
        keys = [(kind, value) for kind, value, _, _ in decoder.decode(data)]
        for kind, value in keys + decoder.settle():
            if kind == KEY and self._submits(value):
                self.editor.enter()
            else:
                self._apply(kind, value)

    def _submits(self, key: str) -> bool:
        return key == "enter" or (key == "ctrl-j" and (self._cooked is None or self._cooked()))

    def _apply(self, kind: str, value: str) -> None:
        editor = self.editor
        if kind in (REPORT, SILENT) or (kind == MOUSE and value != "click"):
            return
        if kind == TEXT:
            editor.insert(value)
        elif kind == PASTE:
            editor.paste(value)
        elif kind == OTHER or (self._cooked is not None and value not in COOKED and self._cooked()):
            editor.forget()
        else:
            editor.key(value)
        if self.typed != SUBMITTED:
            self.typed = CLEARED if value in ("ctrl-c", "ctrl-u") and editor.is_empty else TYPED

    def _may_hold(self, kept: bytes, data: bytes) -> bool:
        """Whether what has begun here, or was kept, could be the Enter of a command."""
        begun = len(self._decoder.pending)
        here = begun <= len(data) or begun == len(kept) + len(data)
        return here and self._look(b"") is not None

    def _look(self, enter: bytes) -> Action | None:
        """What Enter would send elsewhere now."""
        line = self.line
        if not self.enabled or not line:
            return None
        if self.editor.at_mention and len(line[: self.editor.cursor].split()) > 1:
            return None  # a completion is open, and Enter takes it
        found = self._parser().parse(line, enter)
        if found is None or (self.editor.text[: self.editor.cursor].endswith("\\")):
            return None
        if isinstance(found, Refusal):
            return (REFUSAL, found)
        if enter:
            self._before = (self.editor.text, self.editor.cursor)
            self.editor.clear()
            self.typed = CLEARED
            self._last = found
        return (COMMAND, found)

    def _parser(self) -> CommandParser:
        if self.registry is not None:
            self.parser.set_names(_names(self.registry))
        return self.parser

    # --- the line -----------------------------------------------------------------------------------------

    @property
    def line(self) -> str | None:
        """What the human has typed so far; None when that cannot be known."""
        return None if self._decoder.in_paste else self.editor.line

    @property
    def cursor(self) -> int:
        return self.editor.cursor

    @property
    def is_empty(self) -> bool:
        """Nothing of the human's is in the composer."""
        return self.editor.is_empty and not self._decoder.in_paste

    def restore(self) -> None:
        """The line of the last command is still in the composer."""
        self.editor.text, self.editor.cursor = self._before

    def set_names(self, names: Iterable[str] | None) -> None:
        """Who can be written to."""
        self.parser.set_names(names)

    def set_pattern(self, pattern: str) -> None:
        self.parser.set_pattern(pattern)

    # --- the specification's names --------------------------------------------------------------------------

    @property
    def line_buffer(self) -> str:
        return self.line or ""

    @property
    def in_escape_sequence(self) -> bool:
        return self._decoder.pending[:1] == b"\x1b"

    @property
    def pending_agent(self) -> str | None:
        return self._last.name if self._last is not None else None

    def process_char(self, char: str) -> tuple[str, bool]:
        """What goes to the agent's terminal, and whether a line is to be sent to another agent instead."""
        actions = self.feed(char.encode("utf-8", "surrogatepass"))
        passed = b"".join(action[1] for action in actions if action[0] == PASS)
        return passed.decode("utf-8", "surrogatepass"), any(action[0] == COMMAND for action in actions)

    def is_escape_sequence(self, data: str) -> bool:
        return data.startswith("\x1b")

    def process_input(self, data: str) -> list[tuple[str, bool]]:
        return [self.process_char(char) for char in data]

    def is_a2a_command(self, line: str) -> bool:
        return isinstance(self._parser().parse(line), Command)

    def parse_a2a_command(self, line: str) -> tuple[str, str] | tuple[None, None]:
        """The agent as it was typed, and the message."""
        found = self._parser().parse(line)
        split = self.parser.split(line)
        return (split[0], found.message) if isinstance(found, Command) and split else (None, None)

    def get_a2a_command(self) -> tuple[str, str] | tuple[None, None]:
        """The last one."""
        return (self._last.name, self._last.message) if self._last is not None else (None, None)

    def send_to_agent(self, name: str, message: str, want_response: bool = True) -> bool:
        """By the client that was given; whether it was sent. For the relay, the host does this."""
        from synapse.errors import SynapseError, WaitTimeout

        self.last_response = None
        try:
            return self._send(name, message, want_response)
        except WaitTimeout as error:
            return hasattr(error, "task")  # it is being worked on; there is no response yet
        except SynapseError:
            return False

    def _send(self, name: str, message: str, want_response: bool) -> bool:
        entries = list(self.registry.list_agents().values()) if self.registry is not None else []
        wanted = name.casefold()
        keys = ("name", "agent_type")  # a name is meant before a type
        found = (e for key in keys for e in entries if str(e.get(key, "")).casefold() == wanted)
        agent = next(found, None)
        self.is_external_agent = agent is None
        if self.a2a_client is None:
            return False
        if agent is None:
            return self._send_to_external_agent(name, message, want_response)
        task = self.a2a_client.send_to_local(agent["endpoint"], message, 1, want_response)
        return self._take_response(task, want_response)

    def _send_to_external_agent(self, agent: str, message: str, want_response: bool) -> bool:
        return self._take_response(self.a2a_client.send_message(agent, message, want_response), want_response)

    def _take_response(self, task: Any, want_response: bool) -> bool:
        self.last_response = None
        if task is not None and want_response:
            self.last_response = self._extract_text_from_artifacts(task.artifacts)
        return task is not None

    def _extract_text_from_artifacts(self, artifacts: Iterable[dict[str, Any]]) -> str:
        """The replies; what was derived from them is theirs over again."""
        texts = (
            str(a.get("data") or "".join(part.get("text", "") for part in a.get("parts", ())))
            for a in artifacts
            if a.get("type") == "text" and not (a.get("metadata") or {}).get("derived")
        )
        return "\n".join(text for text in texts if text)

    def get_feedback_message(self, agent: str, success: bool) -> str:
        if not success:
            return f"[✗ {agent}: not sent]"
        return f"[→ {agent} ({'external' if self.is_external_agent else 'local'})]"

    def reset(self) -> None:
        """The composer is empty."""
        self.editor.clear()
        self._last = None


def _names(registry: Any) -> list[str]:
    entries = registry.list_agents().values()
    return [str(entry[key]) for entry in entries for key in ("agent_type", "name") if entry.get(key)]
