"""Records the scene in docs/: `python -m tests.real.scene docs/at-codex.cast`.

The real Claude Code in front, the real Codex behind, both with the scripted model; a human types at Claude's
prompt for Codex, goes on typing, reads the reply, and hands it to Claude.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path

from synapse.selftest.driver import Driver
from tests.real.clis import CLIS
from tests.real.install import install
from tests.real.model_server import ModelServer
from tests.real.scenarios import REVIEW_PHRASE
from tests.support.home import SYNAPSE

SIZE = (100, 30)


def type_as_a_human(driver: Driver, text: str) -> None:
    pause = random.Random(1)
    for character in text:
        driver.type(character)
        driver.rest(pause.uniform(0.04, 0.12))


def play(driver: Driver) -> None:
    driver.rest(2.0)
    type_as_a_human(driver, f"@codex {REVIEW_PHRASE}")
    driver.rest(0.8)
    driver.type("\r")
    driver.mark("sent")
    driver.wait_for("→ codex:")
    driver.rest(1.5)
    type_as_a_human(driver, "meanwhile I write on")
    driver.wait_for("← codex: replied", 60)
    driver.mark("the reply")
    driver.rest(2.5)
    driver.type("\x1do")
    driver.wait_for("codex · replied")
    driver.rest(4.0)
    driver.type("q")
    driver.rest(1.0)
    driver.type("\x15")
    driver.rest(1.0)
    driver.type("\x1do")
    driver.rest(1.5)
    driver.mark("handed over")
    driver.type("i")
    driver.wait_for("[A2A:", 60)
    driver.rest(4.0)


def record(path: Path) -> None:
    installed = install()
    with tempfile.TemporaryDirectory(prefix="synt-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        work = home / "work"
        work.mkdir()
        homes = {"SYNAPSE_HOME": str(home / "synapse"), "A2A_HOME": str(home / "a2a")}
        homes["SYNAPSE_INITIAL_INSTRUCTIONS"] = "off"
        with ModelServer() as model:
            claude, codex = (CLIS[name](installed, home, work, model.url) for name in ("claude", "codex"))
            background = {**codex.env, **homes}
            start = [*SYNAPSE, "start", codex.program, *codex.args]
            subprocess.run(start, env=background, cwd=work, check=True, stdin=subprocess.DEVNULL)
            try:
                with Driver(
                    [*SYNAPSE, claude.program, *claude.args], {**claude.env, **homes}, work, *SIZE
                ) as driver:
                    driver.wait_for(claude.ready, 60)
                    driver.command = "synapse claude"
                    play(driver)
                    driver.save(path, "@codex, typed at Claude Code's prompt")
            finally:
                subprocess.run([*SYNAPSE, "stop", "--all"], env=background, cwd=work, check=False)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
