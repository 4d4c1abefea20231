"""Records a scenario with a real CLI: `python -m tests.real.record codex tool codex-permission.cast.gz`."""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
from functools import partial
from pathlib import Path

from synapse.profiles.loader import interrupt_steps, load_profile
from synapse.selftest.driver import ENTER_AFTER, Driver
from tests.real.clis import CLIS
from tests.real.install import install
from tests.real.model_server import ModelServer
from tests.real.scenarios import NAMES, NOTES, NOTES_TEXT


def record(
    name: str, scenario: str, path: Path, speed: float = 1.0, stop: bool = False, freeze: float = 0.0
) -> None:
    """Start the CLI, put the scenario to it, agree to what it asks, and write what was seen.
    `stop`: press the keys that interrupt it after the third word. `freeze`: it gets no processor time for so
    many seconds after Enter, as on a busy machine."""
    installed = install()
    with tempfile.TemporaryDirectory(prefix="synt-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        work = home / "work"
        work.mkdir()
        (work / NOTES).write_text(NOTES_TEXT)
        with ModelServer(speed) as model:
            cli = CLIS[name](installed, home, work, model.url)
            with Driver(cli.argv, cli.env, work) as driver:
                # One that repaints while it is idle is never silent.
                repaints = load_profile(name).idle_detection.repaints
                settle = partial(driver.rest, 2.0) if repaints else driver.settle
                driver.wait_for(cli.ready, 60)
                driver.mark("ready")
                settle()
                _submit(driver, f"hello #scenario:{scenario}", freeze)
                if scenario == "tool":
                    driver.wait_for(cli.asks)
                    driver.mark("permission prompt")
                    driver.rest(3)
                    driver.mark("approve")
                    driver.type(cli.accept)
                    driver.wait_for("TOOL-DONE")
                if stop:
                    driver.wait_for("word03", 60)
                    for pause, keys in interrupt_steps(load_profile(name)):
                        driver.rest(2 * pause)
                        driver.type(keys)
                else:
                    driver.wait(lambda: model.answered, "reply", 60)
                driver.mark("answered")
                settle()
                driver.mark("end")
                driver.save(path, f"{name}-{scenario}")


def _submit(driver: Driver, text: str, freeze: float) -> None:
    if not freeze:
        driver.submit(text)
        return
    driver.mark("type")
    driver.type(text)
    driver.wait_for(text)
    driver.rest(ENTER_AFTER)
    driver.pty.signal_session(signal.SIGSTOP)
    driver.mark("enter")
    driver.type("\r")
    driver.rest(freeze)
    driver.pty.signal_session(signal.SIGCONT)
    os.kill(driver.pty.pid, signal.SIGCONT)  # its keeper has stopped with it


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.record")
    parser.add_argument("cli", choices=CLIS)
    parser.add_argument("scenario", choices=NAMES)
    parser.add_argument("path", type=Path)
    parser.add_argument("--speed", type=float, default=1.0, help="factor on the scenario's delays")
    parser.add_argument("--stop", action="store_true", help="interrupt the answer after its third word")
    parser.add_argument(
        "--freeze", type=float, default=0.0, help="seconds without processor time after Enter"
    )
    given = parser.parse_args()
    record(given.cli, given.scenario, given.path, given.speed, given.stop, given.freeze)


if __name__ == "__main__":
    main()
