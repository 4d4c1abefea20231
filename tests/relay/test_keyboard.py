"""The human's keys in the relay: passed on at once, held back where they must be, and told to the host."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synapse.keys.typed import CLEARED, ESCAPE_TIMEOUT, SUBMITTED, TYPED
from synapse.relay import wire
from synapse.relay.injector import Injector
from synapse.relay.keyboard import Keyboard
from synapse.relay.pty import make_winsize
from synapse.relay.wire import DRAFT_LIMIT, ELSEWHERE

ROUTING = b'{"names": ["codex"]}'


class Clock:
    """Timers that run when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Any]] = []

    def later(self, seconds: float, call: Any) -> None:
        self.timers.append((self.now + seconds, call))

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer[0] <= self.now]
        self.timers = [timer for timer in self.timers if timer not in due]
        for _, call in due:
            call()


class Agent:
    """Its terminal."""

    def __init__(self) -> None:
        self.typed = b""
        self.hidden = self.cooked = self.alternate = False
        self.in_front = True
        self.backlog = b""
        self.winsize = make_winsize(80, 24)

    def write(self, data: bytes) -> None:
        self.typed += data

    def is_cooked(self) -> bool:
        return self.cooked

    def hides_input(self) -> bool:
        return self.hidden

    def line_kill(self, characters: int) -> bytes | None:
        return b"\x15" if self.cooked else None

    def is_in_front(self) -> bool:
        return self.in_front


class Link:
    def __init__(self) -> None:
        self.socket: object | None = object()
        self.generation = 1
        self.kinds: list[int] = []
        self.keys: list[tuple[int, int, bool, str | None]] = []
        self.lines: list[str | None] = []  # that were submitted

    def look(self) -> bool:
        return True

    def send(self, frame: bytes) -> None:
        self.kinds += [kind for kind, _ in wire.Unpacker().feed(frame)]

    def key(self, what: int, count: int, empty: bool, draft: str | None, line: str | None) -> None:
        self.keys.append((what, count, empty, draft))
        if what == SUBMITTED:
            self.lines.append(line)


class World:
    def __init__(self) -> None:
        self.clock, self.agent, self.link = Clock(), Agent(), Link()
        clock: Any = self.clock
        agent: Any = self.agent
        link: Any = self.link
        self.injector = Injector(clock, agent, lambda name, outcome: None)
        self.keyboard = Keyboard(
            reactor=clock,
            pty=agent,
            link=link,
            injector=self.injector,
            clear=lambda line, behind, normal_mode: [
                (0.0, b"<clear in normal mode>" if normal_mode else b"<clear>")
            ],
            on_alternate_screen=lambda: self.agent.alternate,
            log=print,
        )

    def draft(self) -> tuple[bool, str | None]:
        return self.keyboard.draft


@pytest.fixture
def world() -> World:
    return World()


def test_keys_are_passed_on_and_counted_with_the_draft_they_leave(world: World) -> None:
    for data in (b"h", b"i", b"\x15", b"ok\r"):
        world.keyboard.take(data)
    assert world.agent.typed == b"hi\x15ok\r"
    assert world.link.keys == [
        (TYPED, 1, False, "h"),
        (TYPED, 2, False, "hi"),
        (CLEARED, 3, True, ""),
        (SUBMITTED, 4, True, ""),
    ]


def test_what_the_terminal_sends_by_itself_is_passed_on_and_not_counted(world: World) -> None:
    reports = b"\x1b[I\x1b[12;40R\x1b]11;rgb:00/00/00\x07\x1b[97;1:3u\x1b[<35;1;1M"
    world.keyboard.take(reports)
    assert world.agent.typed == reports and world.link.keys == [] and world.keyboard.keys == 0


def test_before_the_first_key_the_composer_is_empty(world: World) -> None:
    assert world.draft() == (True, "")


def test_a_draft_that_is_secret_or_very_long_is_not_told(world: World) -> None:
    world.keyboard.take(b"pass")
    world.agent.hidden = True
    assert world.draft() == (False, None)
    world.agent.hidden = False
    assert world.draft() == (False, "pass")
    world.keyboard.take(b"\x1b[200~" + b"x" * DRAFT_LIMIT + b"\x1b[201~")
    assert world.draft() == (False, None)


def test_an_escape_is_passed_on_at_once_and_told_when_nothing_follows(world: World) -> None:
    world.keyboard.take(b"a")
    world.keyboard.take(b"\x1b")
    assert world.agent.typed == b"a\x1b" and world.draft() == (False, "a")
    world.clock.pass_time(ESCAPE_TIMEOUT)
    assert world.draft() == (False, None)  # some programs clear the line, some do not
    assert world.agent.typed == b"a\x1b"


def test_keys_wait_while_synapse_types(world: World) -> None:
    world.keyboard.take(b"a")
    steps = b'{"id": "1", "keys": 1, "output": null, "steps": [[0, "<"], [0.1, ">"]]}'
    world.injector.inject(steps, world.keyboard.keys, 0, False, lambda: True)
    world.keyboard.take(b"bc")
    assert world.agent.typed == b"a<"
    world.clock.pass_time(0.1)
    assert world.agent.typed == b"a<>bc" and world.draft() == (False, "abc")


def test_a_draft_that_synapse_moves_is_followed(world: World) -> None:
    world.keyboard.take(b"half a li")
    world.injector.on_draft("")
    assert world.draft() == (True, "")
    world.injector.on_draft("half a li")
    world.keyboard.take(b"ne")
    assert world.draft() == (False, "half a line")


def test_keys_of_somebody_else_are_followed(world: World) -> None:
    world.keyboard.follow(b"one")
    assert world.draft() == (False, "one") and world.agent.typed == b""
    world.keyboard.follow(b"\r")
    assert world.draft() == (True, "")


def test_a_line_for_another_agent_goes_to_the_host_and_the_keys_after_it_wait(world: World) -> None:
    world.keyboard.set_routing(ROUTING)
    world.keyboard.take(b"@codex hi\rnext")
    assert world.agent.typed == b"@codex hi" and world.link.kinds == [wire.COMMAND]
    world.clock.pass_time(1.0)  # the host does not answer in time
    assert world.agent.typed == b"@codex hi<clear>next"


@pytest.mark.parametrize("reason", ["no host", "a password", "nobody is known"])
def test_where_no_line_may_be_taken_enter_is_passed_on(world: World, reason: str) -> None:
    if reason != "nobody is known":
        world.keyboard.set_routing(ROUTING)
    world.agent.hidden = reason == "a password"
    if reason == "no host":
        world.link.socket = None
    world.keyboard.take(b"@codex hi\r")
    assert world.agent.typed == b"@codex hi\r" and world.link.kinds == []
    assert world.link.keys[-1][0] == SUBMITTED


def test_a_pattern_that_is_no_pattern_changes_nothing(world: World) -> None:
    world.keyboard.set_routing(b'{"names": ["codex"], "pattern": "(["}')
    world.keyboard.take(b"@codex hi\r")
    assert world.link.kinds == [wire.COMMAND]


def test_a_new_terminal_does_not_finish_what_the_last_one_began(world: World) -> None:
    world.keyboard.take(b"ab\x1b[200~half a paste")
    world.keyboard.new_terminal()
    world.keyboard.take(b"c")
    assert world.agent.typed.endswith(b"c") and world.draft() == (False, "abc")


# --- what the host sees -----------------------------------------------------------------------------------


def see(
    world: World, state: str, text: str | None = None, after_key: int | None = None, **more: bool
) -> None:
    key = world.keyboard.keys if after_key is None else after_key
    told = {"state": state, "text": None, "after_key": key, **more}
    world.keyboard.see(json.dumps(told).encode())


def test_what_is_seen_after_the_last_key_counts(world: World) -> None:
    world.keyboard.set_routing(ROUTING)
    world.keyboard.take(b"\t")
    assert world.draft() == (False, None)
    see(world, "empty", after_key=0)
    assert world.draft() == (False, None)
    see(world, "empty")
    assert world.draft() == (True, "")
    world.keyboard.take(b"@codex hi\r")
    assert world.link.kinds == [wire.COMMAND]


@pytest.mark.parametrize("state", ["dialog", "absent"])
def test_without_a_composer_nothing_is_routed_and_nothing_is_a_draft(world: World, state: str) -> None:
    world.keyboard.set_routing(ROUTING)
    see(world, state, ruled=True)
    world.keyboard.take(b"@codex hi\r")
    assert world.agent.typed == b"@codex hi\r" and world.link.kinds == [] and world.draft() == (True, "")
    assert world.link.keys == [(SUBMITTED if state == "dialog" else TYPED, 1, True, "")]


@pytest.mark.parametrize(("ruled", "routed"), [(False, False), (True, True)])
def test_a_program_that_another_has_started_gets_its_own_lines(
    world: World, ruled: bool, routed: bool
) -> None:
    world.keyboard.set_routing(ROUTING)
    see(world, "unknown", ruled=ruled)
    world.agent.in_front = False
    world.keyboard.take(b"@codex hi\r")
    assert (world.link.kinds == [wire.COMMAND]) == routed


@pytest.mark.parametrize("began", [False, True])
def test_a_program_that_has_changed_to_another_screen_gets_its_own_lines(world: World, began: bool) -> None:
    world.keyboard.set_routing(ROUTING)
    world.agent.alternate = began
    world.keyboard.take(b"x\x7f")
    world.agent.alternate = not began
    world.keyboard.take(b"@codex one\r")
    assert world.link.kinds == []
    world.agent.alternate = began
    world.keyboard.take(b"@codex two\r")
    assert world.link.kinds == [wire.COMMAND]


def test_the_host_is_told_what_was_submitted(world: World) -> None:
    world.keyboard.take(b"\x1b[200~one\rtwo\x1b[201~\r")
    world.keyboard.take(b"\x1b[A\r")
    world.agent.hidden = True
    world.keyboard.take(b"secret\r")
    assert world.link.lines == ["one\ntwo", None, None]


def test_a_line_that_the_host_refuses_is_submitted(world: World) -> None:
    world.keyboard.set_routing(ROUTING)
    world.keyboard.take(b"@codex hi\r")
    (name,) = world.keyboard.outbox._kept
    world.keyboard.outbox.taken(json.dumps({"id": name, "refused": "no"}).encode())
    assert world.agent.typed == b"@codex hi\r" and world.link.lines == ["@codex hi"]


def test_keys_of_somebody_else_are_told_without_being_a_humans(world: World) -> None:
    world.keyboard.follow(b"one")
    world.keyboard.follow(b"\x1b[12;40R")
    assert world.link.keys == [(TYPED, 0, False, "one")] and world.keyboard.keys == 0


def test_an_injection_for_the_agent_waits_while_another_program_is_in_front(world: World) -> None:
    outcomes: list[str] = []
    clock: Any = world.clock
    agent: Any = world.agent
    injector = Injector(clock, agent, lambda _, outcome: outcomes.append(outcome))
    more: list[dict[str, object]] = [
        {"in_front": True}, {}, {"in_front": True, "steps": []}, {"steps": []},
    ]  # fmt: skip
    for request in more:
        asked = {"id": "1", "keys": None, "output": None, "steps": [[0, "x"]], **request}
        injector.inject(json.dumps(asked).encode(), 0, 0, False, lambda: False)
    assert outcomes == [ELSEWHERE, "done", ELSEWHERE, "done"] and world.agent.typed == b"x"
    assert injector.known() == ["1"]  # what types nothing is not remembered


@pytest.mark.parametrize(("mode", "taken"), [("insert", True), ("", False)])
def test_a_line_that_is_sent_from_normal_mode_right_after_escape(
    world: World, mode: str, taken: bool
) -> None:
    """Vim keys: the text is the same after Escape, which nobody knows of other composers."""
    world.keyboard.set_routing(ROUTING)
    seen = {"state": "empty", "text": None, "after_key": 0, "ruled": True}
    world.keyboard.see(json.dumps({**seen, "vim": {"mode": mode, "stays": True}}).encode())
    world.keyboard.take(b"@codex hi")
    world.keyboard.take(b"\x1b")
    world.clock.pass_time(ESCAPE_TIMEOUT)
    world.keyboard.take(b"\r")
    assert world.link.kinds == ([wire.COMMAND] if taken else [])
    keys = b"<clear in normal mode>" if mode else b"<clear>"
    assert world.keyboard._steps_to_clear("@codex hi", 1) == [(0.0, keys)]
