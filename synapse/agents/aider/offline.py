"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline

ARGS = (
    "--model", "openai/scripted", "--edit-format", "diff", "--no-git", "--no-check-update",
    "--no-show-model-warnings", "--no-show-release-notes", "--analytics-disable",
)  # fmt: skip


def prepare(home: Path, work: Path, url: str) -> Offline:
    caches = home / ".aider" / "caches"  # else it fetches a list of models and their prices
    caches.mkdir(parents=True, exist_ok=True)
    prices = {"openai/scripted": {"max_input_tokens": 100_000}}
    (caches / "model_prices_and_context_window.json").write_text(json.dumps(prices))
    env = {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HTTPS_PROXY": "http://127.0.0.1:9",  # nothing is there
    }
    return Offline(ready="diff>", asks="Run shell command?", accept="y\r", args=ARGS, env=env)
