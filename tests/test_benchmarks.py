"""`make bench` with peers that draw in pieces, fail or are missing: a peer costs its own column at most."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import echo, peers
from benchmarks.table import BARE, SYNAPSE, TMUX, Row, render

# As tmux may: only the cells that have changed, each with its position, every second one first.
DRAWS_IN_PIECES = """
import os, pty, select, sys, termios, tty
from synapse.terminal.screen import make_screen
cols, rows = os.get_terminal_size()
tty.setraw(0)
command = sys.argv[sys.argv.index("new-session") + 1]
pid, fd = pty.fork()
if pid == 0:
    termios.tcsetwinsize(0, (rows, cols))
    os.execv("/bin/sh", ["sh", "-c", command])
screen, shown = make_screen(cols, rows), {}
while True:
    ready = select.select([0, fd], [], [])[0]
    if 0 in ready:
        os.write(fd, os.read(0, 4096))
    if fd in ready:
        screen.feed(os.read(fd, 4096))
        lines = [[cell.text or " " for cell in row.cells] for row in screen.rows(0, rows)]
        cells = {(y, x): text for y, line in enumerate(lines) for x, text in enumerate(line)}
        for y, x in sorted(cells, key=lambda place: (place[1] % 2, place)):
            if cells[y, x] != shown.get((y, x), " "):
                os.write(1, f"\\x1b[{y + 1};{x + 1}H\\x1b[m{cells[y, x]}".encode())
        shown = cells
"""
FAILS = "print('missing or unsuitable terminal')\nraise SystemExit(1)\n"
STOPS = "print('to your keys', flush=True)\ninput()\n"
SAYS_NOTHING = "import time\ntime.sleep(600)\n"


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echo, "ROUNDS", 1)
    monkeypatch.setattr(echo, "KEYS", 8)
    monkeypatch.setattr(peers, "_START", 5.0)
    # Ready sooner than after 2 s of silence.
    profile = peers.Place.profile
    idle = "\nidle_detection: {strategy: timeout, timeout: 0.3}"
    monkeypatch.setattr(peers.Place, "profile", lambda self, command: profile(self, command + idle))


def measured(path: Path, monkeypatch: pytest.MonkeyPatch, tmux: str) -> list[Row]:
    """The rows of `echo` where tmux is this program, or none."""
    program = path / "tmux"
    if tmux:
        program.write_text(f"#!{sys.executable}\n{tmux}")
        program.chmod(0o755)
    found, which = str(program) if tmux else None, shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: found if name == TMUX else which(name))
    return echo.run()


def test_a_text_that_is_drawn_in_pieces_is_found(
    brief: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = measured(tmp_path, monkeypatch, DRAWS_IN_PIECES)
    assert rows[0].values[TMUX] and rows[0].met is not None and rows[0].notes == []


@pytest.mark.parametrize(
    ("tmux", "why"),
    [
        (FAILS, "missing or unsuitable terminal"),
        (STOPS, "it ended before"),
        (SAYS_NOTHING, "within 2 s"),
        ("", "it is not installed"),
    ],
)
def test_a_peer_that_fails_costs_its_own_column(
    brief: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmux: str, why: str
) -> None:
    if tmux == SAYS_NOTHING:
        monkeypatch.setattr(peers, "_START", 2.0)
    rows = measured(tmp_path, monkeypatch, tmux)
    assert {BARE, SYNAPSE} <= set(rows[0].values) and TMUX not in rows[0].values
    assert rows[0].met is None, "there is nothing to compare with"
    text = render(rows)
    assert "tmux is left out: " in text and why in text and "(keystroke echo, p50)" in text


def test_without_the_bare_program_there_is_nothing_to_compare() -> None:
    compared = peers.Peers(BARE, SYNAPSE)
    with pytest.raises(RuntimeError), compared.attempt(BARE):
        raise RuntimeError("it does not start")
