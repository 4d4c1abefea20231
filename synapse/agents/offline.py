"""How a CLI is run without a network, against a scripted model: for tests and for `synapse doctor --drive`.

A CLI's folder says it in `offline.py`, with a function `prepare(home, work, url)`: it writes the files that
spare the CLI its first dialogs, and returns an `Offline`. `home` is an empty home directory, `work` the
working directory, `url` the model server without a path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from synapse.agents import folders

KEY = "sk-made-up-key-for-a-scripted-model-0123456789"


@dataclass(frozen=True)
class Offline:
    ready: str  # on the screen, once it takes input
    asks: str  # on the screen, when it asks for permission to run a command
    accept: str  # the keys that give it
    args: tuple[str, ...] = ()
    newer_args: tuple[str, ...] = ()  # the same, which older versions refuse: given if its help names them
    env: Mapping[str, str] = field(default_factory=dict)  # beside HOME, PATH, TERM and LANG
    seconds: float = 60.0  # that all checks of `synapse doctor --drive` may take; 120 if it starts slowly
    asks_for: str = "run"  # what it asks permission for: `run` a command, or `write` a file
    needs_login: bool = False  # it does nothing with a made-up key: only its start can be checked
    left_out: Mapping[str, str] = field(default_factory=dict)  # checks that cannot be made: name and reason


Prepare = Callable[[Path, Path, str], Offline]


def find_prepare(*names: str) -> Prepare | None:
    """The function of the first of these folders that has an `offline.py`."""
    for name in names:
        module = folders.load(name, "offline") if folders.exists(name) else None
        if module is not None:
            prepare: Prepare = module.prepare
            return prepare
    return None
