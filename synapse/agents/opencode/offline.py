"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    provider = {
        "npm": "@ai-sdk/openai-compatible",  # compiled in: nothing is fetched
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {"model": {"name": "model"}},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/model",
        "small_model": "scripted/model",
        "provider": {"scripted": provider},
        "permission": {"bash": "ask", "edit": "ask"},  # by default it asks nobody
    }
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        # Nobody is there: it installs a package for plugins at its first start, and goes on without.
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_fetch_retries": "0",
    }
    return Offline(ready="Ask anything", asks="Permission required", accept="\r", env=env, seconds=120.0)
