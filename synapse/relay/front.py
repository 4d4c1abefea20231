"""The human's side of the relay: the terminal in front of the agent, if there is one.

For an agent in the foreground that is always the terminal that the command was started in; for a background
agent it is the terminal that attached last.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque

from synapse.relay import wire
from synapse.relay.console import Console
from synapse.relay.cursor_position import CursorQuery
from synapse.relay.keyboard import Keyboard
from synapse.relay.link import HostLink
from synapse.relay.overlay_layer import OverlayLayer, TimedChord
from synapse.relay.pty import Pty, split_winsize
from synapse.relay.reactor import READ, WRITE, Reactor
from synapse.relay.spool import HOLD

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal
    from collections.abc import Callable

    from synapse.relay.attach import Client
    from synapse.terminal.modes import ModeTracker
else:
    import _signal as signal

HIGH_WATER = 16 * 1024  # bytes waiting for a slow reader: above this, their source is not read
SNAPSHOT_TIMEOUT = 1.0  # seconds


class Front:
    def __init__(
        self,
        reactor: Reactor,
        pty: Pty,
        link: HostLink,
        keyboard: Keyboard,
        console: Console | None,
        listener: _socket.socket,
        detach_keys: tuple[bytes, bytes],
        overlay_layer: OverlayLayer,
        on_gone: Callable[[], None],
        rebalance: Callable[[], None],
        rewatch: Callable[[], None],
    ) -> None:
        self._reactor = reactor
        self._pty = pty
        self._link = link
        self._keyboard = keyboard
        self._listener = listener
        self._detach_keys = detach_keys
        self._chord: TimedChord | None = None  # of an attached terminal
        self.overlay_layer = overlay_layer
        overlay_layer.later, overlay_layer.on_keys = reactor.later, keyboard.take
        self._on_gone = on_gone  # called when the terminal that the command was started in has disappeared
        self._rebalance = rebalance
        keyboard.typeahead.on_taken = rewatch
        self._rewatch = rewatch  # the same, when the descriptors to watch have changed
        self._tracker: ModeTracker | None = None
        self.unread: deque[bytes] = deque()  # output whose modes have not been read
        self._unread_size = 0
        self._clients: list[Client] = []
        self._attached: Client | None = None
        self._held: bytearray | None = None  # output held back until a new terminal has its snapshot
        self.suspended = False
        self.console = console
        self.started_here = console is not None
        self.resized = False  # set in the signal handler, so before any later key is read
        self.stop_wanted = False  # set in the signal handler too
        self.one_size = True  # the size has never changed
        self._cursor_query = CursorQuery(self._tell_cursor)
        self._release_at = 0.0  # when output that waits for a drawing is written, if some does
        self._asked_after = 0  # bytes of output that the terminal had received when it was asked

    def open(self) -> None:
        self._listener.setblocking(False)
        self._reactor.watch(self._listener.fileno(), READ, self._on_connection)
        if self.console is not None:
            self.console.enter_raw()
        self.balance()

    def read_modes(self, at_most: int = sys.maxsize) -> ModeTracker:
        """Read the modes that `at_most` bytes of output set. First called after the first output."""
        if self._tracker is None:
            from synapse.terminal.modes import ModeTracker

            self._tracker = ModeTracker()
        while self.unread and at_most > 0:
            data = self.unread.popleft()
            self._unread_size -= len(data)
            at_most -= len(data)
            self._tracker.feed(data)
        return self._tracker

    def write(self, data: bytes) -> bool:
        """Output of the agent, at once; False when the terminal cannot take more now."""
        self._cursor_query.agent_wrote(data)
        if self._held is not None:
            self._held += data
        elif self.console is not None:
            if self.overlay_layer.follows:
                self._write_below(data)
            else:
                self.console.write(data)
            return not self.console.backlog
        return True

    def _write_below(self, data: bytes) -> None:
        """Output while something is drawn: it waits for the host's next drawing, if that can come soon."""
        assert self.console is not None
        layer, now = self.overlay_layer, time.monotonic()
        if self.console.backlog or not self._link.is_prompt or not layer.wait(data, now):
            self.console.write(layer.remove() + data)
        elif layer.due is not None and not self._release_at:
            self._release_at = layer.due
            self._reactor.later(layer.due - now, self._release)

    def _release(self) -> None:
        """Write the output that has waited long enough; without its drawing, what was drawn is erased."""
        self._release_at, due, now = 0.0, self.overlay_layer.due, time.monotonic()
        if due is not None and due > now:
            self._release_at = due
            self._reactor.later(due - now, self._release)
        elif due is not None and self.console is not None:
            self.console.write(self.overlay_layer.release(now))

    def overlay(self, payload: bytes, written: int) -> None:
        """Draw for the host, if the terminal shows all the output so far and takes more."""
        console, refusal = self.console, None
        if console is None or self.suspended:
            refusal = wire.NOBODY
        elif self._held is not None or console.backlog or self.resized:
            refusal = wire.BUSY
        data = self.overlay_layer.show(
            payload, written=written, size=split_winsize(self._pty.winsize), refusal=refusal
        )
        if console is not None and data:
            console.write(data)

    def remove_overlay(self) -> None:
        if self.console is not None and (data := self.overlay_layer.remove()):
            self.console.write(data)

    def follow(self, data: bytes) -> None:
        """Keep output for the modes that it sets, which are read in a pause or when they are needed."""
        self.unread.append(data)
        self._unread_size += len(data)
        if self._unread_size > HOLD:
            self.read_modes(2 * len(data))

    def has_backlog(self) -> bool:
        return self._held is not None or (self.console is not None and bool(self.console.backlog))

    def has_space(self) -> bool:
        waiting = len(self.console.backlog) if self.console is not None else 0
        return waiting + len(self._held or b"") < HIGH_WATER

    def balance(self) -> None:
        """Read keys only while the agent takes them; wait for writability only when something waits."""
        if self.console is None or self.suspended:
            return
        waits = self._keyboard.typeahead.waits or len(self._pty.backlog) >= HIGH_WATER
        read = 0 if waits else READ
        self._watch(read, WRITE if self.console.backlog else 0)

    def _watch(self, read: int, write: int) -> None:
        assert self.console is not None
        self._reactor.watch(self.console.in_fd, read, self._on_ready)
        self._reactor.watch(self.console.out_fd, write, self._on_ready)

    def _on_ready(self, events: int) -> None:
        console = self.console
        if console is None:
            return
        if events & WRITE:
            console.flush()
        if events & READ:
            data = self._keyboard.typeahead.read(console)
            if data == b"":
                self._lose_terminal()
                return
            if data and console.backlog and self._pty.discards_output_at(data):
                console.discard()  # a slow terminal would show it after Ctrl-C
                self.overlay_layer.terminal_differs()
            if self.resized:
                self.take_size()  # the agent must learn of a resize before the keys typed after it
            if data and self._cursor_query.awaited:
                data = self._cursor_query.take(data)
            if data and self._chord is not None:
                data, detach = self._chord.feed(data)
                if detach:
                    self._keyboard.take(data)
                    self._detach("detached")
                    return
            if data:
                data = self.overlay_layer.take(data)
            if data:
                self._keyboard.take(data)
        self._rebalance()

    def ask_cursor(self, written: int) -> None:
        quiet = not (self.suspended or self.has_backlog() or self.overlay_layer.waiting)
        if self.console is not None and quiet and not self._cursor_query.may_come:
            self._asked_after = written
            self.console.write(self._cursor_query.ask())

    def _tell_cursor(self, row: int, column: int) -> None:
        self._link.send(wire.pack_json(wire.PLACE, [row, column, self._asked_after]))

    def take_size(self) -> None:
        signalled, self.resized = self.resized, False
        if self.console is None:
            return
        try:
            winsize = self.console.winsize()
        except OSError:
            return  # the terminal is gone: the read side reports it
        if winsize != self._pty.winsize or signalled:
            self.one_size = False
            self.console.write(self.overlay_layer.resized())
            self._pty.resize(winsize)
            self._link.send(wire.pack_size(*split_winsize(winsize)))
            self._rewatch()

    def suspend(self) -> None:
        """The agent has stopped itself: restore the terminal, stop too, and continue together."""
        if self.console is None:
            self._pty.resume()
            return
        if keys := self._cursor_query.wait(self.console):
            self._keyboard.take(keys)
        self._restore_terminal()
        self._watch(0, 0)
        self.suspended = True
        if self._attached is not None:
            self._attached.tell("stopped")
            return
        os.kill(os.getpid(), signal.SIGSTOP)
        while not self.console.in_foreground():
            if self.stop_wanted:
                self._pty.resume()
                return  # the terminal is the shell's now
            os.kill(os.getpid(), signal.SIGSTOP)  # in the background a bare agent would stop too
        self._resume()

    def _resume(self) -> None:
        if self.console is None or not self.suspended:
            return
        self.suspended = False
        self.console.enter_raw()
        modes = self.read_modes()
        self.console.write(modes.redo())
        self.overlay_layer.terminal_differs()
        self.take_size()
        self._pty.resume()
        if modes.alternate_screen:
            self._pty.nudge()  # it is blank now; on the main screen a bare agent would not repaint either
        self._rewatch()

    def _restore_terminal(self) -> None:
        assert self.console is not None
        self.remove_overlay()
        self.console.write(self.read_modes().undo())
        self.console.drain()
        self.console.restore()

    def release(self, cut_off: bool) -> None:
        """Give the terminal back at the end. An agent that was `cut_off` may have left a colour on."""
        if self.console is None or self.suspended:
            return
        if self._held is not None:
            self._draw(self.read_modes().redo())  # the agent ended before the snapshot came
        self.remove_overlay()
        if self._attached is not None:
            self._move_below()
        if cut_off:
            self.console.write(b"\x1b[m")
        self._cursor_query.wait(self.console)
        self._restore_terminal()

    def _move_below(self) -> None:
        assert self.console is not None
        if not self.read_modes().alternate_screen:
            self.console.write(b"\x1b[m\x1b[%d;1H\r\n" % split_winsize(self._pty.winsize)[1])

    def _lose_terminal(self) -> None:
        if self._attached is not None:
            self._detach("the terminal is gone")
        else:
            self._forget_console()
            self._on_gone()

    def _forget_console(self) -> None:
        self.overlay_layer.reset()
        self._cursor_query = CursorQuery(self._tell_cursor)
        if self.console is not None:
            self._watch(0, 0)
            self.console.close()
        self.console = self._held = None
        self.suspended = False
        self._link.send(wire.pack_json(wire.CONSOLE, None))
        self._rewatch()

    def _on_connection(self, _: int) -> None:
        import socket

        from synapse.relay.attach import Client, peer_is_us

        try:
            fd, _address = self._listener._accept()  # type: ignore[attr-defined]
        except OSError:
            return
        connection = socket.socket(fileno=fd)
        if not peer_is_us(connection):
            connection.close()
            return
        client = Client(connection)
        self._clients.append(client)
        self._reactor.watch(connection.fileno(), READ, lambda _: self._on_client(client))

    def _on_client(self, client: Client) -> None:
        messages = client.receive()
        if messages is None:
            self._drop(client)
            return
        for message in messages:
            operation = message.get("op")
            if operation == "attach":
                self._attach(client, message)
            elif client is self._attached:
                if operation == "resized":
                    self.resized = True
                    self.take_size()
                elif operation == "continued":
                    self._resume()

    def _drop(self, client: Client) -> None:
        if client is self._attached:
            self._detach("the client is gone")
            return
        self._reactor.watch(client.connection.fileno(), 0, lambda _: None)
        self._clients.remove(client)
        client.close()

    def _attach(self, client: Client, message: dict[str, object]) -> None:
        if self.started_here:
            client.tell("refused", why="it runs in the foreground of another terminal")
            return
        try:
            console = client.take_console(message)
        except (ValueError, OSError) as error:
            client.tell("refused", why=f"what was handed over is no terminal ({error})")
            return
        if self._attached is not None:
            self._detach("another terminal attached")
        self.console, self._attached = console, client
        self._chord = TimedChord(self._detach_keys, self._reactor.later, self.overlay_layer.pass_by)
        self._keyboard.new_terminal()
        console.enter_raw()
        client.tell("attached")
        self.take_size()  # before the host knows of the terminal: nothing has to be reflowed
        self._link.send(wire.pack_json(wire.CONSOLE, console.describe()))
        self._held = bytearray()
        if self._link.ready:
            self._link.send(wire.pack(wire.SNAPSHOT_WANTED))
            self._reactor.later(SNAPSHOT_TIMEOUT, lambda: self._show(console, None))
        else:
            self._show(console, None)
        self._rewatch()

    def show_snapshot(self, snapshot: bytes) -> None:
        self._show(self.console, snapshot)

    def _show(self, console: Console | None, snapshot: bytes | None) -> None:
        if self.console is not console or self._held is None:
            return
        self._draw(snapshot if snapshot is not None else self.read_modes().redo())
        if snapshot is None:
            self._pty.nudge()
        self._rewatch()

    def _draw(self, screen: bytes) -> None:
        """Draw the screen on a terminal that has just attached, then what came in the meantime."""
        assert self.console is not None and self._held is not None
        held, self._held = self._held, None
        rows = split_winsize(self._pty.winsize)[1]
        self.console.write(b"\r\n" * rows + b"\x1b[H")  # what was there goes to the scrollback
        self.console.write(screen)
        self.console.write(bytes(held))

    def _detach(self, why: str) -> None:
        client = self._attached
        assert client is not None and self.console is not None
        if self.suspended:
            self._pty.resume()  # no terminal is left to continue it
        else:
            self.remove_overlay()
            self._move_below()
            self._restore_terminal()
        if self._chord is not None:
            self._chord.drop()
        self._forget_console()
        self._attached = self._chord = None
        client.tell("detached", why=why)
        self._drop(client)

    def tell_exit(self, status: int) -> None:
        """Tell an attached terminal the exit status, once the agent is not listed any more."""
        for client in self._clients:
            if client is self._attached:
                client.tell("exited", status=status)
            client.close()
