"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    trusted = home / ".kimi-code" / "workspace-trust"
    trusted.mkdir(parents=True, exist_ok=True)
    (trusted / _workspace(work)).write_text(json.dumps({"root": str(work.resolve()), "trustedAt": 1}))
    env = {
        "KIMI_MODEL_NAME": "scripted",
        "KIMI_MODEL_API_KEY": KEY,
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_BASE_URL": f"{url}/v1",
        "KIMI_CODE_NO_AUTO_UPDATE": "1",
        "KIMI_DISABLE_TELEMETRY": "1",
    }
    return Offline(ready="Send /help for help", asks="Run this command?", accept="1", env=env)


def _workspace(work: Path) -> str:
    """What Kimi Code calls a folder."""
    root = str(work.resolve())
    return f"wd_{work.resolve().name}_{hashlib.sha256(root.encode()).hexdigest()[:12]}"
