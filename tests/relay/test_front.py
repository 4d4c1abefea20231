"""The terminal in front of the agent: real terminals on both sides, and a host that records its frames."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from synapse.relay import wire
from synapse.relay.console import Console
from synapse.relay.front import Front
from synapse.relay.injector import Injector
from synapse.relay.keyboard import Keyboard
from synapse.relay.overlay_layer import OverlayLayer
from synapse.relay.pty import Pty, make_winsize, split_winsize
from synapse.relay.reactor import READ, Reactor
from tests.support.patience import PATIENCE

AGENT = ["sh", "-c", "stty raw -echo; printf 'ready\\033[?2004h'; exec cat"]  # then writes what it is typed


class Link:
    """Records the frames for the host. `ready`: the host answers."""

    def __init__(self) -> None:
        self.socket = object()
        self.generation = 1
        self.ready = False
        self.sent: list[tuple[int, bytes]] = []

    def look(self) -> bool:
        return True

    def send(self, frame: bytes) -> None:
        self.sent += wire.Unpacker().feed(frame)

    def key(self, *_: object) -> None: ...

    def told(self, kind: int) -> list[Any]:
        return [json.loads(payload) for sent, payload in self.sent if sent == kind]


class Human:
    """A terminal that attaches, and what its client is told."""

    def __init__(self, path: Path, cols: int = 80, rows: int = 24) -> None:
        self.master, self.slave = os.openpty()
        self.resize(cols, rows)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(str(path))
        self._said = b""

    def attach(self) -> None:
        hello = json.dumps({"op": "attach", "paths": ["", ""]}).encode() + b"\n"
        socket.send_fds(self.connection, [hello], [self.slave, self.slave])

    def say(self, operation: str) -> None:
        self.connection.send(json.dumps({"op": operation}).encode() + b"\n")

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, make_winsize(cols, rows))

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def look(self) -> None:
        while select.select([self.master], [], [], 0)[0]:
            self.seen += os.read(self.master, 65536)
        while select.select([self.connection], [], [], 0)[0]:
            data = self.connection.recv(4096)
            if not data:
                break
            self._said += data

    def shows(self, data: bytes) -> bool:
        self.look()
        return data in self.seen

    @property
    def events(self) -> list[dict[str, Any]]:
        self.look()
        return [json.loads(line) for line in self._said.splitlines()]

    @property
    def is_restored(self) -> bool:
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]


class World:
    def __init__(self, folder: Path, console: Console | None = None) -> None:
        self.path = folder / "attach"
        self.humans: list[Human] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.reactor, self.link = Reactor(), Link()
        self.pty = Pty.spawn(AGENT, dict(os.environ), make_winsize(100, 30))
        self.typed = b""  # what the agent was typed, which is what it writes
        self.gone = 0
        link: Any = self.link
        injector = Injector(self.reactor, self.pty, lambda name, outcome: None)
        keyboard = Keyboard(
            reactor=self.reactor,
            pty=self.pty,
            link=link,
            injector=injector,
            clear=lambda line, behind, normal_mode: [],
            on_alternate_screen=lambda: False,
            log=print,
        )
        self.front = Front(
            reactor=self.reactor,
            pty=self.pty,
            link=link,
            keyboard=keyboard,
            console=console,
            listener=self.listener,
            detach_keys=(b"\x1d", b"d"),
            overlay_layer=OverlayLayer((b"\x1d", b"o"), link.send),
            on_gone=self._on_gone,
            rebalance=self._balance,
            rewatch=self._balance,
        )
        self.front.open()
        self.reactor.watch(self.pty.master, READ, self._on_agent)
        self.until(lambda: self.typed.endswith(b"ready\x1b[?2004h"), "the agent")
        self.typed = b""

    def _on_gone(self) -> None:
        self.gone += 1

    def _balance(self) -> None:
        self.front.balance()

    def _on_agent(self, _: int) -> None:
        if data := self.pty.read():
            self.typed += data
            self.front.write(data)
            self.front.follow(data)

    def until(self, done: Callable[[], object], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < end, f"waited for {what}"
            self.reactor.later(0.01, lambda: None)
            self.reactor.turn()

    def human(self, **size: int) -> Human:
        human = Human(self.path, **size)
        self.humans.append(human)
        return human

    def close(self) -> None:
        self.front.tell_exit(0)
        self.listener.close()
        for human in self.humans:
            human.connection.close()
        self.pty.signal_session(signal.SIGKILL)
        self.pty.reap()
        os.close(self.pty.master)

    def attached(self, **size: int) -> Human:
        human = self.human(**size)
        human.attach()
        self.until(lambda: human.events, "an answer")
        assert human.events[0]["event"] == "attached"
        return human

    def type(self, human: Human, data: bytes) -> None:
        """Type, and wait until it has been read."""
        human.type(data + b"\x1b[I")  # a report, which always goes on to the agent
        self.until(lambda: self.typed.endswith(b"\x1b[I"), "the keys")
        self.typed = self.typed.removesuffix(b"\x1b[I")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_a_terminal_that_attaches_gets_the_snapshot_and_then_what_came_meanwhile(world: World) -> None:
    world.link.ready = True
    human = world.attached()
    assert (wire.SNAPSHOT_WANTED, b"") in world.link.sent
    world.pty.write(b"meanwhile")
    world.until(lambda: world.typed == b"meanwhile", "the output")
    human.look()
    assert human.seen == b"" and world.front.has_backlog()
    world.front.show_snapshot(b"<snapshot>")
    world.until(lambda: human.shows(b"meanwhile"), "the screen")
    assert human.seen.endswith(b"\x1b[H<snapshot>meanwhile")
    world.front.show_snapshot(b"<late>")
    human.look()
    assert b"<late>" not in human.seen


def test_without_a_host_it_gets_the_modes_at_once(world: World) -> None:
    human = world.attached()
    world.until(lambda: human.shows(b"\x1b[?2004h"), "the modes")
    assert world.link.told(wire.CONSOLE)[-1]["paths"] == ["", ""]


def test_a_host_that_gives_no_snapshot_is_not_waited_for(world: World) -> None:
    world.link.ready = True
    human = world.attached()
    world.until(lambda: human.shows(b"\x1b[?2004h"), "the modes")


def test_keys_go_to_the_agent_and_the_chord_detaches(world: World) -> None:
    human = world.attached()
    world.type(human, b"hello\x1dx")
    assert world.typed == b"hello\x1dx"
    human.type(b"bye\x1dd")
    world.until(lambda: len(human.events) > 1, "the end")
    assert human.events[-1] == {"event": "detached", "why": "detached"}
    assert human.is_restored and human.seen.rstrip().endswith(b"\x1b[?2004l")
    assert world.front.console is None and world.link.told(wire.CONSOLE)[-1] is None
    world.until(lambda: world.typed.endswith(b"bye"), "the last keys")


def test_the_chord_inside_a_paste_is_text(world: World) -> None:
    human = world.attached()
    paste = b"\x1b[200~one\x1dd two\x1b[201~"
    world.type(human, paste)
    assert world.typed == paste and [event["event"] for event in human.events] == ["attached"]


def test_the_last_to_attach_is_in_front(world: World) -> None:
    first = world.attached()
    second = world.attached(cols=60, rows=15)
    assert first.events[-1] == {"event": "detached", "why": "another terminal attached"} and first.is_restored
    assert split_winsize(world.pty.winsize) == (60, 15)
    first.look()
    seen = first.seen
    first.type(b"lost")
    world.type(second, b"mine")
    assert world.typed == b"mine"
    world.until(lambda: second.shows(b"mine"), "the echo")
    first.look()
    assert first.seen.removeprefix(seen) in (b"", b"lost")  # at most the kernel's own echo


def test_the_agent_follows_the_size_of_the_terminal(world: World) -> None:
    human = world.attached()
    assert split_winsize(world.pty.winsize) == (80, 24) and not world.front.one_size
    human.resize(70, 20)
    human.say("resized")
    world.until(lambda: split_winsize(world.pty.winsize) == (70, 20), "the size")
    assert world.link.sent[-1] == (wire.RESIZE, wire.pack_size(70, 20)[5:])


@pytest.mark.parametrize("ending", ["the client", "the terminal"])
def test_when_it_goes_the_next_one_can_attach(world: World, ending: str) -> None:
    human = world.attached()
    if ending == "the client":
        human.connection.close()
    else:
        os.close(human.slave)
        os.close(human.master)
    world.until(lambda: world.front.console is None, f"{ending} to be gone")
    assert world.gone == 0
    again = world.attached()
    world.type(again, b"alive")
    assert world.typed == b"alive"


def test_what_is_no_terminal_is_refused(world: World) -> None:
    human = world.human()
    ends = os.pipe()
    socket.send_fds(human.connection, [b'{"op": "attach", "paths": ["", ""]}\n'], list(ends))
    world.until(lambda: human.events, "an answer")
    assert human.events[0]["event"] == "refused" and "no terminal" in human.events[0]["why"]
    assert world.front.console is None


def test_an_agent_in_the_foreground_refuses_others_and_ends_with_its_terminal(tmp_path: Path) -> None:
    master, slave = os.openpty()
    world = World(tmp_path, Console(slave, os.dup(slave)))
    other = world.human()
    other.attach()
    world.until(lambda: other.events, "an answer")
    assert other.events == [{"event": "refused", "why": "it runs in the foreground of another terminal"}]
    os.write(master, b"\x1dd")  # no chord: there is nothing to detach from
    world.until(lambda: world.typed == b"\x1dd", "the keys")
    os.close(master)
    world.until(lambda: world.gone, "the end of the terminal")
    assert world.front.console is None
    world.close()


def test_the_overlay_with_the_focus_gets_the_keys_and_the_agent_none(world: World) -> None:
    human = world.attached()
    layer = world.front.overlay_layer
    layer.host_came()
    world.type(human, b"a\x1do")
    assert layer.focused and world.typed == b"a"
    keys = b"jk\x1b[A\x1b[97;1:1u\x1b[97;1:3u\x1b[57441;2u\x1b[200~x\x1dd\x1b[201~\x1b[<65;1;1M\xe6\xbc\xa2"
    world.type(human, keys)
    assert world.typed == b"a"
    given = b"".join(payload for kind, payload in world.link.sent if kind == wire.OVERLAY_KEYS)
    assert given == keys
    layer.set_state(b'{"focus": false, "used": 2}')
    world.type(human, b"z")
    assert not layer.focused and world.typed == b"az"


def test_the_first_key_of_the_chord_alone_is_for_the_agent() -> None:
    layer = OverlayLayer((b"\x1d", b"o"), lambda _: None)
    timers: list[Callable[[], None]] = []
    late: list[bytes] = []
    layer.later, layer.on_keys = lambda seconds, call: timers.append(call), late.append
    layer.host_came()
    assert layer.take(b"a\x1d") == b"a"
    timers.pop()()
    assert late == [b"\x1d"] and layer.take(b"o") == b"o" and not layer.focused
    assert layer.take(b"\x1d") == b"" and layer.take(b"o") == b"" and layer.focused
    timers.pop()()
    assert len(late) == 1, "it was a chord"


def test_the_answer_to_the_cursor_query_goes_to_the_host_alone(world: World) -> None:
    human = world.attached()
    world.front.ask_cursor(7)
    world.until(lambda: human.shows(b"\x1b[6n"), "the question")
    world.type(human, b"a\x1b[12;3Rb")
    assert world.typed == b"ab" and world.link.told(wire.PLACE) == [[11, 2, 7]]


def test_at_the_end_the_attached_terminal_is_told_the_status(world: World) -> None:
    human = world.attached()
    world.front.release(cut_off=True)
    world.front.tell_exit(5)
    assert human.is_restored and human.events[-1] == {"event": "exited", "status": 5}
    assert b"\x1b[m" in human.seen and b"\x1b[?2004l" in human.seen
