"""How it is run without a network; `synapse/agents/offline.py` describes the interface."""

from __future__ import annotations

import json
from pathlib import Path

from synapse.agents.offline import KEY, Offline


def prepare(home: Path, work: Path, url: str) -> Offline:
    settings = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(work.resolve()): {"hasTrustDialogAccepted": True}},
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
    return Offline(ready="? for shortcuts", asks="Do you want to proceed?", accept="1", env=env)
