from hypothesis import given
from hypothesis import strategies as st

from synapse.terminal.modes import ModeTracker


def tracked(*chunks: bytes) -> ModeTracker:
    tracker = ModeTracker()
    for chunk in chunks:
        tracker.feed(chunk)
    return tracker


def test_a_program_that_cleans_up_leaves_nothing_to_undo() -> None:
    tracker = tracked(b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>7u\x1b[>4;2m\x1b=\x1b[2;10r\x1b[5 q")
    tracker.feed(b"\x1b[<u\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[>4m\x1b>\x1b[r\x1b[0 q")
    assert tracker.undo() == b""


def test_what_is_left_on_is_taken_back_and_can_be_put_on_again() -> None:
    set_up = b"\x1b[?2004h\x1b[?1000;1006h\x1b[?25l\x1b[>1u"
    tracker = tracked(set_up)
    assert tracker.undo() == b"\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[?25h\x1b[<1u"
    assert tracked(tracker.redo()).undo() == tracker.undo()
    tracker.feed(tracker.undo())
    assert tracker.undo() == b""


def test_the_keyboard_stack_of_the_alternate_screen_goes_before_the_screen() -> None:
    tracker = tracked(b"\x1b[>1u\x1b[?1049h\x1b[>7u\x1b[>3u")
    assert tracker.alternate_screen
    assert tracker.undo() == b"\x1b[<2u\x1b[?1049l\x1b[<1u"


def test_resets_forget_everything() -> None:
    for reset in (b"\x1bc", b"\x1b[!p"):
        assert tracked(b"\x1b[?1049h\x1b[?2004h" + reset).undo() == b""


def test_codex_and_claude_openings() -> None:
    codex = tracked(b"\x1b[?2004h\x1b[>4;0m\x1b[>7u\x1b[?1004h\x1b[6n\x1b[?u\x1b[c")
    assert codex.undo() == b"\x1b[?2004l\x1b[?1004l\x1b[<1u"
    assert tracked(b"\x1b7\x1b[r\x1b8\x1b[?25h").undo() == b""


def test_modes_are_known_by_number() -> None:
    tracker = tracked(b"\x1b[?2004h\x1b[?7l")
    assert tracker.is_set(2004) and tracker.is_set(25) and not tracker.is_set(7) and not tracker.is_set(1000)


PIECES = st.sampled_from(
    [
        *(b"\x1b[?%d%c" % (n, c) for n in (1, 7, 25, 1000, 1004, 1049, 2004) for c in b"hl"),
        *(b"\x1b[>%du" % n for n in (1, 7)),
        *(b"\x1b[<u", b"\x1b[=3;1u", b"\x1b[=1;2u", b"\x1b[>4;2m", b"\x1b[>4m", b"\x1b=", b"\x1b>"),
        *(b"\x1b[31;1m", b"\x1b[2;5r", b"\x1b[r", b"\x1b[4 q", b"text", "日本".encode(), b"\x1b]0;t\x07"),
        *(b"\x1b[?2026h\x1b[?2026l", b"\x1b[", b"\x1b", b"\x1b[?", b"\x1bc", b"\x1b[!p"),
    ]
)


@given(st.lists(PIECES, max_size=40), st.data())
def test_any_cut_of_the_stream_is_the_same(pieces: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert tracked(*chunks).undo() == tracked(stream).undo()


@given(st.lists(PIECES, max_size=40))
def test_undo_undoes_and_redo_redoes(pieces: list[bytes]) -> None:
    tracker = tracked(b"".join(pieces) + b" ")
    assert tracked(tracker.redo()).undo() == tracked(tracker.redo(), b"").undo()
    again = tracked(tracker.redo())
    assert set(again.undo().split(b"\x1b")) == set(tracker.undo().split(b"\x1b"))
    again.feed(again.undo())
    assert again.undo() == b""


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    tracked(data).undo()


def test_a_mode_that_is_set_with_every_frame_is_followed_every_time() -> None:
    tracker = tracked(*[b"\x1b[?2026h\x1b[?25lframe\x1b[?25h\x1b[?2026l\x1b[?2004h\x1b[?1049h"] * 3)
    assert sorted(tracker.redo().split(b"\x1b")[1:]) == [b"[?1049h", b"[?2004h"]
    tracker.feed(b"\x1b[?25l\x1b[?2026h\x1b[?1049l")
    assert (tracker.is_set(25), tracker.is_set(2026), tracker.alternate_screen) == (False, True, False)
    tracker.feed(b"\x1b[!p\x1b[?2026h")
    assert (tracker.is_set(25), tracker.is_set(2026), tracker.is_set(2004)) == (True, True, False)
