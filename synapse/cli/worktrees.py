"""`synapse worktrees`: list the git worktrees of agents, merge or remove one."""

from __future__ import annotations

from typing import Any

from synapse.base.paths import shortened
from synapse.base.text import for_output
from synapse.cli.shared.output import print_json, say
from synapse.cli.shared.parser import Parser
from synapse.errors import SynapseError, UsageError
from synapse.launch import worktrees

HELP = """\
List the git worktrees that agents work in (`synapse <profile> --in-worktree`), merge one or remove one.

  synapse worktrees                 who works there, ahead and behind, what is not committed, conflicts
  synapse worktrees merge NAME      merge its branch into the branch it was made from
  synapse worktrees remove NAME     remove it; refused while something is not committed
"""


def parser() -> Parser:
    found = Parser("synapse worktrees", HELP)
    found.add_argument(
        "action", nargs="?", choices=("list", "merge", "remove"), default="list", help="default: list"
    )
    found.add_argument("name", nargs="?", metavar="NAME", help="the name of a worktree")
    found.add_argument("--force", action="store_true", help="remove it with what is not committed")
    return found.add_json("print an array of worktrees")


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if options.action == "list":
        return _list(options.json)
    if not options.name:
        raise UsageError(f"no worktree is named: use `synapse worktrees {options.action} NAME`.")
    found = worktrees.find(options.name)
    if options.action == "merge":
        say(worktrees.merge(found))
        into = worktrees.shown(found.base)
        say(f"merged {found.name} into {into}: `synapse worktrees remove {found.name}` removes it")
    else:
        say(f"removed {found.name}; {worktrees.remove(found, options.force)}")
    return 0


def _list(as_json: bool) -> int:
    documents = [_document(found) for found in worktrees.list_worktrees()]
    if as_json:
        print_json(documents)
        return 0
    if not documents:
        say("there is no worktree: `synapse <profile> --in-worktree` makes one")
    for found in documents:
        say(_line(found))
    return 0


def _document(found: worktrees.Worktree) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": found.name,
        "path": found.path,
        "repository": found.repository,
        "branch": found.branch,
        "base": found.base,
        "agents": found.agents(),
    }
    try:
        ahead, behind = found.distance()
        more = {"changes": found.changes(), "conflicts": found.conflicts()}
        return about | {"ahead": ahead, "behind": behind, **more}
    except SynapseError as error:  # its branch or its base is gone
        return about | {"error": str(error)}


def _line(found: dict[str, Any]) -> str:
    who = ", ".join(found["agents"]) or "nobody"
    head = f"{found['name']}  {who}  {shortened(found['path'])}"
    if "error" in found:
        return f"{head}\n  {for_output(found['error'])}"
    facts = [f"{found['ahead']} ahead, {found['behind']} behind {worktrees.shown(found['base'])}"]
    if found["changes"]:
        facts.append(f"{len(found['changes'])} not committed")
    if found["conflicts"]:
        facts.append(f"conflicts in {', '.join(found['conflicts'])}")
    return f"{head}\n  {for_output('; '.join(facts))}"
