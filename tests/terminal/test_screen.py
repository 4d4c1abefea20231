"""Both emulators on the bytes of the real CLIs."""

from __future__ import annotations

import gzip
import json
import marshal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synapse.terminal.avt import AvtScreen
from synapse.terminal.ghostty import GhosttyScreen
from synapse.terminal.screen import Cell, Screen, make_screen
from synapse.terminal.styles import style_of
from tests.support.home import Home, wait

RECORDINGS = sorted(Path(__file__).parents[1].glob("recordings/*/*/session.cast.gz"))
Maker = Callable[[int, int], Screen]
both = pytest.mark.parametrize("make", [GhosttyScreen, AvtScreen])


def events(path: Path) -> tuple[int, int, list[tuple[str, str]]]:
    with gzip.open(path, "rt") as file:
        head, *rest = [json.loads(line) for line in file]
    return head["width"], head["height"], [(event[1], event[2]) for event in rest]


def replay(screen: Screen, steps: list[tuple[str, str]]) -> None:
    for kind, data in steps:
        if kind == "o":
            screen.feed(data.encode())
        elif kind == "r":
            cols, _, rows = data.partition("x")
            screen.resize(int(cols), int(rows))


VARIATION = "\ufe0e"  # the character before it is drawn as text, not as an emoji


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_a_snapshot_taken_at_any_moment_restores_the_screen(path: Path) -> None:
    cols, rows, steps = events(path)
    cuts = sorted({len(steps) * part // 4 for part in range(1, 5)})
    screen = GhosttyScreen(cols, rows)
    done = 0
    for cut in cuts:
        replay(screen, steps[done:cut])
        done = cut
        copy = GhosttyScreen(*screen.size)
        copy.feed(screen.snapshot())
        assert copy.text() == screen.text()
        assert copy.alternate_screen == screen.alternate_screen
        assert copy.cursor_visible == screen.cursor_visible
        for mode in (1, 7, 1000, 1002, 1003, 1004, 1006, 2004):
            assert copy.mode(mode) == screen.mode(mode), mode
        if not screen.alternate_screen:
            assert copy.contents() == screen.contents()
        assert copy.cursor == screen.cursor


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_the_two_emulators_agree(path: Path) -> None:
    cols, rows, steps = events(path)
    if any(kind == "r" for kind, _ in steps):
        return  # they reflow differently; the snapshot test covers these
    if any(VARIATION in data for _, data in steps):
        return  # in avt it has a cell of its own
    one, other = GhosttyScreen(cols, rows), AvtScreen(cols, rows)
    replay(one, steps)
    replay(other, steps)
    assert one.text().rstrip() == other.text().rstrip()
    assert one.title == other.title
    assert one.alternate_screen == other.alternate_screen


@both
def test_text_contents_cursor_title_and_modes(make: Maker) -> None:
    screen = make(20, 3)
    screen.feed("one\r\ntwo\r\n日本\r\n\x1b[1mfour\x1b[0m\x1b]0;my ti".encode())
    screen.feed(b"tle\x07\x1b[?2004h\x1b[?25l")
    assert screen.text() == "two\n日本\nfour"
    assert screen.contents() == "one\ntwo\n日本\nfour"
    assert screen.cursor == (4, 2)
    assert screen.title == "my title"
    assert screen.mode(2004) and not screen.mode(1000)
    assert not screen.cursor_visible and not screen.alternate_screen
    assert "\x1b[" in screen.ansi() and "four" in screen.ansi()
    screen.feed(b"\x1b[?1049h")
    assert screen.alternate_screen


@both
def test_wrapped_lines_are_one_line_of_the_contents(make: Maker) -> None:
    screen = make(10, 3)
    screen.feed(b"0123456789abcdefghijKLM")
    assert screen.contents() == "0123456789abcdefghijKLM"
    assert screen.text() == "0123456789\nabcdefghij\nKLM"


@both
def test_queries_are_answered_only_when_asked_to(make: Maker) -> None:
    screen = make(80, 24)
    answers: list[bytes] = []
    screen.feed(b"\x1b[c\x1b[6n")
    screen.on_reply(answers.append)
    screen.feed(b"ab\x1b[c\x1b[6n\x1b[5n\x1b[>c\x1b[?u\x1b[>q")
    assert len(answers) == 6
    assert answers[0].startswith(b"\x1b[?62") and answers[1] == b"\x1b[1;3R"
    screen.on_reply(None)
    screen.feed(b"\x1b[c")
    assert len(answers) == 6


@both
def test_ten_thousand_lines_of_scrollback_are_kept(make: Maker) -> None:
    screen = make(80, 24)
    screen.feed(b"".join(b"line %d\r\n" % number for number in range(9000)))
    assert screen.contents().split("\n")[0] in ("line 0", "line 1")
    assert screen.contents(last_rows=100) == "\n".join(f"line {number}" for number in range(8901, 9000))


@both
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([b"\x1b[", b"\x1b]0;", b"\x1bP", b"\xe6"])))
)
def test_no_bytes_and_no_size_make_it_fail(make: Maker, chunks: list[bytes]) -> None:
    screen = make(10, 4)
    for index, chunk in enumerate(chunks):
        screen.feed(chunk)
        if index % 5 == 0:
            screen.resize(index % 7, index % 3)
        screen.text()
    screen.contents(), screen.ansi(), screen.snapshot(), screen.cursor, screen.title


def test_the_emulator_where_there_is_no_libghostty() -> None:
    """As on a platform without a build of it: nothing of it is installed."""
    program = (
        "import sys; sys.modules['pyghostty'] = None\n"
        "from synapse.terminal.screen import make_screen\n"
        "screen = make_screen(20, 5); screen.feed(b'hello'); print(screen.name, screen.text())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("avt hello\n", "")


def test_an_agent_without_libghostty(home: Home) -> None:
    home.env["SYNAPSE_SCREEN"] = "avt"
    home.run("start", "dummy", "--name", "a", "--", "--tui")
    assert home.run("send", "a", "--return", "say 日本").stdout == "日本\n"
    assert "日本" in home.run("screen", "a").stdout
    assert "composer: empty" in home.run("why", "a").stdout
    home.run("keys", "a", "a draft")
    wait(lambda: "composer: draft: 'a draft'" in home.run("why", "a").stdout, "the draft to be seen")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: f"{p.parent.parent.name}-{p.parent.name}")
def test_both_read_the_same_cells(path: Path) -> None:
    """Text, widths, styles and which rows go on below. They differ in how they wrap again after a resize."""
    cols, rows, steps = events(path)
    if any(kind == "r" for kind, _ in steps):
        pytest.skip("has a resize")
    if any(VARIATION in data for _, data in steps):
        pytest.skip("avt gives a variation selector a cell of its own")
    one, other = GhosttyScreen(cols, rows), AvtScreen(cols, rows)
    for part in range(4):
        for screen in (one, other):
            replay(screen, steps[len(steps) * part // 4 : len(steps) * (part + 1) // 4])
        for left, right in zip(one.rows(0, rows), other.rows(0, rows), strict=True):
            assert list(map(look, left.cells)) == list(map(look, right.cells))
            assert left.wrapped == right.wrapped


def look(cell: Cell) -> object:
    style = style_of(cell.sgr)._replace(bold=False)  # avt has bold or faint, ghostty both at once
    return (cell.text, cell.width, style) if cell.text.strip() else style.background


def test_the_emulator_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("avt", "ghostty"):
        monkeypatch.setenv("SYNAPSE_SCREEN", name)
        assert make_screen(10, 5).name == name


class TestDeclarations:
    """Those of libghostty-vt, which nobody should have to wait for twice."""

    @pytest.mark.parametrize("kept", ["nothing", "the same", "others", "rubbish"])
    def test_cffi_reads_them_once(self, tmp_path: Path, kept: str) -> None:
        program = (
            "import marshal, sys, synapse.terminal as terminal\n"
            "from importlib import util\n"
            f"cache = {str(tmp_path / 'abi')!r}\n"
            "spec = util.find_spec('synapse.terminal.ghostty_ffi')\n"
            "code = open(spec.origin).read().replace('_CACHE = ', f'_CACHE = {cache!r} or ')\n"
            "module = util.module_from_spec(spec); sys.modules[spec.name] = module\n"
            "exec(compile(code, spec.origin, 'exec'), module.__dict__)\n"
            "from synapse.terminal.ghostty import GhosttyScreen\n"
            "screen = GhosttyScreen(20, 5); screen.feed(b'\\x1b]2;title\\x07hello')\n"
            "print(screen.text().strip(), screen.title, screen.cursor, 'cffi' in sys.modules)\n"
        )

        def run() -> str:
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            return done.stdout + done.stderr

        cache = tmp_path / "abi"
        if kept == "the same":
            run()
        elif kept == "others":
            cache.write_bytes(marshal.dumps(([1], {})))
        elif kept == "rubbish":
            cache.write_bytes(b"\xff\x00")
        assert run() == f"hello title (5, 0) {kept != 'the same'}\n"
        assert run() == "hello title (5, 0) False\n"
        assert [path.name for path in tmp_path.iterdir()] == ["abi"]
