"""The features of a host: what it does for an agent besides its terminal and its tasks.

A feature is an object with one or more of the hooks of `Features`, by the same names. To add one, write the
class and add a line to `default_features`, or to `late_features` if its modules take long to load.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from synapse.base import paths
from synapse.base.loading import load
from synapse.event_emitter import SSEEvent
from synapse.host.output_log import OutputLog, ScreenLog
from synapse.host.status import StatusPublisher
from synapse.messages.inbox import Action
from synapse.tasks.task import Task
from synapse.watch.turns import Turn

if TYPE_CHECKING:
    from synapse.host.assembly import Agent

logger = logging.getLogger(__name__)

HOOKS = (
    "output", "status_changed", "turn_ended", "task_changed", "message_refused", "inbox_action", "close",
)  # fmt: skip


def default_features(agent: Agent) -> list[object]:
    """Those that every agent has from the start, in the order in which their hooks are called."""
    log = OutputLog(paths.output_file(agent.hello.name))
    return [
        agent.display,
        ScreenLog(log, agent.controller.screen, asyncio.get_running_loop().call_later),
        StatusPublisher(agent.registry, agent.hello.agent_id),
        agent.delivery,
        agent.outbound,
    ]


async def late_features(agent: Agent) -> list[object]:
    """Those that are loaded after the start: messages to other agents, and the replies."""
    await load("synapse.messages.messenger", "synapse.messages.notices")
    from synapse.launch.starter import Starter
    from synapse.messages.messenger import Messenger
    from synapse.messages.notices import Notices
    from synapse.messages.pending import PendingMessages
    from synapse.peers.directory import open_directory
    from synapse.peers.origin import Origin

    hello = agent.hello
    origin = Origin(hello.agent_id, hello.name, in_turn=False)
    starter = Starter(hello.settings.agents, hello.working_dir, agent.umask)
    directory = open_directory(origin, me=hello.entry, startable=starter.names, local=agent.registry)
    messenger = Messenger(
        controller=agent.controller,
        directory=directory,
        pending=PendingMessages(os.path.join(hello.folder, "sent"), hello.run),
        engine=agent.engine,
        inbox=agent.inbox,
        changed=agent.display.changed,
        starter=starter,
        routing=hello.settings.input_routing,
        later=asyncio.get_running_loop().call_later,
    )
    messenger.open()
    notices = Notices(agent.engine, directory, origin)
    notices.open()
    return [messenger, notices]


class Features:
    """Calls the hooks. One that fails is logged, and the next feature is called."""

    def __init__(self) -> None:
        self._called: dict[str, list[tuple[str, Callable[..., Any]]]] = {hook: [] for hook in HOOKS}

    def add(self, *features: object) -> None:
        for feature in features:
            hooks = [hook for hook in HOOKS if hasattr(feature, hook)]
            if not hooks:
                raise TypeError(f"{feature} is not a feature: it has none of the hooks {', '.join(HOOKS)}")
            for hook in hooks:
                self._called[hook].append((f"{type(feature).__name__}.{hook}", getattr(feature, hook)))

    def output(self, data: bytes) -> None:
        """The agent has written this, and the screen shows it already."""
        self._call("output", data)

    def status_changed(self, status: str) -> None:
        """The agent is READY, PROCESSING or INPUT_REQUIRED from now on."""
        self._call("status_changed", status)

    def turn_ended(self, turn: Turn) -> None:
        """The agent has ended a turn that a task or the human had begun."""
        self._call("turn_ended", turn)

    def task_changed(self, task: Task, event: SSEEvent) -> None:
        """An event of a task was stored. If `task.ended`, it was the last one."""
        self._call("task_changed", task, event)

    def message_refused(self, sender: str, why: str) -> None:
        """The loop guard refused a message."""
        self._call("message_refused", sender, why)

    def inbox_action(self, action: Action) -> None:
        """The human wants something done with an entry of the inbox."""
        self._call("inbox_action", action)

    async def close(self) -> None:
        """The host ends; every task has ended. A feature's `close` is a coroutine."""
        for name, close in self._called["close"]:
            try:
                await close()
            except Exception:
                logger.exception("%s failed", name)

    def _call(self, hook: str, *what: object) -> None:
        for name, call in self._called[hook]:
            try:
                call(*what)
            except Exception:
                logger.exception("%s failed", name)
