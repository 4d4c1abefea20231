"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

from pathlib import Path

from synapse.agents.offline import KEY, Offline

CONFIG = """\
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

[notice.model_migrations]  # older versions offer the newer model at their start
"gpt-5.1-codex" = "gpt-5.2-codex"
"""


def prepare(home: Path, work: Path, url: str) -> Offline:
    """Without its shared server, whose first start copies 700 MB into the home."""
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "config.toml").write_text(CONFIG.format(url=url, cwd=work.resolve()))
    # A proxy that is not there: nothing else stops the download of announcements. The model is not https.
    env = {"SCRIPTED_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9"}
    return Offline(
        ready="Ask Codex to do anything",
        asks="Would you like to run the following command?",
        accept="y",
        newer_args=("--no-daemon",),
        env=env,
    )
