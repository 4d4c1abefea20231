"""`synapse tasks`: list the tasks that were sent, with their states."""

from typing import NamedTuple

from synapse.api.reply import usage_of
from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import age, say, show
from synapse.cli.shared.page import Page
from synapse.cli.shared.parser import AGENT, Parser
from synapse.errors import SynapseError
from synapse.launch.starts import Start, read_starts
from synapse.peers import control
from synapse.peers.remote import is_reachable, is_remote, reach, remote_entries, source_of
from synapse.registry import AgentRegistry, Entry
from synapse.tasks.shelf import list_tasks, rank
from synapse.tasks.task import Task, message_text, sender_id, task_of_document

HELP = "List the tasks of one agent or of all: those that ask, work or wait come first."
HEADER = ("TASK", "AGENT", "STATE", "AGE", "TOKENS", "FROM", "MESSAGE")
TOKENS = HEADER.index("TOKENS")
MOST = 500  # tasks that an agent lists at once


def parser() -> Parser:
    found = Parser("synapse tasks", HELP)
    found.add_word("target", AGENT, nargs="?", help="only the tasks of this running agent")
    found.add_json("print one JSON array of tasks")
    found.add_argument("-n", "--limit", type=int, default=20, metavar="N", help="at most N (default: 20)")
    return found


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    limit = max(options.limit, 1)
    found = _found(options.target, limit)
    documents = [{**one.task.to_dict(), "agent_id": one.agent_id, "agent": one.agent} for one in found]
    page = Page()
    rows = [HEADER, *(_row(one) for one in found)]
    if all(row[TOKENS] == "-" for row in rows[1:]):  # no CLI of these reports them
        rows = [row[:TOKENS] + row[TOKENS + 1 :] for row in rows]
    message = len(rows[0]) - 1
    none = ["no task has been sent yet: `synapse send <agent> <message>` sends one"]
    table = page.table(rows, flexible=(message, 1, message - 1), states=2)
    return show(options.json, documents, table if found else map(page.wrapped, none))


class _Found(NamedTuple):
    """A task, and its agent: its name, and how it is shown."""

    task: Task
    agent_id: str
    agent: str
    shown: str
    machine: str = ""


def _found(target: str | None, limit: int) -> list[_Found]:
    """The tasks of one agent, or those of all agents of this machine and of machines that answer."""
    if target is not None and is_remote(target):
        return _there(source_of(target.partition("@")[2]).entry(target), limit)
    agent_id = str(find_agent(target)["agent_id"]) if target else None
    names = _Names()
    found = [
        _Found(task, known, names.name(known, task.created_at), names.shown(known, task.created_at))
        for known, task in list_tasks(agent_id, limit)
    ]
    for entry in remote_entries() if target is None else ():
        if not entry["stale"]:
            try:
                found += _there(entry, limit)
            except SynapseError as error:
                say(f"synapse: {error}", error=True)
    return sorted(found, key=lambda one: (rank(one.task), -one.task.updated_at))[:limit]


def _there(entry: Entry, limit: int) -> list[_Found]:
    name, machine = str(entry["name"]), str(entry["machine"])
    if is_reachable(entry):
        documents = control.call(reach(entry), "GET", f"/tasks?limit={min(limit, MOST)}")["tasks"]
    else:
        documents = source_of(machine).tasks(entry)
    tasks = [task_of_document(document) for document in documents]
    return [_Found(task, str(entry["agent_id"]), name, name, machine) for task in tasks]


class _Names:
    """The names of agents, running or ended: that of each start, since an id may get another name later."""

    def __init__(self) -> None:
        self._running = {agent_id: str(e["name"]) for agent_id, e in AgentRegistry().list_agents().items()}
        self._starts: dict[str, list[Start]] = {}

    def name(self, agent_id: str, at: float) -> str:
        if agent_id not in self._starts:
            self._starts[agent_id] = read_starts(agent_id)
        before = [start.name for start in self._starts[agent_id] if start.at <= at]
        return before[-1] if before else self._running.get(agent_id, agent_id[:8])

    def shown(self, agent_id: str, at: float) -> str:
        name = self.name(agent_id, at)
        return name if self._running.get(agent_id) == name else f"{name} (ended)"


def _row(one: _Found) -> tuple[str, ...]:
    task = one.task
    short = f"{task.short_id}@{one.machine}" if one.machine else task.short_id
    message = " ".join(message_text(task.message).split())[:80]
    tokens = str(usage_of(task).tokens or "-")
    return short, one.shown, task.state, age(task.updated_at), tokens, sender_id(task.sender), message
