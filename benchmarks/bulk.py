"""Bulk output: a large file of coloured lines through `cat`, until the last line has arrived."""

from __future__ import annotations

import time

from benchmarks.peers import Place, available, wait
from benchmarks.proc import cpu_seconds, host_of
from benchmarks.table import BARE, SCRIPT, SYNAPSE, TMUX, Row, median
from benchmarks.terminal import Terminal
from synapse import control
from synapse.registry import Entry

ROUNDS = 5
SIZE = 64_000_000  # at least
MODEL = "synapse, model"
_AGENT = """\
echo to your service
while read number; do
    cat "$0.txt"
    echo "that was number $number"
done
"""


def run() -> list[Row]:
    peers = available(BARE, SCRIPT, TMUX, SYNAPSE)
    with Place() as place:
        lines, megabytes = _write_lines(place)
        agent = f"/bin/sh {place.file('agent', _AGENT)}"
        terminals = {peer: place.open(peer, agent) for peer in peers}
        for terminal in terminals.values():
            terminal.wait_for(b"to your service")
        entry = place.ready_agent()
        host = host_of(int(str(entry["pid"])))
        rates: dict[str, list[float]] = {peer: [] for peer in [*peers, MODEL]}
        busy: list[float] = []
        for turn in range(ROUNDS):
            for peer, terminal in terminals.items():
                started, cpu = time.perf_counter(), cpu_seconds(host)
                rates[peer].append(megabytes / (_ask(terminal, turn) - started))
                if peer == SYNAPSE:
                    _wait_for_model(entry, turn)
                    rates[MODEL].append(megabytes / (time.perf_counter() - started))
                    busy.append(1000 * (cpu_seconds(host) - cpu) / megabytes)
        complete = _is_complete(entry, lines) and " replaced: " not in place.log()
    result = {peer: median(values) for peer, values in rates.items()}
    return [
        Row(
            "bulk output, seen by the human",
            "MB/s",
            {peer: result[peer] for peer in peers},
            "60 % of bare, 5 x tmux",
            _is_fast(result),
        ),
        Row("same, seen by the host's model", "MB/s", {SYNAPSE: result[MODEL]}, "fed in full", complete),
        Row("host, processor time for each MB", "ms", {SYNAPSE: median(busy)}),
    ]


def _is_fast(result: dict[str, float]) -> bool | None:
    if result[SYNAPSE] < 0.6 * result[BARE]:
        return False
    return result[SYNAPSE] >= 5 * result[TMUX] if TMUX in result else None


def _write_lines(place: Place) -> tuple[int, float]:
    """The file; how many lines it has, and megabytes."""
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
    place.file("agent.txt", "".join(text))
    return count, size / 1e6


def _ask(terminal: Terminal, turn: int) -> float:
    """Have the file written; the moment the last of it was there."""
    terminal.write(b"%d\r" % turn)
    return terminal.wait_for(b"that was number %d" % turn)


def _wait_for_model(entry: Entry, turn: int) -> None:
    def shows() -> bool:
        text = str(control.call(entry, "GET", "/terminal/screen", timeout=60)["text"])
        return f"that was number {turn}" in text

    wait(shows, "the end of the file in the host's model")


def _is_complete(entry: Entry, lines: int) -> bool:
    """Whether what the model has kept are the last lines of the file, none missing."""
    contents = control.call(entry, "GET", "/terminal/contents", timeout=60)["lines"]
    assert isinstance(contents, list)
    numbers = [int(line.split()[1]) for line in contents if line.startswith("line ")]
    tail = numbers[-1000:]
    return tail == list(range(lines - len(tail), lines)) and len(tail) == 1000
