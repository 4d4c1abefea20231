"""`synapse demo`: two reference agents, started, typed at, shown and stopped. Every step is checked."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable

from synapse import paths
from synapse.errors import SynapseError

PATIENCE = 20.0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="synapse demo",
        description="Start two reference agents, type a line into each, show the list and both screens, "
        "stop them. Uses a temporary home: nothing of yours is touched.",
    )
    parser.parse_args(argv)
    home = tempfile.mkdtemp(prefix="synapse-demo-")
    env = {**os.environ, "SYNAPSE_HOME": f"{home}/synapse", "A2A_HOME": f"{home}/a2a"}
    demo = _Demo(env)
    try:
        demo.play()
        print("\nThat is all. The same with your own agents: synapse claude, synapse start codex, …")
        return 0
    finally:
        demo.run("stop", "--all", quiet=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


class _Demo:
    def __init__(self, env: dict[str, str]) -> None:
        self._env = env

    def play(self) -> None:
        self._say("Two reference agents in the background, one in line mode, one full-screen")
        self.run("start", "dummy", "--name", "a")
        self.run("start", "dummy", "--name", "b", "--", "--tui")
        self._say("A line typed into each, as you would at their prompt")
        self.run("keys", "a", "hello from the demo", "Enter")
        self.run("keys", "b", "say 日本語 works too", "Enter")
        self._wait(lambda: "You said: hello from the demo" in self._screen("a"), "a did not answer")
        self._wait(lambda: "● 日本語 works too" in self._screen("b"), "b did not answer")
        self._say("Who is running")
        self._wait(lambda: self._list().count("READY") == 2, "the agents are not READY again")
        self.run("list")
        self._say("What their terminals show")
        self.run("screen", "a")
        self.run("screen", "b")
        self._say("Stopped, and gone")
        self.run("stop", "--all")
        if "no agent is running" not in self.run("list"):
            raise SynapseError("the demo failed: an agent is still listed after it was stopped.")

    def _say(self, text: str) -> None:
        print(f"\n# {text}", flush=True)

    def run(self, *words: str, quiet: bool = False, check: bool = True) -> str:
        """Run `synapse …` as a user would, and show it."""
        if not quiet:
            shown = " ".join(f'"{word}"' if " " in word else word for word in words)
            print(f"$ synapse {shown}", flush=True)
        command = [*paths.our_python(), "-m", "synapse", *words]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True)
        if not quiet:
            for line in (done.stdout + done.stderr).rstrip("\n").split("\n"):
                if line:
                    print(f"  {line}", flush=True)
        if check and done.returncode != 0:
            raise SynapseError(f"the demo failed: `synapse {words[0]}` ended with status {done.returncode}.")
        return done.stdout

    def _screen(self, name: str) -> str:
        return self.run("screen", name, quiet=True)

    def _list(self) -> str:
        return self.run("list", quiet=True)

    def _wait(self, condition: Callable[[], bool], complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise SynapseError(f"the demo failed: {complaint} within {PATIENCE:g} s.")
            time.sleep(0.1)
