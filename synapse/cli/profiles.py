"""`synapse profiles`: list the agents that can be started; `show NAME` shows one in full."""

import argparse
import json
import shutil
from typing import Any

from synapse.base import paths
from synapse.cli.shared.output import show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import PROFILE, Parser
from synapse.profiles import loader as profiles


def parser() -> Parser:
    found = Parser("synapse profiles", "List the profiles, or show one in full.")
    found.add_json("print one JSON array")
    commands = found.add_subparsers(dest="command", metavar="show NAME")
    rows = [
        f"  {key}: {json.dumps(item.default)}\n      {item.help}"
        for key, item in profiles.PROFILE.flat().items()
    ]
    show = commands.add_parser(
        "show",
        help="the profile as YAML, and which file sets each value",
        description="Print a profile as YAML, and which file sets each value.",
        epilog="\n".join(["fields of a profile, with their defaults:", "", *rows]),
    )
    show.add_word("name", PROFILE, metavar="NAME")
    show.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.command == "show":
        document = _document(profiles.explain_profile(options.name))
        return show(options.json, document, _yaml(document))
    rows = profiles.list_profiles()
    return show(options.json, [_row(row) for row in rows], _table(rows))


def _table(rows: list[profiles.Listed]) -> list[str]:
    table: list[tuple[str, ...]] = [("NAME", "COMMAND", "PORTS", "SOURCE", "INSTALLED")]
    for row in rows:
        if row.profile is None:
            table.append((row.name, "(see below)", "-", row.source, "-"))
        else:
            command = " ".join(row.profile.command)
            installed = "yes" if _installed(row.profile) else "no"
            source = f"{row.source}, untested" if row.profile.untested else row.source
            table.append((row.name, command, _ports(row.profile.ports), source, installed))
    lines = Page().table(table, flexible=(1, 0))
    return lines + [f"\n{row.error}" for row in rows if row.error is not None]


def _row(row: profiles.Listed) -> dict[str, Any]:
    profile = row.profile
    return {
        "name": row.name,
        "command": list(profile.command) if profile else None,
        "ports": _ports(profile.ports) if profile else None,
        "source": row.source,
        "path": row.path,
        "installed": _installed(profile) if profile else None,
        "untested": profile.untested if profile else None,
        "error": row.error,
    }


def _installed(profile: profiles.Profile) -> bool:
    return shutil.which(profile.command[0]) is not None


def _ports(ports: tuple[int, int] | None) -> str:
    if ports is None:
        return "from 8200"
    return str(ports[0]) if ports[0] == ports[1] else f"{ports[0]}-{ports[1]}"


def _document(explained: profiles.Explained) -> dict[str, Any]:
    values = {key: explained.values[key] for key in profiles.PROFILE.fields}
    if values["ports"] is not None:
        values["ports"] = _ports(values["ports"])
    origins = {}
    for key, value in values.items():
        for field in [f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key]:
            origins[field] = _origin(explained.origins.get(field))
    return {
        "name": explained.name,
        "source": explained.source,
        "path": explained.path,
        "profile": values,
        "origins": origins,
    }


def _yaml(document: dict[str, Any]) -> list[str]:
    """The lines of a file that would be this profile, with the origin of each value as a comment."""
    origins = document["origins"]
    lines = [f"# {document['name']}: {document['source']}, {document['path']}"]
    for key, value in document["profile"].items():
        if isinstance(value, dict) and value:
            lines.append(f"{key}:")
            for inner, item in value.items():
                lines += _field(f"  {inner}", item, origins[f"{key}.{inner}"])
        else:
            lines += _field(key, value, origins.get(key, profiles.DEFAULT))
    return lines


def _origin(path: str | None) -> str:
    if path is None:
        return profiles.DEFAULT
    return profiles.BUILT_IN if path.startswith(paths.builtin_profiles_dir()) else path


def _field(key: str, value: object, origin: str) -> list[str]:
    if not isinstance(value, list) or len(value) <= 4:
        return [f"{key}: {json.dumps(value, ensure_ascii=False)}  # {origin}"]
    indent = " " * (len(key) - len(key.lstrip()))
    return [f"{key}:  # {origin}", *(f"{indent}  - {json.dumps(i, ensure_ascii=False)}" for i in value)]
