"""`synapse config`: show the settings in force, and where each comes from; `set` changes one in the file."""

from __future__ import annotations

import argparse
import json
import os

from synapse.base import paths
from synapse.cli.shared.output import show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import SETTING, Parser
from synapse.config import FIELDS, load_settings, variable

HELP = """\
Show the settings in force, and where each comes from: the file, a variable or the default.

  synapse config set response_timeout 600
  synapse config set agents.reviewer.profile claude

`set` changes one value in the file and leaves the rest of it as it is, with its comments.
"""
SET = "Set one value in the file. The rest of the file, with its comments and its order, stays as it is."


def parser() -> Parser:
    rows = [f"  {key}: {json.dumps(item.default)}\n      {item.help}" for key, item in FIELDS.items()]
    epilog = "\n".join([f"settings of {paths.config_file()}, with their defaults:", "", *rows])
    found = Parser("synapse config", HELP, epilog).add_json()
    actions = found.add_subparsers(dest="command", metavar="set KEY VALUE")
    setting = actions.add_parser("set", help="set a value in the file", description=SET)
    setting.add_word("key", SETTING, metavar="KEY", help="such as response_timeout or limits.queue")
    setting.add_argument(
        "value", metavar="VALUE", help="as in the file; the words of a list separated by spaces"
    )
    setting.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
    )
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.command == "set":
        return _set(options.key, options.value, options.json)
    settings = load_settings()
    path = paths.config_file()
    found = {key: (value, settings.origins[key]) for key, value in settings.values.items()}
    document = {
        "file": path,
        "exists": os.path.exists(path),
        "settings": {key: {"value": value, "source": origin} for key, (value, origin) in found.items()},
    }
    rows: list[tuple[str, ...]] = [("SETTING", "VALUE", "SOURCE")]
    for key, (value, origin) in found.items():
        rows.append((key, json.dumps(value, ensure_ascii=False), paths.shortened(origin)))
    page = Page()
    lines = page.table(rows, flexible=(1, 2), ends=(2,))
    if not os.path.exists(path):
        lines += ["", page.wrapped(f"There is no {path} yet; all settings are optional.")]
    return show(options.json, document, lines)


def _set(key: str, text: str, as_json: bool) -> int:
    from synapse.cli.shared.config_file import set_value

    value, path = set_value(key, text), paths.config_file()
    name = variable(key)
    stronger = f"; {name} is set, and goes before the file" if os.environ.get(name) else ""
    line = f"{key} is {json.dumps(value, ensure_ascii=False)} in {path}{stronger}"
    document = {"file": path, "key": key, "value": value}
    return show(as_json, document, [line, "Running agents have it after their next start."])
