"""bash, zsh and fish in a terminal, with a configuration of the test's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from synapse.testing import Terminal
from tests.support.home import Home, wait

SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"there is no {name}"))
    for name in ("bash", "zsh", "fish")
]
PROMPT = {
    "bash": "PS1='top\\n$?% '\n",
    "zsh": "PS1=$'top\\n%?%% '\nunsetopt prompt_sp beep\nHISTSIZE=1000\n",
    "fish": "function fish_prompt\n  set -l code $status\n  echo top\n  echo -n $code'% '\nend\n"
    "set -g fish_greeting\n",
}
STATUS = {"bash": "$?", "zsh": "$?", "fish": "$status"}


def interactive(home: Home, shell: str, config: str, **more: str) -> Terminal:
    """The shell at its first prompt, `0%`."""
    folder = home.path / "config" / "fish"
    folder.mkdir(parents=True, exist_ok=True)
    path = {"bash": home.path / ".bashrc", "zsh": home.path / ".zshrc", "fish": folder / "config.fish"}[shell]
    path.write_text(PROMPT[shell] + config)
    more = {"XDG_CONFIG_HOME": str(home.path / "config"), "ZDOTDIR": str(home.path), **more}
    terminal = home.program([shell, "-i"], 80, 50, **more)
    try:
        terminal.wait_for("0%")
    except AssertionError:
        terminal.__exit__(None, None, None)
        raise
    return terminal


class Recorder:
    """A program in place of Synapse: it stores each line that it is given, and exits with status 3."""

    def __init__(self, home: Home) -> None:
        self._folder = home.path / "lines"
        self._folder.mkdir()
        self.path = home.path / "recorder"
        self.path.write_text(
            f'#!/bin/sh\ncat >"{self._folder}/.$$"; mv "{self._folder}/.$$" "{self._folder}/$$"\n'
            'echo "recorded $*"\nexit 3\n'
        )
        self.path.chmod(0o755)

    def take(self) -> str:
        """The next line."""
        found: list[Path] = []

        def some() -> bool:
            found[:] = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
            return bool(found)

        wait(some, "a line", 8.0)
        text = found[0].read_bytes().decode()
        found[0].unlink()
        return text

    @property
    def empty(self) -> bool:
        return not list(self._folder.iterdir())
