"""AgentTerminal: one agent's terminal in the host: its screen, its status, and keys typed into it."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from synapse.agents.base import Channel
from synapse.agents.senders import SenderNotes
from synapse.keys.typed import CLEARED, MOVED, SUBMITTED, TYPED, what_was_typed
from synapse.profiles.loader import Profile, interrupt_steps
from synapse.relay import wire
from synapse.terminal.screen import Screen, make_screen
from synapse.watch.observer import Observer
from synapse.watch.own_message import OwnMessage
from synapse.watch.screen.composer import ABSENT, DIALOG, DRAFT, EMPTY, UNKNOWN, Seen
from synapse.watch.status import Verdict

CONTEXT_LENGTH = 2000
TERMINAL = "terminal"  # who types: the human at the agent's own terminal
AFTER_ESCAPE = Seen(UNKNOWN, why="Escape was pressed: a shell may take the next keys as commands")

TakeCommand = Callable[[Mapping[str, Any], Callable[[str | None], None]], None]


class AgentTerminal:
    """`send` takes a frame for the relay. `clock` gives the time, so that tests can set it.

    `foreground` tells whether the program itself has the terminal; None if that is unknown. `edits_lines`
    tells whether the kernel edits what is typed there."""

    def __init__(
        self,
        profile: Profile,
        channel: Channel,
        send: Callable[[bytes], None],
        cols: int,
        rows: int,
        clock: Callable[[], float] = time.monotonic,
        foreground: Callable[[], bool | None] = lambda: None,
        edits_lines: Callable[[], bool] = lambda: False,
    ) -> None:
        self.profile = profile
        self.screen: Screen = make_screen(cols, rows)
        self.exit_status: int | None = None
        self._send = send
        self._clock = clock
        self._edits_lines = edits_lines
        self.senders = SenderNotes(clock)  # of events
        self.keys = 0  # how often a human has typed, as far as the host knows
        self.limited_until: float | None = None  # the end of the CLI's usage limit, as wall clock
        self.written = 0  # bytes that the agent has written, as far as the host knows
        self.draft = False  # a human has typed text and not submitted it, as far as the keys tell
        self.draft_text: str | None = ""  # the text, if the keys tell it
        self.last_key = -1e9
        self.typings = 0  # how often a human or a request has typed
        self.decisions = 0  # of these, how often not only arrow keys, which answer no question
        self.typing: dict[str, Any] | None = None  # who has typed last, and when (Unix time, whole seconds)
        self.status_since = time.time()
        # Of the composer: what, the mode of vim keys, after which typing and key.
        self._told: tuple[Seen, str, int, int] | None = None
        self._change_callbacks: list[Callable[[], None]] = []
        self._on_command: TakeCommand | None = None
        # Called with a line for another agent that is stored: the relay removes it from the composer.
        self.on_line_taken: Callable[[str], None] = lambda _: None
        self._on_refusal: Callable[[Mapping[str, Any]], None] = lambda _: None
        self.own_message = OwnMessage()
        self._injections: dict[str, Callable[[str], None]] = {}
        self._output_callbacks: list[Callable[[bytes], None]] = []
        self._status_callbacks: list[Callable[[str], None]] = []
        self.observer = Observer(profile, self.screen, channel, self._on_status, foreground=foreground)

    @property
    def running(self) -> bool:
        return self.exit_status is None

    @property
    def status(self) -> str:
        return self.observer.verdict.status

    @property
    def takes_pastes(self) -> bool:
        return self.profile.paste != "plain" and self.screen.mode(2004)

    def feed(self, data: bytes) -> None:
        self.written += len(data)
        self.screen.feed(data)
        for callback in self._output_callbacks:
            callback(data)
        self.observer.output(self._clock())

    def resized(self, cols: int, rows: int) -> None:
        self.screen.resize(cols, rows)
        for callback in self._change_callbacks:
            callback()

    def console_changed(self, present: bool) -> None:
        """A human's terminal answers terminal queries itself; without one, the emulator does."""
        self.screen.on_reply(None if present else self._type)

    def human_typed(
        self, what: int, count: int, empty: bool, text: str | None, line: str | None = None
    ) -> None:
        """`text` is what is in the composer then, `line` what was submitted; each is None if unknown."""
        is_human = count != self.keys  # else these are keys that came over HTTP
        self.keys = count
        self._typed(what, empty, text, line, by=TERMINAL if is_human else "")

    def command(self, command: Mapping[str, Any]) -> None:
        """A human has typed a line for another agent (wire.COMMAND), or an invalid one (wire.REFUSED)."""
        if "reason" in command:
            self._on_refusal(command)
            return
        told = {"id": str(command["id"])}

        def answer(reason: str | None) -> None:
            kept = {} if reason is None else {"kept": reason}
            self._send(wire.pack_json(wire.COMMAND_TAKEN, told | kept))
            if reason is None:
                self.on_line_taken(str(command["line"]))

        refused = ""
        seen, line = self.composer, str(command.get("line", ""))
        if why := seen.why if seen.state in (DIALOG, ABSENT) else self.observer.is_elsewhere(line):
            refused = f"it was not typed into the agent's composer: {why}"
        elif self._on_command is None:
            refused = "lines for other agents are not accepted yet"
        else:
            self._on_command(command, answer)
        if refused:
            self._send(wire.pack_json(wire.COMMAND_TAKEN, told | {"refused": refused}))

    def set_draft(self, empty: bool, text: str | None) -> None:
        """The human's draft in the composer; `text` is None if it is not known."""
        self.draft, self.draft_text = not empty, text
        if self.draft:
            self.last_key = self._clock()  # Synapse types nothing for a while

    def _typed(self, what: int, empty: bool, text: str | None, line: str | None = None, by: str = "") -> None:
        self.last_key = self._clock()
        if by:
            self.typing = {"by": by, "at": int(time.time())}
        self.typings += 1
        self.decisions += what != MOVED
        self.set_draft(empty, text)
        self.observer.key(what == SUBMITTED, self.last_key, line, text=bool(text))
        for callback in self._change_callbacks:
            callback()

    def injected(self, name: str, outcome: str) -> None:
        if callback := self._injections.pop(name, None):
            callback(outcome)

    def exited(self, status: int) -> None:
        self.exit_status = status
        self.observer.exited(status, self._clock())

    def event(self, event: Mapping[str, Any]) -> None:
        self.observer.event(event, self._clock())

    def check_status(self) -> float | None:
        """Check screen, transcript and clock. Returns the seconds until the next check, if one is due."""
        now = self._clock()
        wait = self.observer.check(now)
        self._tell_composer()
        return wait

    @property
    def composer(self) -> Seen:
        """What the screen shows in the composer. Where it shows none, an open question has the keys."""
        seen, prompt = self.observer.composer, self.observer.prompt
        if prompt is not None and seen.state in (ABSENT, UNKNOWN):
            return Seen(DIALOG, why=prompt.prompt_text[:80])
        typed = self.draft_text
        if seen.state not in (EMPTY, DRAFT) or typed is None or self.observer.sees_composer:
            return seen
        if not self._edits_lines():
            is_after_escape = self.draft and not typed and self.observer.is_prompt_line
            return AFTER_ESCAPE if seen.state == EMPTY and is_after_escape else seen
        # The kernel erases wide and wrapped text only in part, and leaves the echo of keys such as Ctrl-Z.
        if not typed:
            return Seen(EMPTY, why="the kernel edits the line, and the keys have left nothing in it")
        return Seen(DRAFT, typed, "the kernel edits the line, and these keys were typed")

    def _tell_composer(self) -> None:
        """Tell the relay what is in the composer, if that is new or includes a new key."""
        seen = self.own_message.human_line(self.composer)
        typings, key = (-1, -1) if self._told is None else self._told[2:]
        if self.observer.is_composer_current:
            typings, key = self.typings, self.keys
        mode = self.observer.composer.vim_mode
        if (told := (seen, mode, typings, key)) != self._told:
            self._told = told
            text = seen.text if seen.text is None or len(seen.text) <= wire.DRAFT_LIMIT else None
            frame = {
                "state": seen.state,
                "text": text,
                "after_key": key,
                "ruled": self.observer.sees_composer,
                "vim": {"mode": mode, "stays": self.profile.vim_mode.stays},
            }
            self._send(wire.pack_json(wire.COMPOSER, frame))
            for callback in self._change_callbacks:
                callback()

    def explain(self) -> dict[str, Any]:
        seen = self.composer
        ruled = self.observer.sees_composer
        composer = {"state": seen.state, "text": seen.text, "why": seen.why, "ruled": ruled}
        notes = self.senders.sentences()
        more = {"composer": composer, "limited_until": self.limited_until, "notes": notes}
        return self.observer.explain(self._clock()) | more

    def write(self, data: str, submit_seq: str | None = None) -> None:
        self.type_keys(data.encode() + (submit_seq or "").encode())

    def type_keys(self, data: bytes, by: str = "a command") -> None:
        """Type keys that come over HTTP, not from the human's terminal. `by` tells viewers who types."""
        self._type(data)
        what = what_was_typed(data)
        draft = what in (TYPED, MOVED) or (self.draft and what not in (SUBMITTED, CLEARED))
        self._typed(what, not draft, None if draft else "", by=by)

    def take_commands(
        self,
        names: Iterable[str],
        routing: Mapping[str, Any],
        on_command: TakeCommand,
        on_refusal: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Tell the relay to send lines such as `@codex review this` to the host, for these names.

        `routing` has `enabled`, `pattern` and `passthrough_on_fail` of the settings. `on_command` gets each
        command and a function to call: with None when the command is stored, or with the reason why it cannot
        be sent; the line then stays in the composer. A relay that got no answer sends the same id again."""
        self._on_command, self._on_refusal = on_command, on_refusal
        self._send(wire.pack_json(wire.NAMES, {**routing, "names": list(names)}))

    def inject(
        self,
        name: str,
        steps: list[tuple[float, bytes]],
        done: Callable[[str], None],
        careful: bool = True,
        known_output: bool = True,
        draft: str | None = None,
        clear: str | None = None,
        in_front: bool = False,
    ) -> None:
        """Type the steps between a human's keys, each after its pause. `done` gets the outcome.

        With `careful` the relay refuses it if a human has typed a key that the host does not know yet; with
        `known_output` also if the agent has written something new. `draft` is the human's text that the
        composer holds afterwards, if that changes. `clear` is a text that the relay removes from the composer
        before the steps, with the keys that fit the moment. With `in_front` the relay refuses it while
        another program is in the foreground of the terminal. With nothing to type, only the outcome is
        wanted."""

        def finished(outcome: str) -> None:
            if outcome == wire.DONE and draft is not None:
                self.draft, self.draft_text = bool(draft), draft
            done(outcome)

        self._injections[name] = finished
        if steps or clear is not None:
            self.observer.key(False, self._clock())  # its echo does not count as output of the agent
        request = {
            "id": name,
            "keys": self.keys if careful else None,
            "output": self.written if careful and known_output else None,
            "draft": draft,
            "clear": clear,
            "in_front": in_front,
            "steps": [(delay, data.decode("latin-1")) for delay, data in steps],
        }
        self._send(wire.pack_json(wire.INJECT, request))

    def stop_injection(self, name: str) -> None:
        """Do not type the rest of it. Its outcome is STOPPED, unless all of it is typed by then."""
        self._send(wire.pack_json(wire.INJECT, {"id": name, "stop": True}))

    def interrupt(self) -> None:
        """Press the interrupt keys once."""
        steps = interrupt_steps(self.profile)
        self.inject(f"interrupt/{self._clock()}", steps, lambda outcome: None, careful=False)

    def stop(self) -> None:
        self._send(wire.pack(wire.STOP))

    def get_context(self, length: int = CONTEXT_LENGTH) -> str:
        return self.screen.contents(last_rows=length)[-length:]

    def add_output_callback(self, callback: Callable[[bytes], None]) -> None:
        self._output_callbacks.append(callback)

    def remove_output_callback(self, callback: Callable[[bytes], None]) -> None:
        if callback in self._output_callbacks:
            self._output_callbacks.remove(callback)

    def add_status_callback(self, callback: Callable[[str], None]) -> None:
        self._status_callbacks.append(callback)

    def on_change(self, callback: Callable[[], None]) -> None:
        self._change_callbacks.append(callback)

    def remove_status_callback(self, callback: Callable[[str], None]) -> None:
        if callback in self._status_callbacks:
            self._status_callbacks.remove(callback)

    def _type(self, data: bytes) -> None:
        self._send(wire.pack(wire.TYPE, data))

    def _on_status(self, verdict: Verdict) -> None:
        self.status_since = time.time()
        for callback in self._status_callbacks:
            callback(verdict.status)
