"""How to run each real CLI offline: its arguments, its environment, and the files that spare it its dialogs.

The program and its arguments are kept apart, so that `synapse claude <args>` runs what `claude <args>` runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from synapse.agents import folders
from tests.real import apart
from tests.real.install import Installed, cache

SCRIPTS = Path(sys.executable).parent  # where `synapse` is


@dataclass(frozen=True)
class Cli:
    name: str
    args: list[str]
    env: dict[str, str]
    ready: str  # on the screen, once it takes input
    asks: str  # on the screen, when it asks for permission
    accept: str  # the keys that give it

    @property
    def program(self) -> str:
        return self.name

    @property
    def argv(self) -> list[str]:
        return [self.program, *self.args]


def prepared(name: str, installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    module = folders.load(name, "offline")
    assert module is not None, f"{name} has no offline.py"
    offline = module.prepare(home, cwd, url)
    env = {**_env(installed, home), **offline.env}
    if name == "copilot":  # it unpacks itself, 235 MB: once for all tests, not into each home
        env["COPILOT_PKG_CACHE_HOME"] = str(cache() / "copilot-unpacked")
    if name in apart.NAMES:
        env["PATH"] = f"{apart.folder_of(name)}:{env['PATH']}"
    return Cli(name, [*offline.args, *offline.newer_args], env, offline.ready, offline.asks, offline.accept)


def shared_codex(installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    """As users have it, with its shared server; `stop_codex` ends that."""
    return replace(prepared("codex", installed, home, cwd, url), args=[])


def stop_codex(cli: Cli, home: Path) -> None:
    """End the shared server of a home, and the process that updates it."""
    subprocess.run(
        [cli.program, "app-server", "daemon", "stop"], env=cli.env, capture_output=True, timeout=60
    )
    updater = home / ".codex" / "app-server-daemon" / "daemon-updater.pid"
    if updater.exists():
        with suppress(ProcessLookupError):
            os.kill(json.loads(updater.read_text())["pid"], signal.SIGTERM)


# Kimi, Mistral Vibe and aider (which calls no tools, it reads the text of a reply) have tests of their own.
NAMES = ("claude", "codex", "gemini", "copilot")
MORE = ("opencode", "qwen")  # only the tests that `conftest.py` names: the first of these starts slowly

CLIS: dict[str, Callable[[Installed, Path, Path, str], Cli]] = {
    name: partial(prepared, name) for name in (*NAMES, *MORE, "aider", "kimi", "vibe")
}


def _env(installed: Installed, home: Path) -> dict[str, str]:
    """From nothing: no proxy, no key and no setting of whoever runs the tests. Some unpack libraries into the
    temporary directory and leave them there: it is in the home, which is removed."""
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "PATH": f"{installed.bin}:{installed.node.parent}:{SCRIPTS}:/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",  # as most terminals have it: Copilot looks different then
        "LANG": "C.UTF-8",
    }
