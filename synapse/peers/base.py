"""The interface of every other agent, local or external, and of the ways to find them.

A way to reach agents is one module with a `Peer` and a `Source`; `peers/directory.py` lists the sources.
"""

from typing import NamedTuple, Protocol, TypedDict, Unpack

from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent


class Commands(NamedTuple):
    """The commands to see, answer and cancel one task; `short` is its id in sentences."""

    short: str
    shows: str
    answers: str
    cancels: str


class Waiting(TypedDict, total=False):
    """How a caller waits for a task.

    `on_event(kind, data)` gets queued, accepted, delivered, working, asks, partial, done, card_changed;
    `data["task_id"]` is there as soon as the agent has given the task an id. With `through_questions` the
    wait ends only with the task; without, also when the task asks something.
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

    async def answer(self, task_id: str, text: str) -> None:
        """Answer what a task asks. Never sent twice: a lost answer may have been typed."""

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
