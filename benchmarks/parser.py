"""The output parser: a long reply, whole and in chunks, and text that would slow a naive parser."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable

from benchmarks.table import SYNAPSE, Row, render
from synapse.output_parser import OutputParser, ParsedArtifact, StreamingOutputParser

SIZE = 10_000_000
HOSTILE_SIZE = 2_000_000
CHUNK = 1024
ROUNDS = 3
SHORTEST = 0.01  # seconds that can be told from noise
TIMES = 6  # it would be 16 if it were quadratic

_PROSE = (
    "The retry loop gave up after the first timeout, since `deadline` was computed once and then reused.\n"
    "I have changed it so that every attempt gets its own, and the sum of them stays below the limit that\n"
    "the caller asked for. 以下の変更を行いました。\n"
    "\n"
    "1. `connect()` no longer swallows `OSError`:\n"
    "   - the first failure is logged\n"
    "   - the last one is raised\n"
    "2. The tests now use a clock of their own.\n"
    "\n"
)
_CODE = (
    "```python\n"
    "def connect(address: Address, limit: float) -> Socket:\n"
    "    started = clock()\n"
    "    for attempt in range(ATTEMPTS):\n"
    "        try:\n"
    "            return open_socket(address, timeout=remaining(started, limit))\n"
    "        except OSError as error:\n"
    '            log.warning("attempt %d: %s", attempt, error)\n'
    "    raise Unreachable(address)\n"
    "```\n"
    "\n"
)
_DATA = json.dumps({"passed": 214, "failed": [], "slowest": {"test_retry": 1.25}, "ok": True}, indent=2)
_REPLY = _PROSE + _CODE + _PROSE + _DATA + "\n\nCreated: src/connect.py\n\n" + _CODE

# Each opens something that is never closed, or makes a naive parser start over.
_HOSTILE = {
    "[[[[…": "[",
    '{"a":{"a":…': '{"a":',
    "lines of [": "[\n",
    'lines of {"a":': '{"a":\n',
    "lines of [[1],": "[[1],\n",
    "lines of - - -": "- - -\n",
    "a fence in each line": "```a `\n",
    "- - - -…": "- ",
}


def run() -> list[Row]:
    reply = _repeated(_REPLY, SIZE)
    whole = _rate(_whole, reply)
    row = Row("parse a reply of 10 MB", "MB/s", {SYNAPSE: whole})
    rows = [row, Row("same, in chunks of 1 KB", "MB/s", {SYNAPSE: _rate(_streamed, reply)})]
    for name, unit in _HOSTILE.items():
        quarter, full = (
            _seconds(_whole, _repeated(unit, size)) for size in (HOSTILE_SIZE // 4, HOSTILE_SIZE)
        )
        goal = f"at most {TIMES} x the time of a quarter"
        rate, met = HOSTILE_SIZE / full / 1e6, full <= TIMES * max(quarter, SHORTEST)
        rows.append(Row(f"parse {name}", "MB/s", {SYNAPSE: rate}, goal, met))
    return rows


def _whole(text: str) -> list[ParsedArtifact]:
    return OutputParser().parse(text)


def _streamed(text: str) -> list[ParsedArtifact]:
    parser = StreamingOutputParser()
    artifacts = []
    for start in range(0, len(text), CHUNK):
        artifacts += parser.feed(text[start : start + CHUNK])
    return artifacts + parser.flush()


def _rate(parse: Callable[[str], list[ParsedArtifact]], text: str) -> float:
    return len(text) / _seconds(parse, text) / 1e6


def _seconds(parse: Callable[[str], list[ParsedArtifact]], text: str) -> float:
    taken = []
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()  # its work depends on what the rest of the program holds
        started = time.process_time()
        parse(text)
        taken.append(time.process_time() - started)
        gc.enable()
    return min(taken)


def _repeated(unit: str, size: int) -> str:
    return unit * (size // len(unit) + 1)


if __name__ == "__main__":
    print(render(run()))
