"""The same figures from the real CLIs inside Synapse, where they can be installed."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from synapse.peers import control
from synapse.selftest.driver import Driver
from tests.real.clis import CLIS
from tests.real.install import Installed, install
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


def real() -> None:
    installed = install()
    print()
    print("| real runs | turns | replies exact | READY too soon | end of the model's reply to READY, p50 |")
    print("|---|---:|---:|---:|---:|")
    for name in CLIS:
        turns, exact, early, waits = _run(name, installed)
        wait = statistics.median(waits) if waits else float("nan")
        print(f"| {name} | {turns} | {exact} of {turns} | {early} | {wait:.2f} s |")


def _run(name: str, installed: Installed) -> tuple[int, int, int, list[float]]:
    home = Home(Path(tempfile.mkdtemp(prefix="synt-")))
    os.environ.update({key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME")})
    (home.work / NOTES).write_text(NOTES_TEXT)
    exact = early = 0
    waits = []
    with ModelServer(speed=0.5) as model:
        cli = CLIS[name](installed, home.path, home.work, model.url)
        env = {**cli.env, **{key: home.env[key] for key in ("SYNAPSE_HOME", "A2A_HOME", "SYNAPSE_TEST")}}
        with Driver([*SYNAPSE, cli.program, *cli.args], env, home.work) as driver:
            driver.wait_for(cli.ready, 60)
            driver.rest(4)
            entry = home.agents()[name]
            for number, scenario in enumerate(SCENARIOS, 1):
                replies = len(model.replies)
                wanted = 2 if scenario == "two-messages" else 1
                driver.submit(f"turn {number} #scenario:{scenario}")
                driver.rest(0.4)
                while not _said(model, replies + wanted):
                    early += _why(entry)["status"] == "READY"
                    driver.rest(0.03)
                finished = model.replies[-1].finished or time.monotonic()
                while _why(entry)["status"] != "READY":
                    driver.rest(0.01)
                waits.append(max(time.monotonic() - finished, 0.0))
                driver.rest(1.5)
                turns: Any = control.call(entry, "GET", "/turns")["turns"]
                exact += turns[-1]["reply"] == expected(scenario)
    return len(SCENARIOS), exact, early, waits


def _said(model: ModelServer, count: int) -> bool:
    return len(model.replies) >= count and model.replies[count - 1].finished is not None


def _why(entry: dict[str, object]) -> dict[str, object]:
    return control.call(entry, "GET", "/why")
