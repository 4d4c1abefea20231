"""The instructions of an agent: its name, who else is running, how messages arrive and how to send one.

Standard library only and quick to import: the relay puts the text on the command line of CLIs that allow it.
"""

from __future__ import annotations

from synapse.base import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SYSTEM = "synapse-system"
TEXT = """\
You are the agent {name!r} in a Synapse A2A session: other coding agents on this machine can send you
messages, and you can send them some. Running now: {here} (`{synapse} list` shows who runs).
- A message from another agent or program begins with [A2A:<task>:<sender>]. Your answer goes back by itself:
  just answer.
- To ask another agent, run `{synapse} send <name> --return "message"` in your shell: its reply is
  printed. To tell it something without waiting: `{synapse} send <name> --no-wait "message"`.
- A notice that says it needs no answer needs none. Do not send thanks."""
OTHERS = 12  # other agents that are named; `synapse list` shows the rest


def build_instructions(me: Mapping[str, object], others: Iterable[Mapping[str, object]]) -> str:
    """`me` and `others` are registry entries."""
    name = me["name"]
    running = [f"{other['name']} ({other['agent_type']})" for other in others if other["name"] != name]
    here = ", ".join(running[:OTHERS]) or "nobody else at the moment"
    if len(running) > OTHERS:
        here += f" and {len(running) - OTHERS} more"
    return TEXT.format(name=name, here=here, synapse=paths.our_command())
