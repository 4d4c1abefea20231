"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    settings = {
        "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        # Agents of its own in the background, which ask the model too.
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "security": {"auth": {"selectedType": "openai"}},
        "telemetry": {"enabled": False},
        "tools": {"approvalMode": "default"},  # 0.24 decides by itself unless told not to
        "ui": {"hideTips": True},
    }
    (home / ".qwen").mkdir(exist_ok=True)
    (home / ".qwen" / "settings.json").write_text(json.dumps(settings))
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}
    return Offline(ready="➜ ", asks="Allow execution of", accept="1", env=env, seconds=120)
