"""The features of a host: what it does for an agent besides its terminal and its tasks.

A feature is an object with one or more of the hooks of `Features`, by the same names. To add one, write the
class and add a line to `default_features`, or to `late_features` if its modules take long to load.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from synapse.base import paths
from synapse.base.loading import load
from synapse.delivery.question import Question
from synapse.event_emitter import SSEEvent
from synapse.host.output_log import OutputLog, ScreenLog
from synapse.host.status import LimitPublisher, StatusPublisher
from synapse.messages.inbox import Action
from synapse.tasks.task import Task
from synapse.watch.turns import Turn

if TYPE_CHECKING:
    from synapse.config import Notify
    from synapse.host.assembly import Agent
    from synapse.mesh.host import Parts

logger = logging.getLogger(__name__)

HOOKS = (
    "output", "status_changed", "turn_ended", "task_changed", "question_changed", "message_refused",
    "file_changed", "inbox_action", "drain", "close",
)  # fmt: skip


def default_features(agent: Agent) -> list[object]:
    """Those that every agent has from the start, in the order in which their hooks are called."""
    log = OutputLog(paths.output_file(agent.hello.name))
    later = asyncio.get_running_loop().call_later
    return [
        agent.display,
        ScreenLog(log, agent.controller.screen, later),
        StatusPublisher(agent.registry, agent.hello.entry, later, agent.controller.status),
        LimitPublisher(agent.registry, agent.hello.agent_id, agent.controller),
        agent.delivery,
        agent.outbound,
    ]


async def late_features(agent: Agent) -> list[object]:
    """Those that are loaded after the start: messages to other agents, and the replies."""
    await load("synapse.messages.messenger", "synapse.messages.notices", "synapse.host.edits")
    from synapse.host.edits import Edits
    from synapse.launch.starter import Starter
    from synapse.messages.awaited import AwaitedReplies
    from synapse.messages.messenger import Messenger
    from synapse.messages.notices import Notices
    from synapse.messages.pending import PendingMessages
    from synapse.peers.directory import open_directory
    from synapse.peers.origin import Origin
    from synapse.peers.remote import never_wait

    never_wait()
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
    awaited = AwaitedReplies(
        folder=paths.awaited_dir(hello.agent_id),
        relay=int(str(hello.entry["pid"])),
        engine=agent.engine,
        directory=directory,
        later=asyncio.get_running_loop().call_later,
    )
    awaited.open()
    edits = Edits(
        agent_id=hello.agent_id,
        working_dir=hello.working_dir,
        registry=agent.registry,
        inbox=agent.inbox,
        changed=agent.display.changed,
        later=asyncio.get_running_loop().call_later,
    )
    edits.open()
    found: list[object] = [messenger, notices, awaited, edits, await _mesh(agent)]
    found += _checks(agent)
    if (notify := hello.settings.notify).command or notify.terminal or notify.toast:
        found.append(await _notifications(agent, notify))
    return found


def _checks(agent: Agent) -> list[object]:
    from synapse.host.checks import Checks
    from synapse.launch.extras import missing_mcp

    hello = agent.hello
    no_tools = missing_mcp() if hello.profile.mcp and hello.generation == 1 else ""
    if no_tools:
        logger.warning("mcp: true in the profile gives the CLI no tools: %s", no_tools)
    if hello.console is None:
        return []  # nobody sees the note
    checks = Checks(
        profile=hello.profile,
        inbox=agent.inbox,
        changed=agent.display.changed,
        later=asyncio.get_running_loop().call_later,
        no_tools=bool(no_tools),
    )
    checks.open()
    return [checks]


async def _mesh(agent: Agent) -> object:
    await load("synapse.mesh.switch")
    from synapse.mesh.switch import MeshSwitch

    def parts() -> Parts:
        from synapse.mesh.host import Parts

        settings = agent.hello.settings.mesh
        return Parts(
            about=agent.about,
            engine=agent.engine,
            questions=agent.questions,
            registry=agent.registry,
            status=lambda: agent.controller.status,
            allow=settings.allow,
            keeps_tasks=settings.keep_tasks,
        )

    made = MeshSwitch(parts)
    made.open()
    return made


async def _notifications(agent: Agent, settings: Notify) -> object:
    await load("synapse.host.notifications")
    from synapse.host.notifications import Notifications
    from synapse.peers.questions import QuestionWatch

    made = Notifications(
        agent=agent.hello.name,
        settings=settings,
        inbox=agent.inbox,
        typed_ago=lambda: time.monotonic() - agent.controller.last_key,
        tell_terminal=agent.display.send_once,
        watch=QuestionWatch(agent.registry, me=agent.hello.agent_id),
        changed=agent.display.changed,
    )
    made.open()
    for question in agent.questions.list():  # asked while this was loaded
        made.question_changed(question)
    return made


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

    def question_changed(self, question: Question | None) -> None:
        """The agent asks this from now on, or nothing. Called again when the question becomes a task's."""
        self._call("question_changed", question)

    def message_refused(self, sender: str, why: str) -> None:
        """The loop guard refused a message."""
        self._call("message_refused", sender, why)

    def file_changed(self, path: str, at: float) -> None:
        """The agent has changed a file, then (wall clock; 0: now). Old changes may be reported again."""
        self._call("file_changed", path, at)

    def inbox_action(self, action: Action) -> None:
        """The human wants something done with an entry of the inbox."""
        self._call("inbox_action", action)

    async def drain(self) -> None:
        """Every task has ended: send what is owed. A feature's `drain` is a coroutine."""
        await asyncio.gather(*(_contained(name, drain) for name, drain in self._called["drain"]))

    async def close(self) -> None:
        """The host ends; every task has ended. A feature's `close` is a coroutine."""
        for name, close in self._called["close"]:
            await _contained(name, close)

    def _call(self, hook: str, *what: object) -> None:
        for name, call in self._called[hook]:
            try:
                call(*what)
            except Exception:
                logger.exception("%s failed", name)


async def _contained(name: str, hook: Callable[[], Awaitable[None]]) -> None:
    try:
        await hook()
    except Exception:
        logger.exception("%s failed", name)
