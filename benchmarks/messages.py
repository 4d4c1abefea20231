"""A message typed at an agent's prompt: from Enter until an idle agent has it; and the same sent directly."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.request import urlopen

from benchmarks.peers import COMMAND, Place, wait
from benchmarks.rpc import Client
from benchmarks.table import SYNAPSE, Row, median, percentile
from benchmarks.terminal import Terminal

ROUNDS, WARM = 100, 5
OVER = 150.0  # milliseconds that a typed one may take longer
GATE = 1000.0 + 500.0  # milliseconds after the last key: the gate's pause, and a message sent directly
SEQUENCES = {  # keys that leave the composer empty, and how often each is tried
    "the digit that answers a permission prompt": b"1",
    "the letter that answers a question": b"y",
    "Escape": b"\x1b",
    "Tab": b"\t",
    "Up and Down": b"\x1b[A\x1b[B",
    "Left and Right": b"\x1b[D\x1b[C",
    "text that was erased": b"ab\x7f\x7f",
}
ANSWERS, SUSPEND = (b"1", b"y"), b"\x1a"
TRIES = 5
TYPED, DIRECT, BACK = "typed at a prompt", "sent directly", "reply on the terminal"


def run() -> list[Row]:
    with Place() as place:
        place.env |= {"SYNAPSE_LIMITS__RATE": "0", "SYNAPSE_ROUTING__PAIR_PER_MINUTE": "0"}
        for name in "ba":
            place.run(COMMAND, "start", "dummy", "--name", name, "--", "--tui")
        port = next(int(str(entry["port"])) for entry in place.agents() if entry["name"] == "b")
        with closing(Terminal([COMMAND, "attach", "a"], place.env, place.path)) as terminal:
            terminal.wait_for("? for shortcuts")
            taken = _rounds(terminal, port)
            after = {name: _after(terminal, place, "a", keys) for name, keys in SEQUENCES.items()}
        after["Ctrl-Z and fg"] = _after_suspension(place)
    p50 = {what: median(values) for what, values in taken.items()}
    goal = p50[TYPED] <= p50[DIRECT] + OVER
    rows = []
    for what in (DIRECT, TYPED):
        figure = f"message {what}, until delivered"
        told = (f"sent directly + {OVER:g}", goal) if what == TYPED else ("", None)
        rows.append(Row(f"{figure}, p50", "ms", {SYNAPSE: p50[what]}, *told))
        rows.append(Row(f"{figure}, p99", "ms", {SYNAPSE: percentile(taken[what], 99)}))
    rows.append(Row("message, Enter to the reply in a toast, p50", "ms", {SYNAPSE: p50[BACK]}))
    for name, values in after.items():
        half = median(values)
        figure = f"message after {name}, last key until delivered, p50"
        rows.append(Row(figure, "ms", {SYNAPSE: half}, f"≤ {GATE:g}", half <= GATE))
    return rows


def _after(terminal: Terminal, place: Place, name: str, keys: bytes) -> list[float]:
    """Milliseconds from the last key at an agent's own prompt until it has a message."""
    taken = []
    port = next(int(str(entry["port"])) for entry in place.agents() if entry["name"] == name)
    with Client(port) as client:
        for number in range(TRIES):
            if keys in ANSWERS:
                terminal.write(b"confirm Shall I?\r")
                terminal.wait_for("1. Yes")
                terminal.drain(0.5)
            terminal.write(keys)
            if keys == SUSPEND:
                terminal.wait_for("Stopped")
                terminal.write(b"fg\r")
                terminal.wait_for("? for shortcuts")
            pressed = time.time()
            text = f"say {number} after keys {keys.hex()}"
            client.send(text, wait=True)
            taken.append((_delivered(port, text) - pressed) * 1e3)
            terminal.drain(0.5)
    return taken


def _after_suspension(place: Place) -> list[float]:
    shell = ["/bin/bash", "--norc", "-i"]
    with closing(Terminal(shell, {**place.env, "PS1": "$ "}, place.path)) as terminal:
        terminal.wait_for("$")
        terminal.write(f"{COMMAND} dummy --name c -- --tui\r".encode())
        terminal.wait_for("? for shortcuts")
        return _after(terminal, place, "c", SUSPEND)


def _rounds(terminal: Terminal, port: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {DIRECT: [], TYPED: [], BACK: []}
    with Client(port) as client:
        for number in range(-WARM, ROUNDS):
            text = f"say number {number} is here"
            sent = time.time()
            client.send(text, wait=True)
            direct = _delivered(port, text) - sent
            line = f"@b {text}."
            terminal.write(line.encode())
            terminal.drain(0.05)
            sent = time.time()
            terminal.write(b"\r")
            shown = terminal.wait_for(f"number {number} is here.") - time.perf_counter() + time.time()
            typed = _delivered(port, f"{text}.") - sent
            terminal.drain(0.05)
            if number >= 0:
                for what, seconds in ((DIRECT, direct), (TYPED, typed), (BACK, shown - sent)):
                    taken[what].append(seconds * 1e3)
    return taken


def _delivered(port: int, text: str) -> float:
    """When the agent had begun the last task; waits until that is `text`, and has ended."""
    found: list[dict[str, Any]] = []

    def ended() -> bool:
        with urlopen(f"http://127.0.0.1:{port}/tasks?limit=1") as answer:
            found[:] = json.load(answer)["tasks"]
        return bool(found and found[0]["status"] == "completed" and _text(found[0]) == text)

    wait(ended, f"the end of {text!r}")
    at = next(r["at"] for r in found[0]["receipts"] if r["step"] == "confirmed")
    return datetime.strptime(at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()


def _text(task: dict[str, Any]) -> str:
    return "".join(str(part.get("text", "")) for part in task["message"]["parts"])
