"""Passes a human's keys to the agent, at once and unchanged, except for lines meant for other agents."""

from __future__ import annotations

import time

from synapse.base import checkpoints, jsontext, processes
from synapse.keys.typed import ESCAPE_TIMEOUT, MOVED, NOTHING, SUBMITTED, TYPED
from synapse.relay import wire
from synapse.relay.outbox import Outbox
from synapse.relay.pty import Pty, split_winsize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from synapse.keys.router import Action, KeyRouter
    from synapse.relay.console import Console
    from synapse.relay.injector import Injector, Steps
    from synapse.relay.link import HostLink
    from synapse.relay.reactor import Reactor

LOAD_AFTER = 0.3  # seconds; importing the router would slow the agent's start
ABSENT = "absent"  # what the host sees: another program has the terminal

PASTE = 1024  # bytes; so many at once were pasted, and not typed ahead
LINE_ENDS = b"\r\n\x04"
TAKEN_CHECK = 0.001  # seconds between two looks at whether the program has taken a line
TAKEN_WITHIN = 0.05  # seconds that the next keys wait for that at the most
TAKEN_BUSY = 0.5  # the same while the program computes or has ended: the relay hears of that a bit later


class TypeAhead:
    """Reads what a human types, one line at a time: what is typed behind the line that ends the agent stays
    in the human's terminal, for the shell that comes back.

    The next keys are read once the program has taken the line and waits for more. It has little time for
    that, since Ctrl-C may be among them. Pastes and escape sequences are read as they come."""

    def __init__(self, reactor: Reactor, pty: Pty) -> None:
        self._reactor = reactor
        self._pty = pty
        self._passed: tuple[float, int, str] | None = None  # a line: when, to which process, how often it ran
        self._late = False  # the line was not taken in time: whatever was typed behind it is read
        self.waits = False  # keys stay unread for now
        self.on_taken: Callable[[], None] = lambda: None

    def read(self, console: Console) -> bytes | None:
        """The keys that may be passed on now; see `Console.read`."""
        unread = console.unread()
        if unread == 1 and self._passed is None and not self._late:
            data = console.read(1)
            if data and data in LINE_ENDS:
                self._note_line()
            return data  # as nearly always: one key
        if self._passed is not None and not self._is_taken():
            self.waits = True
            self._reactor.later(TAKEN_CHECK, self._look)
            return None
        if unread >= PASTE or unread < 1 or self._late:
            self._late = False
            return console.read()
        data = console.read(1)
        if data and data != b"\x1b":
            data += self._rest_of_line(console, data, unread - 1)
            if data[-1] in LINE_ENDS:
                self._note_line()
        elif data and unread > 1:
            data += console.read(unread - 1) or b""
        return data

    def _note_line(self) -> None:
        reader = self._pty.reader()
        self._passed = (time.monotonic(), reader, processes.times_run(reader))

    def _rest_of_line(self, console: Console, data: bytes, unread: int) -> bytes:
        rest = bytearray()
        while len(rest) < unread and data not in LINE_ENDS and (data := console.read(1) or b""):
            rest += data
        return bytes(rest)

    def _is_taken(self) -> bool:
        """Whether the last line was taken, or has had its time: then nothing more waits for it."""
        assert self._passed is not None
        passed_at, reader, ran = self._passed
        now_reads = self._pty.reader()
        has_run = now_reads != reader or processes.times_run(now_reads) != ran
        if not (has_run and processes.awaits_input(now_reads)):
            limit = TAKEN_BUSY if processes.is_busy(now_reads) else TAKEN_WITHIN
            if time.monotonic() - passed_at < limit:
                return False
            self._late = self.waits
        self._passed = None
        return True

    def _look(self) -> None:
        if self._passed is None or self._is_taken():
            self.waits = False
            self.on_taken()
        else:
            self._reactor.later(TAKEN_CHECK, self._look)


class Keyboard:
    """`clear` returns the steps that clear a composer; see `Outbox`. `on_alternate_screen` tells whether the
    agent has switched to it."""

    def __init__(
        self,
        reactor: Reactor,
        pty: Pty,
        link: HostLink,
        injector: Injector,
        clear: Callable[[str, int, bool], Steps],
        on_alternate_screen: Callable[[], bool],
        log: Callable[[str], None],
    ) -> None:
        self._reactor = reactor
        self._pty = pty
        self._link = link
        self._injector = injector
        self.typeahead = TypeAhead(reactor, pty)
        self._clear = clear
        self._on_alternate_screen = on_alternate_screen
        self._log = log
        self.outbox = Outbox(
            reactor=reactor,
            link=link,
            injector=injector,
            clear=self._steps_to_clear,
            submit=self._submit,
            keep=self._keep,
            log=log,
        )
        self._made: KeyRouter | None = None
        self._reads = 0
        self._settling = False
        self._absent = False  # the host sees another program
        self._ruled = False  # the host sees the agent's composer when it is there
        self._first_screen: bool | None = None  # whether the first key came on the alternate screen
        self.keys = 0  # how often a human has typed
        injector.on_draft = lambda text: self._router.replace(text)
        injector.clear = lambda text: self._steps_to_clear(text, self._router.editor.behind)

    def open(self) -> None:
        self._reactor.later(LOAD_AFTER, lambda: self._router)

    @property
    def _router(self) -> KeyRouter:
        """Made for the first key, or earlier. It knows no names until the host sends them."""
        if self._made is None:
            from synapse.keys.router import KeyRouter

            self._made = KeyRouter(names=(), cooked=self._pty.is_cooked, is_there=self._is_agent_there)
        return self._made

    def _is_agent_there(self) -> bool:
        """Whether the agent itself reads the keys, as far as the relay can tell."""
        if self._ruled:
            return True  # the host says when the composer is gone
        return self._pty.is_in_front() and self._first_screen in (self._on_alternate_screen(), None)

    @property
    def draft(self) -> tuple[bool, str | None]:
        """Whether the composer holds nothing typed by the human, and what it holds if that is known."""
        if self._made is None:
            return True, ""
        line = self._made.line
        if line and (len(line) > wire.DRAFT_LIMIT or self._pty.hides_input()):
            line = None
        return self._made.is_empty, line

    def take(self, data: bytes) -> None:
        """Pass keys to the agent at once, or right after a running injection."""
        router = self._router
        while data:
            if self._injector.busy:
                self._injector.hold(data, self.take)
                return
            if len(data) > 1 or data[0] < 0x20:
                router.editor.columns = split_winsize(self._pty.winsize)[0]
            actions, data = router.step(data)
            self._act(actions)
            self._reads += 1
            if router.undecided:
                self._settle_later()

    def follow(self, data: bytes) -> None:
        """Keys that were typed into the same composer by another source, for example over HTTP."""
        router = self._router
        router.follow(data)
        if router.typed != NOTHING:
            what = MOVED if router.typed == MOVED else TYPED
            self._link.key(what, self.keys, *self.draft, None)

    def see(self, payload: bytes) -> None:
        """What the host has seen in the composer."""
        seen = jsontext.loads(payload.decode())
        self._absent, self._ruled = seen["state"] == ABSENT, bool(seen.get("ruled"))
        is_latest = seen["after_key"] == self.keys
        self._router.see(str(seen["state"]), seen.get("text"), is_latest)
        if is_latest and (vim := seen.get("vim")):
            self._router.set_mode(str(vim["mode"]), stays=bool(vim["stays"]))
        checkpoints.reached("composer known", state=seen["state"], text=seen.get("text"), current=is_latest)

    def _steps_to_clear(self, text: str, behind: int) -> Steps:
        """What fits the moment: the kernel knows one key, and takes all others as text."""
        keys = self._pty.line_kill(len(text))
        return self._clear(text, behind, self._router.in_normal_mode) if keys is None else [(0.0, keys)]

    def new_terminal(self) -> None:
        if self._made is not None:
            self._made.drop_unfinished()

    def _act(self, actions: list[Action]) -> None:
        router = self._router
        what = router.typed
        for action in actions:
            if action[0] == "pass":
                self._pty.write(action[1])
            elif self._link.socket is None or self._pty.hides_input():
                self._pty.write(action[1].enter)
                router.editor.clear()
                router.submitted = None
                what = SUBMITTED
            elif action[0] == "refusal":
                refusal = {"name": action[1].name, "reason": action[1].reason, "line": action[1].line}
                self._link.send(wire.pack_json(wire.REFUSED, refusal))
            else:
                self.outbox.send(action[1], router.command_behind)
        self._tell(what)  # before its echo is read: output before Enter would not count as an answer to it

    def _tell(self, what: int) -> None:
        if what != NOTHING:
            if not self.keys:
                self._first_screen = self._on_alternate_screen()
            self.keys += 1
            empty, draft = self.draft
            line = None
            if what == SUBMITTED:
                line = self._submitted()
                what = TYPED if self._absent else what
            self._link.key(what, self.keys, empty, draft, line)

    def _submitted(self) -> str | None:
        line = self._router.submitted
        return None if line is None or len(line) > wire.DRAFT_LIMIT or self._pty.hides_input() else line

    def _submit(self, enter: bytes) -> None:
        self._pty.write(enter)
        self._router.submitted = self._router.last.line if self._router.last is not None else None
        self._tell(SUBMITTED)

    def _keep(self) -> None:
        self._router.restore()
        self._tell(TYPED)

    def _settle_later(self) -> None:
        if not self._settling:
            self._settling = True
            reads = self._reads
            self._reactor.later(ESCAPE_TIMEOUT, lambda: self._settle(reads))

    def _settle(self, reads: int) -> None:
        """Take a pending ESC for the Escape key, unless keys have come since."""
        self._settling = False
        router = self._router
        if not router.undecided:
            return
        if self._injector.busy or reads != self._reads:
            self._settle_later()
        else:
            self._act(router.settle())
            self._link.look()  # no echo need follow that would take it along

    def set_routing(self, payload: bytes) -> None:
        settings = jsontext.loads(payload.decode())
        router = self._router
        router.parser.set_names([str(name) for name in settings["names"]])
        router.enabled = bool(settings.get("enabled", True))
        router.parser.passthrough = bool(settings.get("passthrough_on_fail", True))
        try:
            if settings.get("pattern"):
                self._set_pattern(str(settings["pattern"]))
        except ValueError as error:
            self._log(f"input_routing.pattern: {error}")
        self.outbox.host_came()
        checkpoints.reached("names known", names=settings["names"])

    def _set_pattern(self, pattern: str) -> None:
        from synapse.keys.commands import PATTERN

        if pattern != PATTERN:  # the user's own: a line that it takes too long for is ordinary input
            from synapse.keys.patterns import limit_time

            limit_time(self._log)
        self._router.parser.set_pattern(pattern)

    def host_went(self) -> None:
        if self._made is not None:
            self._made.parser.set_names(())
            self._made.parser.passthrough = True
            self._made.see("unknown", None, is_latest=True)
        self._absent = self._ruled = False
        self.outbox.host_went()
