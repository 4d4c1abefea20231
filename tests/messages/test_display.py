"""The whole way of the overlay, without processes: inbox, display, the relay's layer, a terminal."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from synapse.messages.display import Display
from synapse.messages.inbox import Answer, HandOver
from synapse.relay import wire
from synapse.relay.overlay_layer import OverlayLayer
from synapse.terminal.ghostty import GhosttyScreen
from tests.support.overlay_world import CHORD, World, note_over, sent
from tests.support.replaying import cases, load, pieces
from tests.support.screen_state import assert_same, state

REPLY = (
    "# Result\n\nThe *retry* loop is **fine**.\n\n"
    "```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 漢字 | 2 |\n"
)


def test_a_message_on_its_way_is_told_until_the_reply_is_read() -> None:
    world = World()
    world.output(b"$ agent\r\n" * 10)
    sent(world)
    assert "→ codex: sending" in world.shown()
    world.inbox.progress("1", "working")
    world.display.changed()
    world.pass_time(12.2)
    assert "→ codex: working 12 s" in world.shown()
    world.inbox.asks("1", "Which file?")
    world.display.changed()
    world.pass_time(0.3)
    assert "? codex: asks" in world.shown() and "Which file?" in world.shown()
    world.type(b"\x1do")
    world.pass_time(0.3)
    assert "codex · asks" in world.shown()
    world.type(b"amain.py\r")
    world.pass_time(0.3)
    assert world.actions == [Answer("1", "main.py")]
    world.inbox.reply("1", REPLY)
    world.display.changed()
    world.pass_time(0.3)
    assert "The retry loop is fine." in world.shown() and "漢字 │ 2" in world.shown()
    world.type(b"q")
    world.pass_time(0.3)
    assert_same(world.terminal, world.model, scrollback=True)
    assert world.agent == b""
    world.type(b"ok")
    assert world.agent == b"ok"


def test_a_reply_is_handed_over_and_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    sent(world)
    world.inbox.reply("1", REPLY)
    world.display.changed()
    clipboard: list[bytes] = []
    feed = world.terminal.feed

    def watched(data: bytes) -> None:
        clipboard.append(data)
        feed(data)

    monkeypatch.setattr(world.terminal, "feed", watched)
    world.type(b"\x1doc")
    world.pass_time(0.5)
    assert b"\x1b]52;c;" in b"".join(clipboard)
    assert b"".join(clipboard).count(b"\x1b]52;c;") == 1
    world.type(b"i")
    world.pass_time(0.5)
    assert world.actions == [HandOver("1", REPLY)]
    assert not world.layer.focused
    assert_same(world.terminal, world.model)


def test_a_toast_ends_by_itself() -> None:
    world = World()
    sent(world)
    world.inbox.failed("1", "nobody is there")
    world.display.changed()
    world.pass_time(1.0)
    assert "codex: failed" in world.shown()
    world.pass_time(30.0)
    assert_same(world.terminal, world.model)


def test_under_steady_output_it_is_drawn_again_every_three_milliseconds_at_most() -> None:
    world = World()
    sent(world)
    before = world.drawings
    for _ in range(1000):
        world.output(b"x")
        world.pass_time(0.001)
    assert 200 <= world.drawings - before <= 340


def with_a_panel() -> World:
    """Over a screen that is full."""
    world = World()
    world.output(b"".join(b"line %d of the agent's text, rather long\r\n" % n for n in range(60)))
    sent(world)
    world.type(b"\x1do")
    world.pass_time(0.3)
    return world


def test_what_was_drawn_is_mended_after_a_resize() -> None:
    world = with_a_panel()
    for size in ((60, 20), (100, 30), (19, 5), (80, 24)):
        world.resize(*size)
        world.pass_time(0.1)
        assert ("╭─ codex" if size[0] > 19 else "too small") in world.shown()
        world.pass_time(1.0)
        world.type(b"q")
        world.pass_time(2.0)
        world.lift()
        shown, meant = state(world.terminal), state(world.model)
        assert [row.cells for row in shown["rows"]] == [row.cells for row in meant["rows"]]
        assert shown["cursor"] == meant["cursor"]
        world.output(b"more")
        world.pass_time(1.0)
        world.type(b"\x1do")
        world.pass_time(0.3)


def test_the_panel_is_there_while_a_window_is_dragged_and_output_comes() -> None:
    world = with_a_panel()
    for cols in range(79, 39, -3):
        world.resize(cols, 24)
        world.output(b"at %d columns\r\n" % cols)
        world.pass_time(0.06)
        assert "╭─ codex" in world.shown() and world.terminal.alternate_screen
    world.type(b"q")
    world.pass_time(2.0)
    world.lift()
    assert not world.terminal.alternate_screen
    shown, meant = state(world.terminal), state(world.model)
    assert [row.cells for row in shown["rows"]] == [row.cells for row in meant["rows"]]


def test_a_size_that_was_another_for_a_moment() -> None:
    """The terminal has reflowed a panel and gone back before anybody looked."""
    world = with_a_panel()
    for size in ((60, 12), (80, 24)):
        world.terminal.resize(*size)
    world.resize(80, 24)
    world.pass_time(1.0)
    assert "╭─" in world.shown()
    world.type(b"q")
    world.pass_time(40.0)
    shown, meant = state(world.terminal), state(world.model)
    assert [row.cells for row in shown["rows"]] == [row.cells for row in meant["rows"]]


def test_what_was_taken_away_from_a_terminal_of_another_size_is_mended() -> None:
    world = World()
    world.output(b"\r\n".join(b"%d " % n + b"words " * 12 for n in range(60)))
    sent(world)
    world.terminal.resize(60, 20)
    world.output(b"more\r\n")  # and with it what takes the toast away, made for 80 columns
    world.resize(60, 20)
    world.pass_time(30.0)
    shown, meant = state(world.terminal), state(world.model)
    assert [row.cells for row in shown["rows"]] == [row.cells for row in meant["rows"]]


def test_a_young_model_draws_nothing_over_what_it_has_not_seen() -> None:
    world = World(young=True)
    world.output(b"half a screen\r\n")
    sent(world)
    assert world.drawings == 0
    world.output(b"\x1b[?1049hfull screen")
    world.pass_time(0.3)
    assert world.drawings == 1
    world.output(b"\x1b[?1049l")
    world.pass_time(0.3)
    assert world.drawings == 1
    world.output(b"\r\n" * 60)
    world.pass_time(0.3)
    assert world.drawings > 1


@pytest.mark.parametrize(("size", "young", "shows"), [((80, 24), True, "╭─"), ((15, 3), False, "too small")])
def test_where_nothing_can_be_drawn_over_the_agent_the_panel_is_on_the_alternate_screen(
    size: tuple[int, int], young: bool, shows: str
) -> None:
    world = World(size, young=young)
    world.output(b"half\r\n\x1b[1;31mscreen")
    sent(world)
    world.type(b"\x1do")
    world.pass_time(0.3)
    assert shows in world.shown() and world.terminal.alternate_screen
    world.output(b" more\r\n")
    world.type(b"j")
    world.pass_time(0.3)
    assert shows in world.shown() and "more" not in world.shown()
    world.type(b"q")
    world.pass_time(0.3)
    assert_same(world.terminal, world.model, scrollback=True)
    world.type(b"hello")
    assert world.agent == b"hello"


class Replaced(World):
    """A new host in front of a program on the alternate screen, of which it has seen only the last output."""

    def __init__(self) -> None:
        super().__init__()
        for screen in (self.terminal, self.model):
            screen.feed(b"\x1b[?1049h")
        self.terminal.feed(b"".join(b"\x1b[%d;1Hnever seen %d" % (row, row) for row in range(1, 25)))
        self.display = Display(
            *(self.inbox, self.model, lambda: self.written_host, self.to_relay.append, self._later),
            *(self.actions.append, lambda: self.now, True),
        )


def test_a_program_that_has_written_all_of_the_alternate_screen_since_the_host_began() -> None:
    """It does not clear the screen first, and does not repaint when asked to."""
    world = Replaced()
    lines = [b"\x1b[%d;1Hrow %d " % (row, row) + b"x" * 71 + b"\x1b[K" for row in range(1, 25)]
    world.output(b"".join(lines[:-1]))
    sent(world)
    assert world.drawings == 0
    world.output(lines[-1].ljust(90, b"y") + b"\x1b[3;4H")
    world.pass_time(0.3)
    assert "codex: sending" in world.shown()
    world.type(b"\x1do")
    world.pass_time(0.3)
    assert "╭─ codex" in world.shown()
    world.type(b"q")
    world.pass_time(0.3)
    world.lift()
    assert_same(world.terminal, world.model)


def test_what_was_written_elsewhere_is_not_restored_there() -> None:
    """The cursor of the terminal is in another row than the new host supposes."""
    world = Replaced()
    world.terminal.feed(b"\x1b[5;1H")
    world.output(b"".join(b"\rline " + b"x" * 74 + b"\x1b[B" for row in range(23)) + b"\x1b[2A")
    before = world.shown()
    sent(world)
    world.pass_time(3.0)
    assert world.shown() == before


def test_where_nothing_can_be_drawn_the_chord_rings_the_bell() -> None:
    world = Replaced()
    world.output(b"\x1b[3;4Hspinner")
    sent(world)
    before, written = world.shown(), []
    show = world.show

    def note(data: bytes) -> None:
        written.append(data)
        show(data)

    world.show = note  # type: ignore[method-assign]
    world.type(b"\x1do")
    world.pass_time(3.0)
    assert b"".join(written).startswith(b"\x07\x1b]9;Synapse cannot draw over this program")
    world.type(b"x")
    assert world.agent == b"x" and world.shown() == before
    world.output(b"\x1b[3;4Hmore")
    world.pass_time(1.0)
    assert b"".join(written).count(b"Synapse cannot") == 1


def test_output_behind_the_panel_on_the_alternate_screen_is_bounded() -> None:
    world = World(young=True)
    sent(world)
    world.type(b"\x1do")
    world.pass_time(0.3)
    assert world.terminal.alternate_screen
    for number in range(300):
        world.output(b"%d " % number + b"x" * 4096 + b"\r\n")
        assert world.layer.waiting <= 1024 * 1024
    world.lift()
    world.settle()
    assert_same(world.terminal, world.model, scrollback=True)


def test_the_chord_shows_a_panel_when_nothing_has_come_yet() -> None:
    world = World()
    world.output(b"$ agent\r\n")
    world.type(b"\x1d\x1b[111;;111u")  # as kitty writes the key with its text
    world.pass_time(0.3)
    assert "nothing has come in yet" in world.shown()
    world.type(b"qx")
    world.pass_time(0.3)
    assert world.agent == b"x"
    assert_same(world.terminal, world.model)


@pytest.mark.parametrize("case", cases()[::4], ids=lambda p: f"{p.parent.name}-{p.name}")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_recorded_session_with_messages_coming_in_all_the_time(case: Path, seed: int) -> None:
    size, events = load(case)
    rng = random.Random(seed)
    world = World(size)
    names = [str(n) for n in range(4)]
    todo = pieces(rng, [event for event in events if event[0] == "o"])
    often = max(0.05, 30 / len(todo))
    world.inbox.sending("0", "codex", "do it")
    for _, data in todo:
        world.output(data)
        for _ in range(rng.randint(0, 3)):
            if world.to_host and rng.random() < 0.7:
                world.host_turn()
            if world.to_relay and rng.random() < 0.7:
                world.relay_turn()
        if rng.random() < often:
            world.pass_time(rng.choice((0.001, 0.01, 0.3, 2.0)))
        if rng.random() < often:
            name = rng.choice(names)
            step = rng.randrange(4)
            if step == 0:
                world.inbox.sending(name, "codex", "do it")
            elif step == 1:
                world.inbox.progress(name, "working")
            elif step == 2:
                world.inbox.asks(name, "Which of them?")
            else:
                world.inbox.reply(name, REPLY * 3)
            world.display.changed()
        if rng.random() < often:
            world.type(rng.choice((b"\x1do", b"j", b"\x1b[6~", b"q", b"n")))
    world.pass_time(0.01)
    world.lift()
    assert world.drawings > 3
    assert_same(world.terminal, world.model, scrollback=True)


@pytest.mark.parametrize("case", cases(), ids=lambda p: f"{p.parent.name}-{p.name}")
def test_a_note_over_a_recording_is_seen_nearly_all_the_time(case: Path) -> None:
    with gzip.open(case / "session.cast.gz", "rt") as file:
        head, *events = [json.loads(line) for line in file]
    world = World((head["width"], head["height"]))
    share, switches = note_over(world, [(at, data.encode()) for at, kind, data in events if kind == "o"])
    assert share >= 0.95 and switches <= 2
    world.lift()
    assert_same(world.terminal, world.model)


@pytest.mark.parametrize("every", [1 / 30, 0.012, 0.001])
@pytest.mark.parametrize(
    "marks", [(b"", b""), (b"\x1b[?2026h", b"\x1b[?2026l"), (b"\x1b[?2026h", b"\x1b[?2026l\x1b[20;9H")]
)
def test_a_note_stays_while_the_agent_repaints(every: float, marks: tuple[bytes, bytes]) -> None:
    """Also if a frame ends before its last bytes, which move the cursor."""
    lines = b"".join(b"\x1b[%d;1H\x1b[2Ka line of the frame " % row + b"text " * 9 for row in range(1, 20))
    frames = [(n * every, marks[0] + lines + b"%d" % n + marks[1]) for n in range(int(1 / every))]
    world = World()
    share, switches = note_over(world, frames)
    assert share == pytest.approx(1.0) and switches == 0.0
    world.lift()
    assert_same(world.terminal, world.model)


@pytest.mark.parametrize("marks", [(b"", b""), (b"\x1b[?2026h", b"\x1b[?2026l")])
def test_after_a_drawing_that_came_too_late_the_next_frame_has_one(marks: tuple[bytes, bytes]) -> None:
    """It does not wait for a pause in the output."""
    world = World()
    sent(world)
    lines = b"".join(b"\x1b[%d;1H\x1b[2Kframe" % row for row in range(1, 25))
    seen = []
    for number in range(20):
        world.stalled = number % 5 == 0
        world.output(marks[0] + lines + b"%d" % number + marks[1])
        world.pass_time(0.005)
        seen.append("codex: sending" in world.shown())
        world.pass_time(0.0025)
        if world.stalled:
            assert "codex: sending" not in world.shown() and f"frame{number}" in world.shown()
    assert seen == [True] * 20  # until the output is released, the frame before it is shown
    world.stalled = False
    world.lift()
    assert_same(world.terminal, world.model)


def test_output_does_not_wait_for_a_host_that_draws_nothing_more() -> None:
    world = World()
    sent(world)
    world.stalled = True
    for _ in range(100):
        world.output(b"x")
        world.pass_time(0.01)
    assert world.shown().count("x") and not world.layer.waiting
    world.output(b"the last")
    assert "the last" in world.shown()


def test_a_frame_that_waits_in_vain_is_not_shown_before_its_end() -> None:
    world = World()
    sent(world)
    world.stalled = True
    pictures: list[bool] = []
    world.on_view = lambda: pictures.append("codex: sending" in world.shown())
    world.output(b"\x1b[?2026h\x1b[H\x1b[2Khalf")
    world.pass_time(0.01)
    assert "half" in world.shown() and pictures == []
    world.stalled = False
    world.output(b" whole\x1b[?2026l")
    world.pass_time(0.005)
    assert pictures and all(pictures)


def test_without_an_answer_of_the_host_output_comes_within_eight_milliseconds() -> None:
    world = World()
    sent(world)
    assert world.layer.wait(b"late", world.now)
    assert world.layer.due == pytest.approx(world.now + 0.007)  # and 1 ms for the timer and the write
    assert world.layer.remove().endswith(b"late") and world.layer.due is None


def test_a_note_that_was_up_leaves_nothing_when_the_window_gets_narrower() -> None:
    """The agent began below a shell's prompt; the terminal wraps the row with the note."""
    world = World()
    shell = b"".join(b"shell %d\r\n" % n for n in range(5))
    world.terminal.feed(shell)
    world.display._placement._known[False] = False
    words = b"words that fill a line of eighty columns and go on in the next one, as a reply does"
    world.output(b"agent\r\n" + words + b"\r\nshort\r\n> ")
    sent(world)
    assert "codex: sending" in world.shown()
    world.resize(60, 24)
    world.pass_time(2.0)
    assert "codex: sending" in world.shown()
    world.type(b"\x1do")
    world.pass_time(0.5)
    assert "╭─ codex" in world.shown()
    world.type(b"q")
    world.pass_time(40.0)
    lines = world.shown().split("\n")
    assert lines[:6] == ["shell 0", "shell 1", "shell 2", "shell 3", "shell 4", "agent"]
    assert lines[6:] == [words.decode()[:60], words.decode()[60:], "short", ">"]


@pytest.mark.parametrize("at_the_bottom", [False, True])
def test_where_emoji_wrap_a_line_that_the_terminal_does_not_wrap_nothing_is_drawn_over_it(
    at_the_bottom: bool,
) -> None:
    """tmux gives a family two columns, other terminals up to eight. The rows of the model are not the
    terminal's rows then, until these lines are gone."""
    world = World()
    world.terminal.feed(b"\x1b[?2027h")
    world.output(b"above\r\n" * (20 if at_the_bottom else 2))
    world.output(("words " * 10 + "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 4 + " end\r\n> ").encode())
    before = world.shown()
    sent(world)
    world.type(b"\x1do")
    world.pass_time(0.5)
    assert "╭─ codex" in world.shown() and world.terminal.alternate_screen
    world.type(b"q")
    world.pass_time(5.0)
    assert world.shown() == before
    world.output(b"\r\n" * 60)
    sent(world, "2")
    assert "codex: sending" in world.shown()


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize("above", [2, 40])
@pytest.mark.parametrize("clusters", [False, True])
def test_below_a_line_with_emoji_that_wraps_notes_are_drawn_if_the_cursor_is_where_it_is_in_the_model(
    above: int, clusters: bool
) -> None:
    """On a full screen the rows above such a line are moved in the terminal, but not those below it."""
    world = World()
    if clusters:
        world.terminal.feed(b"\x1b[?2027h")
    emoji = ("words " * 10 + FAMILY * 4 + " end\r\n").encode()
    world.output(b"above\r\n" * above + emoji + b"below it\r\n" * 12 + b"> ")
    before = world.shown()
    sent(world)
    agrees = above == 40 or not clusters
    assert ("codex: sending" in world.shown()) == agrees
    lines, now = before.split("\n"), world.shown().split("\n")
    first = next(y for y, line in enumerate(lines) if "below" in line)
    assert now[:first] == lines[:first]
    world.output(b"typed")  # no emoji in it: the place stays known
    world.pass_time(0.02)
    assert ("codex: sending" in world.shown()) == agrees
    world.lift()
    assert world.shown() == before + "typed" or world.shown() == before + " typed"


@pytest.mark.parametrize("up", [3, 12, 14])
def test_a_line_with_emoji_that_is_written_again_makes_the_place_unknown(up: int) -> None:
    world = World()
    world.terminal.feed(b"\x1b[?2027h")
    emoji = ("words " * 10 + FAMILY * 4 + " end\r\n").encode()
    world.output(b"above\r\n" * 40 + emoji + b"below it\r\n" * 12 + b"> ")
    sent(world)
    assert "codex: sending" in world.shown()
    bare = GhosttyScreen(80, 24)
    bare.feed(b"\x1b[?2027h" + b"above\r\n" * 40 + emoji + b"below it\r\n" * 12 + b"> ")
    again = b"\r\x1b[%dA\x1b[J" % up + emoji + b"new\r\n" * 5 + b"> "
    for piece in (again[:70], again[70:90], again[90:]):
        world.output(piece)
        world.pass_time(0.002)
    bare.feed(again)
    world.pass_time(3.0)
    world.lift()
    assert world.shown() == bare.text()


def test_the_layer_refuses_what_is_stale_and_tells_so() -> None:
    told: list[bytes] = []
    layer = OverlayLayer(CHORD, told.append)
    header = {"id": 7, "at": 10, "cols": 80, "rows": 24, "resumes": 0, "over": 0, "sync": 1}
    payload = wire.pack_overlay(header, b"draw", b"erase")[5:]
    assert layer.show(payload, 11, (80, 24), None) == b""
    assert layer.show(payload, 10, (81, 24), None) == b""
    assert layer.show(payload, 10, (80, 24), "busy") == b""
    assert layer.show(payload, 10, (80, 24), None) == b"\x1b[?2026hdraw\x1b[?2026l"
    outcomes = [json.loads(p)["outcome"] for frame in told for _, p in wire.Unpacker().feed(frame)]
    assert outcomes == ["stale", "stale", "busy", "shown"]
    again = wire.pack_overlay({**header, "id": 8}, b"draw2", b"erase2")[5:]
    assert layer.show(again, 10, (80, 24), None) == b"\x1b[?2026herasedraw2\x1b[?2026l"
    over = wire.pack_overlay({**header, "id": 9, "over": 8, "sync": 0}, b"draw3", b"erase3")[5:]
    assert layer.show(over, 10, (80, 24), None) == b"draw3"
    assert layer.remove() == b"erase3"
    assert layer.remove() == b""


def test_no_key_is_the_overlays_before_the_chord_and_after_the_host() -> None:
    told: list[bytes] = []
    layer = OverlayLayer(CHORD, told.append)
    every = bytes(range(256)) + b"\x1do\x1b[200~x\x1b[201~"
    assert layer.take(every) == every
    layer.host_came()
    assert layer.take(b"ab\x1d") == b"ab"
    assert layer.take(b"x") == b"\x1dx"
    assert layer.take(b"a\x1dojk\x1b[I\x1b[12;4Rq\x1b[<65;3;4M") == b"a\x1b[I\x1b[12;4R"
    assert layer.focused
    assert layer.take(b"\x1b]11;rgb:00/0") == b""
    assert layer.take(b"0/00\x07j") == b"\x1b]11;rgb:00/00/00\x07"
    frames = [f for data in told for f in wire.Unpacker().feed(data)]
    assert frames == [
        (wire.OVERLAY_FOCUS, b"true"),
        (wire.OVERLAY_KEYS, b"jkq\x1b[<65;3;4M"),
        (wire.OVERLAY_KEYS, b"j"),
    ]
    layer.host_gone()
    assert layer.take(b"\x1doj") == b"\x1doj"


def test_the_chord_again_takes_the_focus_back_whatever_the_host_does() -> None:
    layer = OverlayLayer(CHORD, lambda _: None)
    layer.host_came()
    assert layer.take(b"\x1do") == b""
    assert layer.take(b"zz\x1dohello") == b"hello"
    assert not layer.focused
