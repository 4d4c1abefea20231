"""`synapse machine`: other machines that are reached by SSH. Their agents are `agent@machine`."""

import argparse
import time
from collections.abc import Callable

from synapse import __version__
from synapse.cli.shared.output import say, show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import MACHINE, Parser
from synapse.errors import SynapseError, UsageError
from synapse.peers.external.agents import ExternalAgentRegistry
from synapse.peers.machines import known, outbox, ssh
from synapse.peers.machines.known import Known
from synapse.peers.machines.machine import FORM, Machine, Machines, parse

HELP = f"""\
Use the agents of other machines, which are reached with your own ssh: `codex@box` is the agent `codex` of the
machine `box`. Synapse must be installed there; nothing has to run.

  synapse machine add box {FORM}
  synapse send codex@box --return "review the changes in this directory"
"""
_COLUMNS = ("NAME", "ADDRESS", "STATE", "HOST", "SYNAPSE", "AGENTS")
CONNECTING = ssh.CONNECTING + 12.0  # seconds for an attempt to connect
ENDING = 5.0  # seconds for the connection to end
_SHOWN = {known.CONNECTED: "connected", known.CONNECTING: "connecting", "": "not connected"}


def main(argv: list[str]) -> int:
    if argv == ["feed"]:  # what `ssh` runs on the other machine
        from synapse.peers.machines.feed import feed

        return feed()
    if len(argv) == 2 and argv[0] == "deliver":  # what the link runs, once the machine is connected
        import asyncio

        asyncio.run(outbox.hand_over(Machines().get(argv[1])))
        return 0
    options = parser().parse_args(argv)
    return int(options.run(Machines(), options))


def parser() -> Parser:
    found = Parser("synapse machine", HELP)
    actions = found.add_subparsers(required=True, metavar="add|list|remove|test")

    def action(run: Callable[[Machines, argparse.Namespace], int], help: str) -> Parser:
        name = run.__name__.lstrip("_")
        made: Parser = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        made.set_defaults(run=run)
        return made

    add = action(_add, "add a machine, or change its address, and connect to it")
    add.add_argument("name", help="its name here: `codex@NAME` is its agent `codex`")
    add.add_argument("url", help=f"{FORM}; what is left out, your ssh configuration says")
    add.add_argument("--synapse", default="", metavar="PATH", help="where Synapse is there, if not in PATH")
    action(_list, "list the machines").add_json("print one JSON array")
    action(_remove, "remove a machine and end the connection to it").add_word("name", MACHINE)
    action(_test, "connect to a machine and say what works").add_word("name", MACHINE)
    return found


def _add(machines: Machines, options: argparse.Namespace) -> int:
    machine = parse(options.name, options.url, options.synapse)
    taken = ExternalAgentRegistry().get(machine.name)
    if taken is not None:
        raise UsageError(
            f"{taken.alias} is the alias of an external agent: choose another name for the machine, "
            f"or remove it with `synapse external remove {taken.alias}`."
        )
    before = machines.find(machine.name)
    is_new = machines.add(machine)
    if before is not None and before != machine:
        _end(before)
    say(f"{'added' if is_new else 'changed'} {machine.name} ({machine.url})", flush=True)
    return _test(machines, options)


def _test(machines: Machines, options: argparse.Namespace) -> int:
    machine = machines.get(options.name)
    began = time.monotonic()
    found = known.wait(machine, CONNECTING)
    if not found.connected:
        why = found.note or "it does not answer: try again."
        raise SynapseError(f"{machine.name} cannot be reached: {why}")
    took = time.monotonic() - began
    names = ", ".join(str(entry["name"]) for entry in found.agents)
    say(f"{machine.name} is connected ({took:.1f} s): Synapse {found.version} on {found.host}")
    say(f"its agents: {names or 'none; start one there with `synapse start PROFILE`'}")
    if note := other_version(found):
        say(f"note: {note}")
    return 0


def _list(machines: Machines, options: argparse.Namespace) -> int:
    all_known = [known.read(machine) for machine in machines.list()]
    documents = [
        {
            "name": found.machine.name,
            "url": found.machine.url,
            "synapse": found.machine.synapse,
            "state": _SHOWN.get(found.state, found.state),
            "note": found.note,
            "host": found.host,
            "version": found.version,
            "agents": [entry["name"] for entry in found.agents],
            "waiting": outbox.waiting(found.machine),
            "failed": outbox.failures(found.machine),
        }
        for found in all_known
    ]
    page = Page()
    if not all_known:
        none = f"no machine is known: `synapse machine add NAME {FORM}` adds one"
        return show(options.json, documents, [page.wrapped(none)])
    rows = [_COLUMNS, *(_row(found) for found in all_known)]
    notes = [f"{found.machine.name}: {note}" for found in all_known for note in _notes(found)]
    return show(options.json, documents, [*page.table(rows, flexible=(1, 3)), *map(page.wrapped, notes)])


def _row(found: Known) -> tuple[str, ...]:
    state = _SHOWN.get(found.state, "cannot be reached")
    machine = found.machine
    return machine.name, machine.url, state, found.host, found.version or "-", str(len(found.agents))


def _notes(found: Known) -> list[str]:
    count = outbox.waiting(found.machine)
    kept = f"{count} message{'s wait' if count > 1 else ' waits'} here until it answers" if count else ""
    return [note for note in (_note(found), kept, *outbox.failures(found.machine)) if note]


def _note(found: Known) -> str:
    if found.state in (known.CONNECTED, ""):
        return other_version(found)
    wait = found.next - time.time()
    again = f" (next attempt in {wait:.0f} s)" if wait > 0.5 else ""
    return f"{found.note}{again}"


def other_version(found: Known) -> str:
    if not found.version or found.version == __version__:
        return ""
    return (
        f"Synapse there is {found.version}, and here {__version__}: "
        "if something does not work, install the same version."
    )


def _remove(machines: Machines, options: argparse.Namespace) -> int:
    machine = machines.get(options.name)
    machines.remove(machine.name)
    _end(machine)
    unsent = outbox.drop(machine)
    say(f"removed {machine.name}" + (f"; {unsent} messages to it were not sent" if unsent else ""))
    return 0


def _end(machine: Machine) -> None:
    """The link of a machine that is not known any more, or that has changed, ends."""
    deadline = time.monotonic() + ENDING
    while known.is_linked(machine) and time.monotonic() < deadline:
        time.sleep(0.02)
    if not known.is_linked(machine):
        known.forget(machine)
