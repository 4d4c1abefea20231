"""Runs: killed at random moments and resumed, what a step costs, many agents at once, an empty script."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers import COMMAND, PYTHON, Place, wait
from benchmarks.table import BARE, SYNAPSE, Row, median
from synapse.registry import READY
from synapse.run.journal import Record

KILLS = int(os.environ.get("SYNAPSE_BENCH_KILLS", "200"))
SEED = int(os.environ.get("SYNAPSE_SEED", "7"))
ROUNDS = 15
STEPS = 20
AGENTS = 20
OVERHEAD = 20.0  # ms a step, more than `send --return`
START_TIMES = 6  # the time of a Python that does nothing
GROUP = 4  # agents of one run that is killed
GROUPS = 3  # runs at once
FIVE = """
from synapse.run import args, ask, gather
mark, a, b, c, d = args
first = ask(a, f"silent 0.1 {mark} one")
both = gather(lambda: ask(b, f"silent 0.1 {mark} two"), lambda: ask(c, f"silent 0.1 {mark} three"))
fourth = ask(d, f"silent 0.1 {mark} four")
print(first, *both, fourth, ask(a, f"silent 0.1 {mark} five"), sep=",")
"""
WORDS = ("one", "two", "three", "four", "five")
MANY = f"""
import statistics, time, synapse
from synapse.run import ask, gather
def timed(call):
    started = time.monotonic()
    call()
    return (time.monotonic() - started) * 1e3
direct, step = [], []
for number in range({STEPS} + 2):  # in turn: the machine may be busy
    direct.append(timed(lambda: synapse.ask("agent0", "say x")))
    step.append(timed(lambda: ask("agent0", "say x")))
print(statistics.median(direct[2:]), statistics.median(step[2:]))
one = timed(lambda: ask("agent0", "silent 0.5 x"))
many = timed(lambda: gather(*(lambda n=n: ask(f"agent{{n}}", "silent 0.5 x") for n in range({AGENTS}))))
print(many / one)
"""


def run() -> list[Row]:
    with Place() as place:
        names = [f"agent{number}" for number in range(AGENTS)]
        log = ("--log", _log(place))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda name: place.run(COMMAND, "start", "dummy", "--name", name, *log), names))
        wait(
            lambda: all(entry["status"] == READY for entry in place.agents()), f"{AGENTS} agents to be ready"
        )
        return [*_steps(place), _start(place), *_kills(place)]


def _log(place: Place) -> str:
    """Where the agents themselves write down each message that arrives."""
    return str(Path(place.path, "arrived.jsonl"))


def _steps(place: Place) -> list[Row]:
    direct, step, times = map(float, _script(place, MANY).split())
    send = median([place.run(COMMAND, "send", "agent0", "--return", "say x") * 1e3 for _ in range(ROUNDS)])
    more = step - direct
    return [
        Row("a step of a run", "ms", {SYNAPSE: step}),
        Row(
            "a step of a run, more than synapse.ask",
            "ms",
            {SYNAPSE: more},
            f"at most {OVERHEAD:g}",
            more <= OVERHEAD,
        ),
        Row(
            "a step of a run, more than synapse send --return",
            "ms",
            {SYNAPSE: step - send},
            f"at most {OVERHEAD:g}",
            step - send <= OVERHEAD,
        ),
        Row(f"gather over {AGENTS} agents, against one", "x", {SYNAPSE: times}),
    ]


def _start(place: Place) -> Row:
    empty = Path(place.path, "empty.py")
    empty.write_text("")
    taken: dict[str, list[float]] = {BARE: [], SYNAPSE: []}
    for turn in range(ROUNDS + 1):
        for name, argv in ((BARE, [PYTHON, "-c", "pass"]), (SYNAPSE, [COMMAND, "run", str(empty)])):
            milliseconds = place.run(*argv) * 1e3
            if turn:
                taken[name].append(milliseconds)
    values = {name: median(found) for name, found in taken.items()}
    met = values[SYNAPSE] <= START_TIMES * values[BARE]
    return Row("synapse run, an empty script", "ms", values, f"at most {START_TIMES} x python -c pass", met)


def _kills(place: Place) -> list[Row]:
    """Each run is killed up to three times; each message is counted in the agents' own log."""
    five = Path(place.path, "five.py")
    five.write_text(FIVE)
    per_group = -(-KILLS // GROUPS)
    with ThreadPoolExecutor(GROUPS) as pool:
        groups = list(pool.map(lambda number: _group(place, str(five), number, per_group), range(GROUPS)))
    marks = [mark for group in groups for mark in group.marks]
    wrong = sum(group.wrong for group in groups)
    answered = Counter(steps for group in groups for steps in group.answered)
    arrived: Counter[str] = Counter()
    with open(_log(place), encoding="utf-8") as file:
        arrived.update(json.loads(line).rpartition("] ")[2] for line in file)
    expected = [f"silent 0.1 {mark} {word}" for mark in marks for word in WORDS]
    lost = sum(arrived[text] == 0 for text in expected)
    twice = sum(arrived[text] > 1 for text in expected)
    spread = " ".join(f"{steps}: {answered[steps]}" for steps in range(len(WORDS) + 1))
    figure = f"{answered.total()} kills in {len(marks)} runs of five steps"
    return [
        Row(
            f"{figure} (steps answered then, {spread}): wrong results",
            "",
            {SYNAPSE: float(wrong)},
            "0",
            wrong == 0,
        ),
        Row(f"{figure}: prompts lost", "", {SYNAPSE: float(lost)}, "0", lost == 0),
        Row(f"{figure}: prompts that arrived twice", "", {SYNAPSE: float(twice)}, "0", twice == 0),
    ]


@dataclass
class Group:
    """What one row of runs has come to; `answered` has the finished steps of a run at each kill."""

    marks: list[str] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    wrong: int = 0


def _group(place: Place, script: str, number: int, kills: int) -> Group:
    """Runs with four agents of their own, one after the other, until there were enough kills."""
    group, chance = Group(), random.Random(SEED + number)
    agents = [f"agent{number * GROUP + position}" for position in range(GROUP)]
    began = time.monotonic()
    _finish(place, [COMMAND, "run", script, f"warm{number}", *agents])
    usual = time.monotonic() - began
    while len(group.answered) < kills:
        mark = f"g{number}r{len(group.marks)}"
        group.marks.append(mark)
        command = [COMMAND, "run", "--run", mark, script, mark, *agents]
        for _ in range(3):
            if _killed(place, command, chance.uniform(0.2, 1.1) * usual):
                group.answered.append(_answered(place, mark))
        result = _finish(place, command)
        group.wrong += result != ",".join(f"{mark} {word}" for word in WORDS)
    return group


def _finish(place: Place, command: list[str]) -> str:
    done = subprocess.run(command, env=place.env, cwd=place.path, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def _killed(place: Place, command: list[str], after: float) -> bool:
    process = subprocess.Popen(
        command, env=place.env, cwd=place.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(after)
        return False  # it was quicker
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True


def _answered(place: Place, run_id: str) -> int:
    folder = Path(place.env["SYNAPSE_HOME"], "runs", run_id)
    return sum(step.task is not None for step in Record.read(str(folder)).steps.values())


def _script(place: Place, text: str) -> str:
    path = Path(place.path, f"script-{time.monotonic_ns()}.py")
    path.write_text(text)
    done = subprocess.run(
        [COMMAND, "run", str(path)],
        env=place.env,
        cwd=place.path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout
