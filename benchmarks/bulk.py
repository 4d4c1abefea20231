"""Bulk output: a large file through `cat`, until the last line has arrived.

Two kinds of file: what the coding agents themselves have written, their recordings over and over, and a log
of coloured lines.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path

from benchmarks.peers import Peers, Place, wait
from benchmarks.proc import cpu_seconds, host_of
from benchmarks.table import BARE, SCRIPT, SYNAPSE, TMUX, Row, median
from benchmarks.terminal import Terminal
from synapse.peers import control
from synapse.registry import Entry

ROUNDS = 5
SIZE = 64_000_000  # at least
MODEL = "synapse, model"
KINDS = {"agents": "bulk output of agents", "log": "bulk output of a log"}
RECORDINGS = Path(__file__).parent.parent / "tests" / "recordings"
_AGENT = """\
echo to your service
while read kind number; do
    cat "$0.$kind"
    echo "that was $kind $number"
done
"""
# Queries are removed, since a terminal would type its answers at our agent. _AFRESH resets the terminal.
_QUERIES = re.compile(
    rb"\x1b\[[?>=]?[0-9;]*(?:[cnuq]|\$p)|\x1b\[1[0-9]t"
    rb"|\x1b\][0-9;]*;\?[^\x07\x1b]*(?:\x07|\x1b\\)|\x1bP[^\x1b]*\x1b\\"
)
_AFRESH = b"\x1b[!p\x1b[?1049l\x1b[m\r\n"


def run() -> list[Row]:
    peers = Peers(BARE, SCRIPT, TMUX, SYNAPSE)
    with Place() as place:
        lines = _write_log(Path(place.path, "agent.log"))
        _write_recordings(Path(place.path, "agent.agents"))
        agent = f"/bin/sh {place.file('agent', _AGENT)}"
        terminals = peers.open(place, agent, "to your service")
        entry = place.ready_agent()
        rows = []
        for kind, figure in KINDS.items():
            megabytes = Path(place.path, f"agent.{kind}").stat().st_size / 1e6
            rates, busy = _measure(kind, megabytes, peers, terminals, entry)
            complete = " replaced: " not in place.log() and (kind != "log" or _is_complete(entry, lines))
            rows += _rows(figure, rates, busy, complete)
    rows[0].notes = peers.notes
    return rows


def _measure(
    kind: str, megabytes: float, peers: Peers, terminals: dict[str, Terminal], entry: Entry
) -> tuple[dict[str, float], float]:
    """MB/s of each peer and of the host's model, and the host's processor time in ms for each MB."""
    host = host_of(int(str(entry["pid"])))
    rates: dict[str, list[float]] = {peer: [] for peer in (*peers, MODEL)}
    busy: list[float] = []
    for turn in range(ROUNDS):
        for peer in peers:
            started, cpu = time.perf_counter(), cpu_seconds(host)
            with peers.attempt(peer):
                terminals[peer].write(b"%s %d\r" % (kind.encode(), turn))
                rates[peer].append(megabytes / (terminals[peer].wait_for(_end(kind, turn)) - started))
            if peer == SYNAPSE:
                _wait_for_model(entry, _end(kind, turn))
                rates[MODEL].append(megabytes / (time.perf_counter() - started))
                busy.append(1000 * (cpu_seconds(host) - cpu) / megabytes)
    return {peer: median(rates[peer]) for peer in (*peers, MODEL)}, median(busy)


def _rows(figure: str, rates: dict[str, float], busy: float, complete: bool) -> list[Row]:
    seen = {peer: rate for peer, rate in rates.items() if peer != MODEL}
    against = {SYNAPSE: rates[SYNAPSE] / rates[TMUX]} if TMUX in rates else {}
    fivefold = against[SYNAPSE] >= 5 if against else None
    return [
        Row(figure, "MB/s", seen, "60 % of bare", rates[SYNAPSE] >= 0.6 * rates[BARE]),
        Row("same", "x tmux", against, "5", fivefold),
        Row("same, seen by the host's model", "MB/s", {SYNAPSE: rates[MODEL]}, "fed in full", complete),
        Row("host, processor time for each MB", "ms", {SYNAPSE: busy}),
    ]


def _end(kind: str, turn: int) -> str:
    return f"that was {kind} {turn}"


def _write_log(path: Path) -> int:
    """Write coloured lines; returns how many."""
    text: list[str] = []
    count = size = 0
    while size < SIZE:
        stamp = f"12:{count // 60 % 60:02}:{count % 60:02}.{count % 1000:03}"
        level = ("\x1b[32mINFO \x1b[0m", "\x1b[33mWARN \x1b[0m", "\x1b[1;31mERROR\x1b[0m")[count % 3]
        message = (
            f"worker-{count % 8} took job {count * 7919 % 100003:x} and has not yet said what came of it"
        )
        line = f"line {count} \x1b[2m{stamp}\x1b[0m {level} {message}\n"
        text.append(line)
        size += len(line)
        count += 1
    path.write_text("".join(text))
    return count


def _write_recordings(path: Path) -> None:
    """Write what the coding agents wrote in the recorded sessions, repeated until it is large enough."""
    once = b""
    for cast in sorted(RECORDINGS.rglob("*.cast.gz")):
        with gzip.open(cast, "rt") as file:
            events = [json.loads(line) for line in file]
        written = "".join(event[2] for event in events if isinstance(event, list) and event[1] == "o")
        once += _QUERIES.sub(b"", written.encode()) + _AFRESH
    path.write_bytes(once * (SIZE // len(once) + 1))


def _wait_for_model(entry: Entry, end: str) -> None:
    def shows() -> bool:
        return end in str(control.call(entry, "GET", "/terminal/screen", timeout=60)["text"])

    wait(shows, "the end of the file in the host's model")


def _is_complete(entry: Entry, lines: int) -> bool:
    """Whether the model has kept the last 1000 lines of the log."""
    contents = control.call(entry, "GET", "/terminal/contents", timeout=60)["lines"]
    assert isinstance(contents, list)
    numbers = [int(line.split()[1]) for line in contents if line.startswith("line ")]
    tail = numbers[-1000:]
    return tail == list(range(lines - len(tail), lines)) and len(tail) == 1000
