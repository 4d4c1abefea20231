"""What every other agent can do, however it is reached, and how agents are found.

A way to reach agents is one module with a `Peer` and a `Source`; `peers/directory.py` lists the sources.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from synapse.peers.task import A2AMessage, A2ATask, Json, OnEvent


class Commands(NamedTuple):
    """What a person types to see, answer and cancel one task; `short` is its id in sentences."""

    short: str
    shows: str
    answers: str
    cancels: str


class Peer(Protocol):
    """Another agent. `timeout` is in seconds; when it is over, StillWorking is raised and nothing canceled.

    `on_event(kind, data)` is told queued, accepted, delivered, working, asks, partial, done, card_changed;
    `data["task_id"]` is there as soon as the agent has given the task an id.
    """

    @property
    def name(self) -> str:
        """For people, and to find it again."""

    @property
    def address(self) -> str:
        """`Directory.at` gives this peer for it, in a later process too."""

    @property
    def idempotent(self) -> bool:
        """Whether a message that is sent twice with one `request_id` arrives once."""

    @property
    def sender(self) -> Json:
        """Who the author of its replies is, as `sender` of a task."""

    async def send(
        self,
        message: str | A2AMessage,
        *,
        priority: int = 1,
        wait: bool = False,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
        request_id: str = "",
        metadata: Json | None = None,
    ) -> A2ATask:
        """The task; with `wait`, when it has ended or asks something (`through_questions`: only at its end).

        `metadata` takes the place of the chain of agents that the message comes through.
        """

    async def follow(
        self,
        task_id: str,
        *,
        timeout: float | None = None,
        on_event: OnEvent | None = None,
        through_questions: bool = False,
    ) -> A2ATask:
        """Wait for a task that was sent before."""

    async def answer(self, task_id: str, text: str) -> None:
        """Answer what a task asks. Never sent twice; raises if it was not taken."""

    async def get(self, task_id: str) -> A2ATask: ...

    async def cancel(self, task_id: str) -> A2ATask: ...

    def commands(self, task_id: str) -> Commands: ...


class Listed(NamedTuple):
    """A name that something can be sent to, and what it means."""

    name: str
    about: str


class Source(Protocol):
    """The agents that are reached in one way."""

    @property
    def kind(self) -> str:
        """What the addresses of its peers begin with, before a colon."""

    def find(self, name: str) -> Peer:
        """Raises NoSuchAgent, or TargetError if the name could mean several."""

    def at(self, place: str, name: str) -> Peer:
        """By what comes after the colon of an address. It may have ended: then its calls say so."""

    def author(self, sender: Json) -> Peer | None:
        """Who has sent a task, if it can be reached."""

    def everybody(self, here: bool) -> list[Peer]:
        """Those that a broadcast reaches; `here`: those that work in the same directory."""

    def names(self) -> set[str]:
        """Every name that `find` understands."""

    def listed(self) -> list[Listed]:
        """Each agent once."""

    def stamp(self) -> object:
        """Something else whenever somebody may have come or gone; cheap."""
