"""The relay: the agent's terminal, the human's terminal and the host, joined until the agent ends.

This module is imported while the agent starts, and the agent's first output waits for it. So it does not
import `socket`, `signal`, `json` or `re`, which take 25 ms.
"""

from __future__ import annotations

import os
import time

from synapse.base import checkpoints
from synapse.base.processes import shell_status, take_short_turns
from synapse.relay import wire
from synapse.relay.console import Console
from synapse.relay.front import Front
from synapse.relay.injector import Injector
from synapse.relay.keyboard import Keyboard
from synapse.relay.link import LOOK_AFTER, PING_EVERY, SPOOL_LIMIT, HostLink
from synapse.relay.overlay_layer import OverlayLayer, parts, unfinished
from synapse.relay.pty import Pty
from synapse.relay.reactor import READ, WRITE, Reactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal
    from collections.abc import Callable

    from synapse.relay.injector import Steps
else:
    import _signal as signal

HOST_AFTER = 0.01  # seconds in which the agent has the processor to itself
TURNS_AFTER = 0.3  # seconds; the agent and its start come first
STOP_GRACE = 3.0  # seconds between asking the agent to end and killing it
DRAIN_AT_MOST = 1.0
DRAIN_QUIET = 0.05  # seconds without output after the agent's end, if its terminal is still open
READS_AT_ONCE = 16
MODES_AT_ONCE = 512 * 1024  # bytes whose modes are read before keys are handled again
BEGUN_AT_MOST = 0.05  # seconds that the beginning of a sequence waits for the rest
SHORT_READ = 1024  # bytes; a shorter read was most likely all: another would cost a system call per keystroke
_FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_HANDLED = (signal.SIGCHLD, signal.SIGWINCH, signal.SIGTERM, signal.SIGTSTP, *_FORWARDED)


class Relay:
    """`run` returns the exit status to hand on; negative, the signal that killed the agent."""

    def __init__(
        self,
        pty: Pty,
        link: HostLink,
        listener: _socket.socket,
        console: Console | None,
        detach_keys: tuple[bytes, bytes],
        overlay_keys: tuple[bytes, bytes],
        clear: Callable[[str, int, bool], Steps],
        on_ready: Callable[[], None],
        on_heartbeat: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._pty = pty
        self._link = link
        self._on_ready = on_ready
        self._on_heartbeat = on_heartbeat
        self._log = log
        self._reactor = Reactor()
        self.injector = Injector(self._reactor, pty, self._tell_injected)
        self.keyboard = Keyboard(
            reactor=self._reactor,
            pty=pty,
            link=link,
            injector=self.injector,
            clear=clear,
            on_alternate_screen=lambda: self.front.read_modes().alternate_screen,
            log=log,
        )
        self.front = Front(
            reactor=self._reactor,
            pty=pty,
            link=link,
            keyboard=self.keyboard,
            console=console,
            listener=listener,
            detach_keys=detach_keys,
            overlay_layer=OverlayLayer(overlay_keys, link.send),
            on_gone=self._hang_up,
            rebalance=self._balance,
            rewatch=self._rewatch,
        )
        self._exited = False
        self._eof = False
        self._hung_up = False
        self._idle = False
        self._look_due = False
        self._begun = b""  # the beginning of a sequence, whose rest has not come
        self._shown_at = 0.0  # when the host was last sent output
        self.stopping = False
        self._wakeup_read, self._wakeup_write = os.pipe()

    def run(self) -> int:
        self._catch_signals()
        try:
            self.front.open()
            self.keyboard.open()
            self._rewatch()
            self._reactor.watch(self._pty.control, READ, lambda _: self._on_child())
            self._reactor.later(HOST_AFTER, self._start_host)
            self._reactor.later(TURNS_AFTER, take_short_turns)
            self._reactor.later(PING_EVERY, self._heartbeat)
            self._on_child()  # it may have ended before the handlers were set
            while not self._exited:
                self._reactor.turn()
            self._start_host()  # if there is none: it ends the tasks and writes the log of the output
            self._drain()
            self._write_begun()
        finally:
            self.front.release(cut_off=self.stopping)
        self._reactor.watch(self._pty.control, 0, lambda _: None)
        status = self._pty.reap(end=self.stopping)
        self._link.send(wire.pack_json(wire.EXIT, shell_status(status)))
        asked = self.stopping and status in (-signal.SIGHUP, -signal.SIGTERM)
        return -signal.SIGTERM if asked else status  # what the human or another program has asked for

    def _balance(self) -> None:
        """Read only where there is space for what comes; wait for writability only where something waits."""
        link, spool = self._link, self._link.spool
        if not self._look_due and (link.waiting or self.front.unread):
            self._look_due = True
            self._reactor.later(LOOK_AFTER, self._look)
        waits = bool(self._pty.backlog) or self.front.has_backlog() or spool.stuck or self._eof
        waits = waits or self.keyboard.typeahead.waits
        if not waits and self._idle:
            return  # nothing waits and nothing did: a short way out, since every keystroke comes through here
        self._idle = not waits
        read = READ if self.front.has_space() and not self._eof else 0
        self._reactor.watch(self._pty.master, read | (WRITE if self._pty.backlog else 0), self._on_agent)
        self.front.balance()
        if link.socket is not None:
            self._reactor.watch(link.socket.fileno(), READ | (WRITE if spool.stuck else 0), self._on_host)

    def _rewatch(self) -> None:
        self._idle = False
        self._balance()

    def _look(self) -> None:
        """A moment after output: send it to the host and read its modes, except during a burst."""
        self._look_due = False
        self._shown_at = time.monotonic()
        if self._link.look():
            self.front.read_modes(MODES_AT_ONCE)
        self._balance()

    def _on_agent(self, events: int) -> None:
        if events & WRITE:
            self._pty.flush()
        if events & READ:
            self._read_agent()
        self._balance()

    def _read_agent(self) -> None:
        """The human's terminal gets each piece as it comes, so that both ends of the pipe keep moving. The
        host gets them together."""
        pieces = []
        for _ in range(READS_AT_ONCE):
            data = self._read()
            if data is None:
                break
            if not data:
                self._eof = True  # every process has closed the terminal; SIGCHLD reports the exit
                break
            pieces.append(data)
            if not self.front.write(data) or len(data) < SHORT_READ:
                break
        if pieces:
            self._pass_on(b"".join(pieces))

    def _read(self) -> bytes | None:
        data = self._pty.read()
        if data and (self._begun or self.front.overlay_layer.follows):
            return self._read_whole(data)
        return data

    def _read_whole(self, data: bytes) -> bytes | None:
        """While something is drawn, the beginning of a sequence or character waits for the rest of it: inside
        it nothing can be erased or drawn."""
        data = self._begun + data
        end = len(data) - unfinished(data)
        if end < len(data) and not self._begun:
            self._reactor.later(BEGUN_AT_MOST, self._write_begun)
        self._begun = data[end:]
        return data[:end] or None

    def _write_begun(self) -> None:
        data, self._begun = self._begun, b""
        if data:
            self.front.write(data)
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        self.front.follow(data)
        if self.front.overlay_layer.waiting:
            self._show_host(data)
        else:
            self._link.output(data)
        if self._link.spool.size > SPOOL_LIMIT:
            self._replace_host("it fell too far behind the agent's output")

    def _show_host(self, data: bytes) -> None:
        """Output that waits for its drawing. The host gets it at once, but is not woken more often than every
        few milliseconds, nor for a part of a frame."""
        for part in parts(data):
            self._link.output(part)
        now = time.monotonic()
        if now - self._shown_at >= LOOK_AFTER and not self.front.overlay_layer.is_frame_open:
            self._shown_at = now
            self._link.look()

    def _drain(self) -> None:
        """Read what the agent wrote before it ended, which may still be in the kernel. Processes that it left
        running may write for ever, so there is a limit."""
        quiet_since = time.monotonic()
        deadline = quiet_since + DRAIN_AT_MOST
        while not self._eof and time.monotonic() < min(quiet_since + DRAIN_QUIET, deadline):
            data = self._read()
            if data:
                self.front.write(data)
                before = time.monotonic()
                if self.front.console is not None:
                    self.front.console.drain()
                deadline += time.monotonic() - before  # a slow terminal is not the agent's fault
                self._pass_on(data)
                quiet_since = time.monotonic()
            elif data == b"":
                self._eof = True
            else:
                time.sleep(0.002)

    def _on_child(self) -> None:
        if self._pty.stopped():
            self._read_agent()  # what it wrote last belongs above the shell's lines
            self.front.suspend()
        if not self._exited and self._pty.exited():
            self._exited = True
            self._reactor.watch(self._pty.control, 0, lambda _: None)

    def stop(self, why: str) -> None:
        if self.stopping:
            return
        self._log(f"stopping: {why}")
        self.stopping = True
        self._pty.signal_session(signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
        self._reactor.later(STOP_GRACE, lambda: self._pty.signal_session(signal.SIGKILL))

    def _hang_up(self) -> None:
        """The window was closed. An agent that ignores that lives on, as without Synapse."""
        if self._hung_up:
            return
        self._log("the terminal is gone: hanging up")
        self._read_agent()
        self._eof = self._hung_up = True
        self._rewatch()
        self._pty.hang_up()

    def _is_window_closed(self) -> bool:
        console = self.front.console
        return self.front.started_here and (console is None or console.is_gone())

    def _catch_signals(self) -> None:
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        for number in _HANDLED:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGWINCH, self._note_resize)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note_stop)
        self._reactor.watch(self._wakeup_read, READ, self._on_signals)

    def _note_resize(self, *_: object) -> None:
        self.front.resized = self.front.started_here

    def _note_stop(self, *_: object) -> None:
        self.front.stop_wanted = True

    def _on_signals(self, _: int) -> None:
        for number in set(os.read(self._wakeup_read, 512)):
            if number == signal.SIGCHLD:
                self._on_child()
            elif number == signal.SIGWINCH:
                if self.front.started_here:
                    self.front.take_size()
            elif number == signal.SIGTERM:
                self.stop("SIGTERM")
            elif number == signal.SIGHUP and self._is_window_closed():
                self._hang_up()
            elif number == signal.SIGTSTP:
                self._pty.signal_session(signal.SIGSTOP)
            elif number in _FORWARDED:
                self._pty.signal(number)

    def _start_host(self) -> None:
        if self._link.socket is not None:
            return
        try:
            self._link.start()
        except OSError as error:
            self._log(f"cannot start the host: {error}")
            self._reactor.later(5.0, self._start_host)
            return
        self._pty.tell_host(self._link.pid)
        if self._link.generation > 1:
            self._pty.nudge()
        self._rewatch()

    def _on_host(self, events: int) -> None:
        if events & WRITE:
            self._link.flush()
        if events & READ:
            frames = self._link.receive()
            if frames is None:
                self._replace_host("it ended")
                return
            for kind, payload in frames:
                self._on_frame(kind, payload)
        self._balance()

    def _on_frame(self, kind: int, payload: bytes) -> None:
        if kind == wire.TYPE:
            self._pty.write(payload)
            self.keyboard.follow(payload)
        elif kind == wire.SNAPSHOT:
            self.front.show_snapshot(payload)
        elif kind == wire.READY:
            self._link.ready = True
            self.front.overlay_layer.host_came()
            self._on_ready()
            checkpoints.reached("host ready")
        elif kind == wire.INJECT:
            self.injector.inject(
                payload,
                keys=self.keyboard.keys,
                output=self._link.written,
                suspended=self.front.suspended,
                is_in_front=self._pty.is_in_front,
            )
        elif kind == wire.COMPOSER:
            self.keyboard.see(payload)
        elif kind == wire.NAMES:
            self.keyboard.set_routing(payload)
        elif kind == wire.COMMAND_TAKEN:
            self.keyboard.outbox.taken(payload)
        elif kind == wire.OVERLAY:
            self.front.overlay(payload, self._link.written)
        elif kind == wire.WHERE:
            self.front.ask_cursor(self._link.written)
        elif kind == wire.OVERLAY_STATE:
            if rest := self.front.overlay_layer.set_state(payload):
                self.keyboard.take(rest)
        elif kind == wire.STOP:
            self.stop("asked to")

    def _tell_injected(self, name: str, outcome: str) -> None:
        self._link.send(wire.pack_json(wire.INJECTED, {"id": name, "outcome": outcome}))
        self._rewatch()

    def _replace_host(self, why: str) -> None:
        if self._link.socket is not None:
            self._reactor.watch(self._link.socket.fileno(), 0, self._on_host)
        self._link.drop(why)
        self.keyboard.host_went()
        self.front.remove_overlay()
        self.front.overlay_layer.host_gone()
        self._idle = False
        self._reactor.later(self._link.restart_delay(), self._start_host)

    def _heartbeat(self) -> None:
        self._on_heartbeat()
        if not self._link.ping():
            self._replace_host("it does not answer")
        self._balance()
        self._reactor.later(PING_EVERY, self._heartbeat)
