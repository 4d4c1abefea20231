"""An agent that is started below a shell's prompt: what the shell has left is never covered, nor moved."""

from __future__ import annotations

import time

import pytest

from synapse.messages.display import Display
from synapse.relay.cursor_position import ANSWER_TIMEOUT, ASK, CursorQuery
from tests.support.home import SYNAPSE, Home
from tests.support.overlay_world import World, sent
from tests.support.screen_state import state

AGENT = b"\x1b[1magent\x1b[m\r\n----\r\n> \r\n----\x1b[A\r\x1b[2C"


def answers(*pieces: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    query = CursorQuery(lambda row, column: told.append((row, column)))
    assert query.ask() == ASK
    return b"".join(map(query.take, pieces)), told


@pytest.mark.parametrize(
    ("pieces", "passed", "told"),
    [
        ([b"\x1b[12;1R"], b"", [(11, 0)]),
        ([b"ab\x1b[A\x1b[3;41Rcd"], b"ab\x1b[Acd", [(2, 40)]),
        ([b"x\x1b[1", b"2", b";1Ry"], b"xy", [(11, 0)]),
        ([b"\x1b[5;2~\x1b[13;2u\x1b"], b"\x1b[5;2~\x1b[13;2u\x1b", []),
        ([b"\x1b[2;1R\x1b[9;9R"], b"\x1b[9;9R", [(1, 0)]),  # the second was asked by the agent
        ([b"\x1b", b"[", b"A"], b"\x1b[A", []),
    ],
)
def test_the_answer_is_taken_out_of_the_keys(
    pieces: list[bytes], passed: bytes, told: list[tuple[int, int]]
) -> None:
    assert answers(*pieces) == (passed, told)


def test_an_answer_that_never_came_is_not_waited_for_for_ever() -> None:
    now = [0.0]
    query = CursorQuery(lambda row, column: None, lambda: now[0])
    query.ask()
    now[0] = ANSWER_TIMEOUT + 1
    assert query.take(b"a\x1b[1;2Rb") == b"a\x1b[1;2Rb"  # Shift-F3
    query.agent_wrote(b"where? \x1b[6n")
    assert query.take(b"\x1b[5;9R") == b"\x1b[5;9R" and not query.awaited


def test_an_answer_to_our_question_is_no_key_however_late_it_comes() -> None:
    now, told = [0.0], []
    query = CursorQuery(lambda row, column: told.append((row, column)), lambda: now[0])
    query.ask()
    query.agent_wrote(b"nothing asked")
    now[0] = ANSWER_TIMEOUT * 60
    assert query.take(b"x\x1b[12;") + query.take(b"5Ry") == b"xy"
    assert told == [(11, 4)] and not query.awaited
    query.ask()
    now[0] += ANSWER_TIMEOUT + 1
    assert query.take(b"\x1b[1;1R") == b"" and told[1:] == [(0, 0)]


class Shell(World):
    """A terminal in which a shell has written `rows` rows before."""

    def __init__(self, rows: int, size: tuple[int, int] = (80, 24)) -> None:
        super().__init__(size)
        self.display = Display(
            *(self.inbox, self.model, lambda: self.written_host, self.to_relay.append, self._later),
            *(self.actions.append, lambda: self.now, False, False),
        )
        self.terminal.feed(
            b"$ ls of what is here, all the way to the end of the row, and a little more\r\n" * rows
        )


@pytest.mark.parametrize("resized", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 12, 20, 60])
def test_the_rows_of_the_shell_are_left_alone(rows: int, resized: bool) -> None:
    world = Shell(rows)
    world.output(AGENT)
    world.settle()
    if resized:
        sent(world, "0")
        world.resize(80, 28)
        world.pass_time(3.0)
        world.output(b"x\b")
        world.settle()
        world.lift()
    before = state(world.terminal)
    for number in range(3):
        sent(world, str(number))
        assert world.drawings or rows > 12, "nothing was drawn though there is room"
        world.type(b"\x1do")
        world.pass_time(0.3)
        world.type(b"q")
        world.pass_time(0.3)
        world.output(b"x\b")
        world.settle()
        world.lift()
        after = state(world.terminal)
        assert after["at"] == before["at"] and world.model.cursor == world.terminal.cursor
        top = world.terminal.cursor[1] - 2
        assert after["rows"][:top] == before["rows"][:top]


@pytest.mark.parametrize("clusters", [False, True])
def test_below_a_line_with_emoji_that_wraps_the_rows_are_known_from_the_cursor(clusters: bool) -> None:
    world = Shell(5)
    if clusters:
        world.terminal.feed(b"\x1b[?2027h")
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    world.output(("words " * 10 + family * 4 + " end\r\n").encode() + b"below\r\n" * 5 + b"> ")
    before = world.shown()
    sent(world)
    lines = world.shown().split("\n")
    first = next(y for y, line in enumerate(lines) if "below" in line)
    assert "→ codex: sending" in "\n".join(lines[first:])
    assert lines[:first] == before.split("\n")[:first]
    world.output(b"typed")
    world.pass_time(60.0)
    world.lift()
    assert world.shown().split("\n")[:-1] == before.split("\n")[:-1] and world.shown().endswith("> typed")


def test_when_the_shell_has_scrolled_away_all_of_the_screen_is_there() -> None:
    world = Shell(60)
    world.output(AGENT + b"\r\n" + b"line\r\n" * 40)
    sent(world)
    assert "→ codex: sending" in world.shown().splitlines()[1]


def test_a_shell_that_was_cleared_is_no_shell() -> None:
    world = Shell(12)
    world.output(b"\x1b[2J\x1b[H" + b"line\r\n" * 10)
    sent(world)
    assert "→ codex: sending" in world.shown().splitlines()[1]


def test_a_terminal_that_does_not_say_is_not_drawn_on_before_it_is_clear() -> None:
    world = Shell(12)
    world.answers = False
    world.output(AGENT)
    sent(world)
    world.pass_time(5.0)
    assert not world.drawings
    world.output(b"\x1b[H\x1b[2J" + b"line\r\n" * 10)
    world.pass_time(0.3)
    assert "→ codex: sending" in world.shown()


def test_a_message_from_an_agent_below_a_shell_s_prompt(home: Home) -> None:
    command = 'seq 100 109; "$@"; echo over $?; sleep 9'
    argv = ["/bin/sh", "-c", command, "sh", *SYNAPSE, "dummy", "--name", "a", "--", "--tui"]
    home.run("start", "dummy", "--name", "b")
    with home.program(argv, cols=100, rows=40) as terminal:
        terminal.wait_for("/exit quits")
        terminal.wait_for("? for shortcuts")
        terminal.wait(lambda: not home.run("status", "a", check=False).returncode, "host")
        before = terminal.screen.text()
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:  # until b is known here
            terminal.type("@b --priority 9 x\r")
            terminal.wait(
                lambda: "✗ b" in terminal.screen.text() or "You said" in terminal.screen.text(), "a word"
            )
            if "✗ b" in terminal.screen.text():
                break
            terminal.type("\x0c")
            before = ""
        terminal.type("\x15@b say done\r")
        terminal.wait_for("← b: replied")
        for _ in range(2):  # the refusal too
            terminal.type("\x1do")
            terminal.wait_for("╭─")
            terminal.type("q")
            terminal.wait_until_gone("╭─")
        terminal.wait_until_gone(" b: ")
        assert not before or terminal.screen.text() == before
        terminal.type("/exit\r")
        terminal.wait_for("over 0")
        assert "R" not in terminal.screen.text().partition("over 0")[2]  # no answer was left for the shell


def test_an_agent_that_ends_at_once_leaves_no_answer_for_the_shell(home: Home) -> None:
    home.profile("quick", "command: 'true'\n")
    with home.program(["/bin/sh", "-c", '"$@"; echo over; cat', "sh", *SYNAPSE, "quick"]) as terminal:
        terminal.wait_for("over")
        terminal.type("typed\r")
        terminal.wait_for("typed\ntyped")
        assert "R" not in terminal.screen.text()


def test_each_question_has_its_answer() -> None:
    told: list[tuple[int, int]] = []
    query = CursorQuery(lambda row, column: told.append((row, column)))
    query.ask()
    query.ask()
    assert query.take(b"a\x1b[3;1Rb\x1b[4;1Rc") == b"abc"
    assert told == [(2, 0), (3, 0)] and not query.awaited
