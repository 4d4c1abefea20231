"""`synapse stop`: stop agents and wait until they have ended."""

from synapse.cli.shared.agents import find_agent_here
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import AGENT, Parser
from synapse.errors import SynapseError, TargetError, UsageError
from synapse.launch.stopping import did_not_end, stop
from synapse.registry import AgentRegistry, Entry

HELP = """\
Stop agents and wait until they have ended. Those that run are stopped, even if another one cannot be found.
The exit status is then 3.
"""


def parser() -> Parser:
    found = Parser("synapse stop", HELP)
    found.add_word("target", AGENT, nargs="*", help="a name, a type, type-port, or the beginning of an id")
    found.add_argument("--all", action="store_true", help="stop every running agent")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    registry = AgentRegistry()
    if options.all and options.target:
        raise UsageError("--all stops every agent: leave the names out, or --all.")
    if not options.all and not options.target:
        raise UsageError("no agent is named: name those to stop, or use --all.")
    entries = list(registry.list_agents().values())
    missing: list[TargetError] = []
    if options.all and not entries:
        say("no agent is running")
    if options.target:
        entries, missing = _find(options.target)
    for error in missing:  # before the others end: it lists the running ones
        say(f"synapse: {error}", error=True)
    left = stop(registry, entries)
    for entry in entries:
        if entry not in left:
            say(f"stopped {entry['name']}")
    failures: list[SynapseError] = list(missing)
    if left:
        failures.append(did_not_end(left))
        say(f"synapse: {failures[-1]}", error=True)
    statuses = {failure.exit_status for failure in failures}
    return statuses.pop() if len(statuses) == 1 else int(bool(statuses))


def _find(targets: list[str]) -> tuple[list[Entry], list[TargetError]]:
    """Each agent once, and an error for each name that does not mean one."""
    found: dict[object, Entry] = {}
    missing = []
    for target in targets:
        try:
            entry = find_agent_here(target)
            found[entry["agent_id"]] = entry
        except TargetError as error:
            missing.append(error)
    return list(found.values()), missing
