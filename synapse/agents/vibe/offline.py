"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

from pathlib import Path

from synapse.agents.offline import KEY, Offline

CONFIG = """\
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
enable_connectors = false

[experiments]
enable = false

[session_logging]
generate_titles = false

[[providers]]
name = "scripted"
api_base = "{url}/v1"
api_key_env_var = "SCRIPTED_API_KEY"
backend = "generic"

[[models]]
name = "scripted"
provider = "scripted"
alias = "scripted"
"""


def prepare(home: Path, work: Path, url: str) -> Offline:
    (home / ".vibe").mkdir(exist_ok=True)
    (home / ".vibe" / "config.toml").write_text(CONFIG.format(url=url))
    env = {"SCRIPTED_API_KEY": KEY, "HTTPS_PROXY": "http://127.0.0.1:9"}  # nothing is there
    return Offline(ready="tokens (0%)", asks="Permission for the", accept="1", env=env, seconds=120)
