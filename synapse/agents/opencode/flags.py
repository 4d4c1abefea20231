"""What makes opencode report: a plugin, added to its configuration by a variable for this launch only."""

from __future__ import annotations

import os

from synapse.base import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plugin.js")
_CONFIG = "OPENCODE_CONFIG_CONTENT"  # merged over its files; lists of plugins are joined
_ESCAPED = {" ": "%20", "#": "%23", "%": "%25", "?": "%3F"}


def arguments(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    return []


def environment(args: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The user's own configuration in that variable is kept; one that cannot be read is left alone."""
    if "--pure" in args or env.get("OPENCODE_PURE"):
        return {}
    try:
        config = jsontext.loads(env.get(_CONFIG) or "{}")
        if not isinstance(config, dict) or not isinstance(plugins := config.get("plugin", []), list):
            return {}
    except ValueError:
        return {}
    url = "file://" + "".join(_ESCAPED.get(character, character) for character in _PLUGIN)
    return {_CONFIG: jsontext.dumps({**config, "plugin": [*plugins, url]})}
