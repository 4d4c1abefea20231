"""The relay's loop: the agent's terminal, the human's terminal and the host, joined."""

import heapq
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable

from synapse.modes import ModeTracker
from synapse.relay import wire
from synapse.relay.attach import Client, peer_is_us
from synapse.relay.chord import Chord
from synapse.relay.console import Console
from synapse.relay.link import PING_EVERY, SPOOL_LIMIT, HostLink
from synapse.relay.pty import Pty, split_winsize

HIGH_WATER = 256 * 1024  # bytes waiting for a slow terminal: stop reading the agent, as a bare one would
STOP_GRACE = 3.0  # seconds between asking the agent to end and killing it
SNAPSHOT_PATIENCE = 1.0
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_FORWARDED = (signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_HANDLED = (
    signal.SIGCHLD,
    signal.SIGWINCH,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGTSTP,
    *_FORWARDED,
)


class Relay:
    """Runs until the agent has ended; `run` returns the exit status to hand on."""

    def __init__(
        self,
        pty: Pty,
        link: HostLink,
        listener: socket.socket,
        console: Console | None,
        detach: tuple[bytes, bytes],
        on_ready: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self.pty = pty
        self.link = link
        self.console = console
        self.foreground = console is not None
        self._listener = listener
        self._detach_keys = detach
        self._on_ready = on_ready
        self._log = log
        self._modes = ModeTracker()
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_count = 0
        self._clients: dict[int, Client] = {}
        self._attached: Client | None = None
        self._chord = Chord(*detach)
        self._held: bytearray | None = None  # output kept back until a new terminal has its snapshot
        self._suspended = False
        self._exited = False
        self.stopping = False
        self._eof = False
        self._wakeup_read, self._wakeup_write = os.pipe()

    # --- the loop -----------------------------------------------------------------------------------------

    def run(self) -> int:
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        for number in _HANDLED:
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self._listener.setblocking(False)
        self._selector.register(self._wakeup_read, _READ, self._on_signals)
        self._selector.register(self._listener, _READ, self._on_connection)
        self._selector.register(self.pty.master, _READ, self._on_agent)
        try:
            if self.console is not None:
                self.console.enter_raw()
                self._selector.register(self.console.in_fd, _READ, self._on_keys)
            self._start_host()
            self._later(PING_EVERY, self._heartbeat)
            self._on_child()  # it may have ended before the handlers were there
            while not self._exited:
                for key, events in self._selector.select(self._next_timeout()):
                    key.data(events)
                self._run_timers()
            self._drain_agent()
        finally:
            self._let_go_of_terminal()
        status = self.pty.reap()
        self.link.send(wire.pack_json(wire.EXIT, status))
        return status

    def _next_timeout(self) -> float | None:
        if not self._timers:
            return None
        return max(self._timers[0][0] - time.monotonic(), 0.0)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (time.monotonic() + seconds, self._timer_count, call))

    def _run_timers(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()

    def _watch(self, fd: int, events: int, call: Callable[[int], None]) -> None:
        """Register, change or drop `fd`, whichever makes it so."""
        known = self._selector.get_map().get(fd)
        if known is None:
            if events:
                self._selector.register(fd, events, call)
        elif not events:
            self._selector.unregister(fd)
        elif known.events != events:
            self._selector.modify(fd, events, call)

    # --- the agent ----------------------------------------------------------------------------------------

    def _on_agent(self, events: int) -> None:
        if events & _WRITE:
            self.pty.flush()
        if events & _READ:
            data = self.pty.read()
            if data == b"":
                self._eof = True  # every holder of the terminal has closed it; the exit is told by SIGCHLD
            elif data:
                self._pass_output(data)
        self._balance()

    def _pass_output(self, data: bytes) -> None:
        """The human first, then the host."""
        if self._held is not None:
            self._held += data
        elif self.console is not None:
            self.console.write(data)
        self._modes.feed(data)
        self.link.output(data)
        if self.link.behind > SPOOL_LIMIT:
            self._replace_host("it fell too far behind the agent's output")

    def _balance(self) -> None:
        """Read only where there is room for what comes; wait for room only where something waits."""
        room = self.console is None or len(self.console.backlog) < HIGH_WATER
        room = room and len(self._held or b"") < HIGH_WATER
        events = (_READ if room and not self._eof else 0) | (_WRITE if self.pty.backlog else 0)
        self._watch(self.pty.master, events, self._on_agent)
        if self.console is not None and not self._suspended:
            takes = len(self.pty.backlog) < HIGH_WATER
            self._watch_console(_READ if takes else 0, _WRITE if self.console.backlog else 0)
        if self.link.socket is not None:
            events = _READ | (_WRITE if self.link.behind else 0)
            self._watch(self.link.socket.fileno(), events, self._on_host)

    def _watch_console(self, read: int, write: int) -> None:
        assert self.console is not None
        if self.console.in_fd == self.console.out_fd:
            self._watch(self.console.in_fd, read | write, self._on_keys)
        else:
            self._watch(self.console.in_fd, read, self._on_keys)
            self._watch(self.console.out_fd, write, self._on_keys)

    def _drain_agent(self) -> None:
        """What the agent wrote before it ended may still be on its way through the kernel."""
        quiet_since = time.monotonic()
        while not self._eof and time.monotonic() - quiet_since < 0.05:
            data = self.pty.read()
            if data:
                self._pass_output(data)
                if self.console is not None:
                    self.console.drain()
                quiet_since = time.monotonic()
            elif data == b"":
                self._eof = True
            else:
                time.sleep(0.002)

    def _on_child(self) -> None:
        if self.pty.stopped():
            self._on_agent_stopped()
        if self.pty.exited():
            self._exited = True

    def _on_agent_stopped(self) -> None:
        """The agent has stopped itself: give the terminal back, stop too, and go on together."""
        if self.console is None:
            self.pty.signal_session(signal.SIGCONT)
            return
        self._quieten_terminal()
        self._suspended = True
        self._watch_console(0, 0)
        if self._attached is not None:
            self._attached.tell("stopped")
            return
        os.kill(os.getpid(), signal.SIGSTOP)
        while not self.console.in_foreground():
            os.kill(os.getpid(), signal.SIGSTOP)  # continued in the background: a bare agent would stop too
        self._on_continued()

    def _on_continued(self) -> None:
        if self.console is None or not self._suspended:
            return
        self._suspended = False
        self.console.enter_raw()
        self.console.write(self._modes.redo())
        self._take_size()
        self.pty.signal_session(signal.SIGCONT)
        self.pty.nudge()
        self._balance()

    def stop(self) -> None:
        """Ask the agent to end, and see to it that it does."""
        if self.stopping:
            return
        self.stopping = True
        self.pty.signal_session(signal.SIGHUP, signal.SIGTERM, signal.SIGCONT)
        self._later(STOP_GRACE, lambda: self.pty.signal_session(signal.SIGKILL))

    # --- signals ------------------------------------------------------------------------------------------

    def _on_signals(self, _: int) -> None:
        try:
            numbers = os.read(self._wakeup_read, 512)
        except BlockingIOError:
            return
        for number in set(numbers):
            if number == signal.SIGCHLD:
                self._on_child()
            elif number == signal.SIGWINCH:
                if self.foreground:
                    self._take_size()
            elif number in (signal.SIGTERM, signal.SIGHUP):
                self._log(f"stopping: {signal.Signals(number).name}")
                self.stop()
            elif number == signal.SIGTSTP:
                self.pty.signal_session(signal.SIGSTOP)
            elif number in _FORWARDED:
                self.pty.signal(number)

    def _take_size(self) -> None:
        if self.console is None:
            return
        try:
            winsize = self.console.winsize()
        except OSError:
            return  # the terminal is gone
        if winsize != self.pty.winsize:
            self.pty.resize(winsize)
            self.link.send(wire.pack_size(*split_winsize(winsize)))
            self._balance()

    # --- the human ----------------------------------------------------------------------------------------

    def _on_keys(self, events: int) -> None:
        console = self.console
        if console is None:
            return
        if events & _WRITE:
            console.flush()
        if events & _READ:
            data = console.read()
            if data == b"":
                self._on_terminal_gone()
                return
            if data and self._attached is not None:
                data, detach = self._chord.feed(data)
                if detach:
                    self.pty.write(data)
                    self._detach("detached")
                    return
            if data:
                self.pty.write(data)
        self._balance()

    def _on_terminal_gone(self) -> None:
        if self._attached is not None:
            self._detach("the terminal is gone")
            return
        self._log("stopping: the terminal is gone")
        self._forget_console()
        self.stop()

    def _forget_console(self) -> None:
        console, self.console, self._held = self.console, None, None
        if console is not None:
            self._watch(console.in_fd, 0, self._on_keys)
            self._watch(console.out_fd, 0, self._on_keys)
            console.close()
        self._suspended = False
        self.link.send(wire.pack_json(wire.CONSOLE, None))
        self._balance()

    def _quieten_terminal(self) -> None:
        """Everything written, modes off, termios as they were: as the agent would leave it."""
        assert self.console is not None
        self.console.write(self._modes.undo())
        self.console.drain()
        self.console.restore()

    def _let_go_of_terminal(self) -> None:
        if self.console is None:
            return
        if self._attached is not None:
            self._move_below_the_screen()
        if self.stopping:
            self.console.write(b"\x1b[m")  # it was cut off, perhaps in mid-colour
        if not self._suspended:
            self._quieten_terminal()

    def _move_below_the_screen(self) -> None:
        assert self.console is not None
        if not self._modes.alternate_screen:
            self.console.write(b"\x1b[m\x1b[%d;1H\r\n" % split_winsize(self.pty.winsize)[1])

    # --- attaching ----------------------------------------------------------------------------------------

    def _on_connection(self, _: int) -> None:
        try:
            connection, _address = self._listener.accept()
        except OSError:
            return
        if not peer_is_us(connection):
            connection.close()
            return
        client = Client(connection)
        fd = connection.fileno()
        self._clients[fd] = client
        self._selector.register(fd, _READ, lambda _: self._on_client(client))

    def _on_client(self, client: Client) -> None:
        messages = client.receive()
        if messages is None:
            self._drop_client(client)
            return
        for message in messages:
            operation = message.get("op")
            if operation == "attach":
                self._attach(client, message)
            elif client is self._attached:
                if operation == "resized":
                    self._take_size()
                elif operation == "continued":
                    self._on_continued()

    def _drop_client(self, client: Client) -> None:
        if client is self._attached:
            self._detach("the client is gone")
            return
        self._selector.unregister(client.connection.fileno())
        del self._clients[client.connection.fileno()]
        client.close()

    def _attach(self, client: Client, message: dict[str, object]) -> None:
        if self.foreground:
            client.tell("refused", why="it runs in the foreground of another terminal")
            return
        paths = message.get("paths")
        try:
            in_fd, out_fd = client.take_fds()
            console = Console(in_fd, out_fd, tuple(paths) if isinstance(paths, list) else ("", ""))
        except (ValueError, OSError) as error:
            client.tell("refused", why=f"what was handed over is no terminal ({error})")
            return
        if self._attached is not None:
            self._detach("another terminal attached")
        self.console, self._attached = console, client
        self._chord = Chord(*self._detach_keys)
        console.enter_raw()
        client.tell("attached")
        self.link.send(wire.pack_json(wire.CONSOLE, console.describe()))
        self._take_size()
        self._held = bytearray()
        if self.link.ready:
            self.link.send(wire.pack(wire.SNAPSHOT_WANTED))
            self._later(SNAPSHOT_PATIENCE, lambda: self._show(console, None))
        else:
            self._show(console, None)
        self._balance()

    def _show(self, console: Console, snapshot: bytes | None) -> None:
        """Draw the screen on a terminal that has just attached, then what came in the meantime."""
        if self.console is not console or self._held is None:
            return
        held, self._held = self._held, None
        rows = split_winsize(self.pty.winsize)[1]
        console.write(b"\r\n" * rows + b"\x1b[H")  # what the user had there goes to their scrollback
        console.write(snapshot if snapshot is not None else self._modes.redo())
        console.write(bytes(held))
        if snapshot is None:
            self.pty.nudge()
        self._balance()

    def _detach(self, why: str) -> None:
        client = self._attached
        assert client is not None and self.console is not None
        if not self._suspended:
            self._move_below_the_screen()
            self._quieten_terminal()
        else:
            self.pty.signal_session(signal.SIGCONT)  # nobody is there to continue it
        self._forget_console()
        self._attached = None
        client.tell("detached", why=why)
        self._drop_client(client)

    # --- the host -----------------------------------------------------------------------------------------

    def _start_host(self) -> None:
        if self._exited or self.link.socket is not None:
            return
        try:
            self.link.start()
        except OSError as error:
            self._log(f"cannot start the host: {error}")
            self._later(5.0, self._start_host)
            return
        if self.link.generation > 1:
            self.pty.nudge()
        self._balance()

    def _on_host(self, events: int) -> None:
        if events & _WRITE:
            self.link.flush()
        if events & _READ:
            frames = self.link.receive()
            if frames is None:
                self._replace_host("it ended")
                return
            for kind, payload in frames:
                self._on_frame(kind, payload)
        self._balance()

    def _on_frame(self, kind: int, payload: bytes) -> None:
        if kind == wire.TYPE:
            self.pty.write(payload)
        elif kind == wire.SNAPSHOT and self.console is not None:
            self._show(self.console, payload)
        elif kind == wire.READY:
            self.link.ready = True
            self._on_ready()
        elif kind == wire.STOP:
            self._log("stopping: asked to")
            self.stop()

    def _replace_host(self, why: str) -> None:
        if self.link.socket is not None:
            self._watch(self.link.socket.fileno(), 0, self._on_host)
        self.link.drop(why)
        self._later(self.link.restart_delay(), self._start_host)

    def _heartbeat(self) -> None:
        if not self.link.ping():
            self._replace_host("it does not answer")
        self._balance()
        self._later(PING_EVERY, self._heartbeat)

    # --- the end ------------------------------------------------------------------------------------------

    def say_goodbye(self, status: int) -> None:
        """Tell an attached terminal, when all is cleared away and the name is free again."""
        for client in list(self._clients.values()):
            if client is self._attached:
                client.tell("exited", status=status)
            client.close()
