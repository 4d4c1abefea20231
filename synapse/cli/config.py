"""`synapse config`: show the settings in force, and where each comes from."""

import json
import os

from synapse.base import paths
from synapse.cli.shared.output import show
from synapse.cli.shared.parser import Parser
from synapse.config import FIELDS, load_settings
from synapse.terminal.cells import aligned

HELP = "Show the settings in force, and where each comes from: the file, a variable or the default."


def parser() -> Parser:
    rows = [(f"  {key}", json.dumps(item.default), item.help) for key, item in FIELDS.items()]
    epilog = "\n".join([f"settings of {paths.config_file()}, with their defaults:", *aligned(rows)])
    return Parser("synapse config", HELP, epilog).add_json()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    settings = load_settings()
    path = paths.config_file()
    found = {key: (value, settings.origins[key]) for key, value in settings.values.items()}
    document = {
        "file": path,
        "exists": os.path.exists(path),
        "settings": {key: {"value": value, "source": origin} for key, (value, origin) in found.items()},
    }
    rows = [(key, json.dumps(value, ensure_ascii=False), origin) for key, (value, origin) in found.items()]
    lines = aligned(rows)
    if not os.path.exists(path):
        lines += ["", f"There is no {path} yet; all settings are optional."]
    return show(options.json, document, lines)
