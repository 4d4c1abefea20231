"""The interface of every other agent, local, external or on another machine, and of the ways to find them.

A way to reach agents is one module with a `Peer` and a `Source`; `peers/directory.py` lists the sources.
Agents on other machines are named `agent@machine`: their source is a `RemoteSource`, listed in
`peers/remote.py`, and everything that shows or drives agents (`list`, `screen`, `tasks`, `top` …) finds them
there.
"""

from typing import NamedTuple, Protocol, TypedDict, Unpack

from synapse.peers.status import MachineStatus
from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent
from synapse.registry import Entry


class Commands(NamedTuple):
    """The commands to see, answer and cancel one task; `short` is its id in sentences."""

    short: str
    shows: str
    answers: str
    cancels: str


class Waiting(TypedDict, total=False):
    """How a caller waits for a task.

    `on_event(kind, data)` gets queued, accepted, delivered, working, asks, partial, done, card_changed, and
    unreachable (a machine does not answer: `data["note"]` says why, and the message or its reply waits; with
    an empty note it answers again); `data["task_id"]` is there as soon as the agent has given the task an id.
    With `through_questions` the wait ends only with the task; without, also when the task asks something.
    """

    on_event: OnEvent | None
    through_questions: bool


class Peer(Protocol):
    """Another agent. After `timeout` seconds StillWorking is raised and nothing is canceled."""

    @property
    def name(self) -> str: ...

    @property
    def address(self) -> str:
        """`Directory.at` returns this peer for it, in a later process too."""

    @property
    def idempotent(self) -> bool:
        """Whether a message that is sent twice with one `request_id` arrives once."""

    @property
    def sender(self) -> Json:
        """The author of its replies, as `sender` of a task."""

    async def send(
        self,
        message: str | A2AMessage,
        *,
        priority: int = 1,
        wait: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
        timeout: float | None = None,
        expires: float | None = None,
        **waiting: Unpack[Waiting],
    ) -> A2ATask:
        """`metadata` replaces the chain of agents that the message comes through. After `expires` seconds a
        message that the agent has not got fails."""

    async def follow(
        self, task_id: str, *, timeout: float | None = None, **waiting: Unpack[Waiting]
    ) -> A2ATask:
        """Wait for a task that was sent before."""

    async def answer(self, task_id: str, text: str, question: str = "") -> None:
        """Answer what a task asks. Never sent twice: a lost answer may have been typed. `question` is the id
        of the question that is answered, if it has one: the answer to another one is refused."""

    async def get(self, task_id: str) -> A2ATask: ...

    async def cancel(self, task_id: str) -> A2ATask: ...

    def commands(self, task_id: str) -> Commands: ...


class Listed(NamedTuple):
    """A name that a message can be sent to, and what it means."""

    name: str
    about: str


class Source(Protocol):
    """The agents that are reached in one way."""

    @property
    def kind(self) -> str:
        """The first part of its peers' addresses, before the colon."""

    def find(self, name: str) -> Peer:
        """Raises NoSuchAgent, or TargetError if the name could mean several."""

    def at(self, place: str, name: str) -> Peer:
        """The peer for the second part of an address. If it has ended, its calls raise."""

    def author(self, sender: Json) -> Peer | None:
        return None

    def everybody(self, here: bool) -> list[Peer]:
        """The peers that a broadcast reaches; `here`: only those in the same directory."""
        return []

    def names(self) -> set[str]:
        """Every name that `find` understands."""

    def listed(self) -> list[Listed]:
        """Each agent once."""

    @property
    def folder(self) -> str:
        """The directory that changes when an agent is added or removed."""


class RemoteSource(Source, Protocol):
    """Agents on other machines. Each is an `Entry` as in the registry, with these differences:

    `name` is `agent@machine`; `machine` and `host` say where it runs; `source` is the `kind` of this source;
    `stale` is true if the machine does not answer and this is what was known last; `endpoint` is the address
    of the machine, since the agent's own port is not reachable from here; `agent_id` is the id that it has
    there; `messages_only` is true if only messages reach it. `find` accepts `name@machine` for every name
    that the machine itself resolves, and also an agent that is not known yet if the machine is not reached at
    the moment: the message then waits. Methods are called outside of an event loop, or in a thread, except
    those of `Source`, which return at once.
    """

    def machines(self) -> list[MachineStatus]:
        """Every machine, without waiting. `names` has `@machine` for each: its agents can be addressed."""

    def entries(self, patience: float) -> list[Entry]:
        """The agents of all machines; machines that do not answer within `patience` seconds are stale."""

    def entry(self, name: str) -> Entry:
        """The agent that `name@machine` means. It may block for some seconds until the machine is connected.
        Raises NoSuchAgent, TargetError if the name could mean several, SynapseError if there is no way."""

    def reach(self, entry: Entry) -> Entry:
        """The entry with a `socket` on this machine that answers as the agent's private socket does (HTTP and
        WebSocket): for `screen`, `keys`, `why`, `top`, `view`. It may block for some seconds. Raises
        SynapseError with the reason if there is no such way at the moment, or none at all."""

    def peer(self, entry: Entry) -> Peer:
        """The peer for one of `entries`."""

    def task(self, machine: str, task_id: str) -> tuple[Entry, Json]:
        """A task of one of its agents, running or ended, by its id or the beginning of it; with the entry of
        its agent, which has no `port` if the agent has ended. Raises TargetError if there is none."""

    def tasks(self, entry: Entry) -> list[Json]:
        """The tasks that this machine sent to an agent that cannot be reached (`messages_only`)."""
        return []

    def attach(self, entry: Entry) -> list[str]:
        """The command that attaches this terminal to the agent. Raises SynapseError if there is no way."""
