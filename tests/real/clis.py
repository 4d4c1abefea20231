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
from pathlib import Path

from tests.real.install import Installed

SCRIPTS = Path(sys.executable).parent  # where `synapse` is
KEY = "sk-made-up-key-for-a-scripted-model-0123456789"


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


def claude(installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    settings = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(cwd.resolve()): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(settings))
    (home / ".claude").mkdir(exist_ok=True)
    # 2.1.325 decides by itself unless told not to.
    asking = {"permissions": {"defaultMode": "default", "disableAutoMode": "disable"}}
    (home / ".claude" / "settings.json").write_text(json.dumps(asking))
    env = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # updates, telemetry
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",  # a git clone
        "CLAUDE_CODE_MAX_RETRIES": "1",  # ten, with growing pauses, if not told
    }
    return Cli(
        name="claude",
        args=[],
        env={**_env(installed, home), **env},
        ready="? for shortcuts",
        asks="Do you want to proceed?",
        accept="1",
    )


CODEX_CONFIG = """\
model = "gpt-5.1-codex"
model_provider = "scripted"
check_for_update_on_startup = false
analytics.enabled = false
features.plugins = false  # fetches a catalogue
features.apps = false
tui.show_tooltips = false  # else a tip of the day stands under a reply now and then

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[projects."{cwd}"]
trust_level = "trusted"
"""


def codex(installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    """Without its shared server, whose first start copies 700 MB into the home."""
    return replace(shared_codex(installed, home, cwd, url), args=["--no-daemon"])


def shared_codex(installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    """As users have it; `stop_codex` ends the server. Any `-c` would switch it off: a file has the rest."""
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(CODEX_CONFIG.format(url=url, cwd=cwd.resolve()))
    # A proxy that is not there: nothing else stops the download of announcements. The model is not https.
    env = {"SCRIPTED_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9"}
    return Cli(
        name="codex",
        args=[],
        env={**_env(installed, home), **env},
        ready="Ask Codex to do anything",
        asks="Would you like to run the following command?",
        accept="y",
    )


def stop_codex(cli: Cli, home: Path) -> None:
    """End the shared server of a home, and the process that updates it."""
    subprocess.run(
        [cli.program, "app-server", "daemon", "stop"], env=cli.env, capture_output=True, timeout=60
    )
    updater = home / ".codex" / "app-server-daemon" / "daemon-updater.pid"
    if updater.exists():
        with suppress(ProcessLookupError):
            os.kill(json.loads(updater.read_text())["pid"], signal.SIGTERM)


def gemini(installed: Installed, home: Path, cwd: Path, url: str) -> Cli:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(json.dumps(settings))
    env = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_HOME": str(home)}
    return Cli(
        name="gemini",
        args=["--skip-trust"],
        env={**_env(installed, home), **env},
        ready="Type your message",
        asks="Allow execution of",
        accept="1",
    )


CLIS: dict[str, Callable[[Installed, Path, Path, str], Cli]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
}


def _env(installed: Installed, home: Path) -> dict[str, str]:
    """From nothing: no proxy, no key and no setting of whoever runs the tests."""
    return {
        "HOME": str(home),
        "PATH": f"{installed.bin}:{installed.node.parent}:{SCRIPTS}:/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }
