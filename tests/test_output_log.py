from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from synapse.output_log import OutputLog


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
