import sys
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from synapse.host.output_log import OutputLog
from tests.support.home import Home, wait


def test_lines_are_written_once_when_they_have_settled(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    assert log.look(["one", "two", "> "], 2)
    assert not path.exists()
    assert not log.look(["one", "two", "> "], 2)
    assert path.read_text() == "one\ntwo\n"
    log.look(["one", "two", "three", "> "], 3)
    log.look(["one", "two", "three", "> "], 3)
    assert path.read_text() == "one\ntwo\nthree\n"
    log.end(["one", "two", "three", "bye"])
    assert path.read_text() == "one\ntwo\nthree\nbye\n"


def test_a_spinner_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    for frame in ("⠋", "⠙", "⠹"):
        log.look(["answer", f"{frame} working"], 2)
    assert path.read_text() == "answer\n"


def test_a_cleared_screen_goes_on_below(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    for _ in range(2):
        log.look(["one", "two", ""], 2)
    for _ in range(2):
        log.look(["new", ""], 1)
    assert path.read_text() == "one\ntwo\nnew\n"


@given(st.integers(20, 80), st.integers(1, 30))
def test_lines_leaving_the_scrollback_are_not_written_again(total: int, step: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.out"
        log = OutputLog(str(path))
        lines = [f"line {number}" for number in range(total)]
        for end in [*range(step, total, step), total]:
            kept = lines[:end][-40:]
            log.look(kept, len(kept))
            log.look(kept, len(kept))
        assert path.read_text().split() == " ".join(lines).split()


def test_lines_that_scrolled_out_before_they_settled_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    lines = [f"line {number}" for number in range(100)]
    log.look(lines[:40], 40)
    log.look(lines[30:70], 40)
    log.look(lines[60:100], 40)
    log.end(lines[60:100])
    assert path.read_text().split("\n") == [*lines, ""]


def test_what_the_scrollback_did_not_keep_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    log.look(["one", "two", "> "], 2)
    log.feed(b"a line that is gone\r\n" * 60_000, 80)
    assert log.is_filling
    rest = [f"line {number}" for number in range(9000)]
    log.look(rest, 9000)
    log.end(rest)
    assert path.read_text().split("\n") == ["one", "two", "… 51000 lines not kept", *rest, ""]


def test_lines_that_are_all_alike_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    for _ in range(5):
        log.feed(b"y\r\n" * 30, 80)
        log.look([*["y"] * 40, ""][-41:], 40)
    log.end(["y"] * 40)
    assert 150 <= path.read_text().count("y\n") <= 161


def test_a_full_repaint_and_a_clear_are_no_loss(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    log = OutputLog(str(path))
    log.look(["one", "two", ""], 2)
    log.feed(b"\x1b[2J\x1b[3J\x1b[H" + b"row\r\n" * 300, 80)
    for _ in range(2):
        log.look(["new", ""], 1)
    assert path.read_text() == "new\n"


def test_a_burst_is_kept_and_a_longer_one_says_what_is_missing(home: Home) -> None:
    program = home.path / "burst.py"
    program.write_text(
        "import sys\nfor line in sys.stdin:\n"
        "    print('\\n'.join(f'line {n} ' + 'x' * 60 for n in range(int(line))))"
    )
    home.profile("burst", f"command: ['{sys.executable}', '{program}']")
    home.run("start", "burst")
    path = home.path / "synapse" / "logs" / "burst.out"
    home.run("keys", "burst", "20000", "Enter")
    last = "line 19999 " + "x" * 60
    wait(lambda: path.exists() and last in path.read_text(), "the end of the burst in the log")
    kept = [line.split()[1] for line in path.read_text().split("\n") if line.startswith("line ")]
    assert kept == [str(number) for number in range(20000)]
    home.run("keys", "burst", "500000", "Enter")
    wait(lambda: "line 499999" in home.run("screen", "burst").stdout, "the end of the long burst")
    home.run("stop", "burst")
    files = sorted(path.parent.glob("burst.out*"), reverse=True)  # the older one has the suffix .1
    lines = "".join(file.read_text() for file in files).split("\n")
    numbers = [int(line.split()[1]) if line.startswith("line ") else None for line in lines if "line" in line]
    # A host that kept up has written all; otherwise each gap has its note.
    assert all(b == a + 1 or b == 0 for a, b in pairwise(numbers) if a is not None and b is not None)
    assert numbers[-1] == 499999
