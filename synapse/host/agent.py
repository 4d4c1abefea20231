"""One agent as its host has it: every part, from the relay's hello on."""

from __future__ import annotations

from dataclasses import dataclass

from synapse.controller import TerminalController
from synapse.delivery.courier import Delivery
from synapse.host.features import Features
from synapse.host.hello import Hello
from synapse.host.status import StatusWatch
from synapse.messages.display import Display
from synapse.messages.inbox import Inbox
from synapse.registry import AgentRegistry
from synapse.server.about import About
from synapse.server.outbound import Outbound
from synapse.tasks.engine import TaskEngine


@dataclass(frozen=True)
class Agent:
    hello: Hello
    umask: int  # the user's own
    about: About
    registry: AgentRegistry
    controller: TerminalController
    status: StatusWatch
    engine: TaskEngine
    delivery: Delivery
    inbox: Inbox
    display: Display
    outbound: Outbound
    features: Features
