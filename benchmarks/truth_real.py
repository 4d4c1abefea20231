"""The same figures from the real CLIs inside Synapse, where they can be installed."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import proc
from synapse.peers import control
from synapse.selftest.driver import Driver
from tests.real.clis import CLIS
from tests.real.install import Installed, NotInstalled, install
from tests.real.model_server import ModelServer, expected
from tests.real.scenarios import NOTES, NOTES_TEXT
from tests.support.home import SYNAPSE, Home

SCENARIOS = (
    "ping",
    "markdown",
    "long200",
    "silence-before",
    "silence-middle",
    "slow",
    "two-messages",
    "ping",
)


TURN_AT_MOST = 120.0  # seconds
NO_TOOLS = ("aider",)  # it reads commands from the text of a reply


@dataclass
class Run:
    turns: int = 0
    exact: int = 0
    early: int = 0  # looks at which it was READY before the model had answered
    waits: list[float] = field(default_factory=list)  # seconds from the end of each answer to READY
    memory: float = 0.0  # MB, the host's proportional share at the end
    processor: float = 0.0  # milliseconds of the host for each turn


def real() -> None:
    installed = install()
    print()
    print(
        "| real runs | turns | replies exact | READY too soon | end of the model's reply to READY, p50 ",
        end="",
    )
    print("| host: memory | processor time a turn |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in CLIS:
        try:
            run = _run(name, installed)
        except (AssertionError, NotInstalled) as error:
            print(f"| {name} | left out: {str(error).splitlines()[0][:80]} |||||", flush=True)
            continue
        wait = statistics.median(run.waits)
        print(f"| {name} | {run.turns} | {run.exact} of {run.turns} | {run.early} | {wait:.2f} s ", end="")
        print(f"| {run.memory:.1f} MB | {run.processor:.0f} ms |", flush=True)


def _run(name: str, installed: Installed) -> Run:
    home = Home(Path(tempfile.mkdtemp(prefix="synt-")))
    os.environ.update({key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME")})
    (home.work / NOTES).write_text(NOTES_TEXT)
    run = Run()
    with ModelServer(speed=0.5) as model:
        cli = CLIS[name](installed, home.path, home.work, model.url)
        env = {**cli.env, **{key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}}
        with Driver([*SYNAPSE, cli.program, *cli.args], env, home.work) as driver:
            driver.wait_for(cli.ready, 60)
            driver.rest(4)
            entry: dict[str, Any] = dict(home.agents()[name])
            host = proc.host_of(int(entry["pid"]))
            before = proc.cpu_seconds(host)
            for scenario in SCENARIOS:
                if scenario != "two-messages" or name not in NO_TOOLS:
                    _turn(run, driver, model, entry, scenario)
            run.processor = (proc.cpu_seconds(host) - before) * 1000 / run.turns
            run.memory = proc.memory(host)[1]
    return run


def _turn(run: Run, driver: Driver, model: ModelServer, entry: dict[str, Any], scenario: str) -> None:
    run.turns += 1
    answers = len(model.replies) + (2 if scenario == "two-messages" else 1)
    until = time.monotonic() + TURN_AT_MOST
    driver.submit(f"turn {run.turns} #scenario:{scenario}")
    driver.rest(0.4)
    while not _said(model, answers):
        assert time.monotonic() < until, f"no answer to {scenario}"
        run.early += _why(entry)["status"] == "READY"
        driver.rest(0.03)
    finished = model.replies[-1].finished or time.monotonic()
    while _why(entry)["status"] != "READY":
        assert time.monotonic() < until, f"not READY after {scenario}"
        driver.rest(0.01)
    run.waits.append(max(time.monotonic() - finished, 0.0))
    driver.rest(1.5)
    turns: Any = control.call(entry, "GET", "/turns")["turns"]
    run.exact += turns[-1]["reply"] == expected(scenario)


def _said(model: ModelServer, count: int) -> bool:
    return len(model.replies) >= count and model.replies[count - 1].finished is not None


def _why(entry: dict[str, object]) -> dict[str, object]:
    return control.call(entry, "GET", "/why")
