"""The parts of one agent, made from the relay's hello."""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable

from synapse.agent_context import SYSTEM, build_instructions
from synapse.agent_terminal import AgentTerminal
from synapse.agents.base import Surroundings, open_channel
from synapse.base import paths, processes
from synapse.delivery.courier import Delivery
from synapse.delivery.instructions import Instructions
from synapse.delivery.questions import Questions
from synapse.host.features import Features, default_features
from synapse.host.hello import Hello
from synapse.host.status import StatusWatch
from synapse.messages.display import Display
from synapse.messages.inbox import Inbox
from synapse.registry import AgentRegistry
from synapse.server.about import About
from synapse.server.outbound import Outbound
from synapse.tasks.conversation import Budget, Conversations
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.files import drop_files
from synapse.tasks.loop_guard import LoopGuard
from synapse.tasks.store import TaskStore

logger = logging.getLogger(__name__)


class Agent:
    """One agent as its host has it. The constructor makes every part; none is replaced later.

    `send` takes a frame for the relay; `umask` is the user's own."""

    def __init__(self, hello: Hello, send: Callable[[bytes], None], umask: int) -> None:
        settings = hello.settings
        self.hello = hello
        self.umask = umask
        self.about = About(
            agent_id=hello.agent_id,
            name=hello.name,
            agent_type=str(hello.entry["agent_type"]),
            working_dir=hello.working_dir,
            url=str(hello.entry["endpoint"]),
            title=hello.profile.title,
            description=hello.profile.description,
        )
        self.registry = AgentRegistry()
        self.features = Features()
        self.controller = controller = _controller(hello, send)
        self.status = StatusWatch(self._check)
        self.engine = _engine(hello, self.features)
        self.questions = Questions(
            controller,
            self.engine,
            agent=hello.name,
            path=os.path.join(hello.folder, "question.json"),
            run_name=hello.run,
            injected=hello.injected,
            is_agent=self.registry.is_agent,
            changed=self.features.question_changed,
        )
        self.delivery = Delivery(
            controller,
            self.engine,
            hello.folder,
            draft_patience=settings.routing.draft_patience,
            questions=self.questions,
            injected=hello.injected,
            look_soon=self.status.soon,
            run_name=hello.run,
            instructions=self._instructions() if hello.instruction_method == "message" else None,
            on_left=self._composer_left,
        )
        silent = settings.input_routing.feedback == "silent"
        self.inbox = Inbox(chord=settings.values["overlay_keys"], silent=silent)
        self.display = Display(
            self.inbox,
            controller.screen,
            written=lambda: controller.written,
            send=send,
            later=asyncio.get_running_loop().call_later,
            act=self.features.inbox_action,
            young=not hello.is_whole,
            placed=hello.is_placed,
            resumes=hello.resumes,
        )
        self.outbound = Outbound(self.engine.store, settings.push.allow_private)
        self.features.add(*default_features(self))
        controller.add_output_callback(self.features.output)
        controller.add_status_callback(self.features.status_changed)
        controller.observer.on_file_changed = self.features.file_changed
        controller.observer.turns.on_turn(lambda _: None, self.features.turn_ended)
        self.engine.store.on_event(self.features.task_changed)
        self.status.soon()  # the agent may never write

    def _check(self) -> float | None:
        """Look at the status and at what is asked. Returns the seconds until the next look, if one is due."""
        waits = (self.controller.check_status(), self.questions.look())
        return min((wait for wait in waits if wait is not None), default=None)

    def _instructions(self) -> Instructions:
        def build() -> str:
            return f"[{SYSTEM}] {build_instructions(self.hello.entry, self.registry.list_agents().values())}"

        return Instructions(build, os.path.join(self.hello.folder, "instructed.json"), self.hello.run)

    def _composer_left(self, why: str) -> None:
        self.inbox.failed_to_come("composer", self.hello.name, why)
        self.display.changed()


def _controller(hello: Hello, send: Callable[[bytes], None]) -> AgentTerminal:
    profile = hello.profile
    env = {**os.environ, **{key: value or "" for key, value in profile.env.items()}}
    around = Surroundings(
        hello.working_dir, env, hello.started_at, hello.child, paths.session_file(hello.agent_id)
    )
    channel = open_channel(profile.channel, around)
    controller = AgentTerminal(
        profile,
        channel,
        send,
        *hello.size,
        foreground=lambda: processes.has_terminal(hello.child),
        edits_lines=lambda: processes.edits_lines(hello.child),
    )
    controller.screen.feed(hello.before)
    controller.keys, controller.written = hello.keys, hello.written
    controller.set_draft(*hello.draft)
    if controller.draft:  # what is behind the prompt is no part of it
        controller.observer.key(False, controller.last_key)
    controller.console_changed(hello.console is not None)
    return controller


def _engine(hello: Hello, features: Features) -> TaskEngine:
    limits, routing = hello.settings.limits, hello.settings.routing
    path = os.path.join(hello.folder, "tasks.db")
    refusing = ""
    try:
        store = TaskStore(path, hello.run, limits.history)
    except (sqlite3.Error, OSError) as error:
        refusing = f"{path} cannot be opened ({error})"
        logger.error("no tasks are accepted: %s", refusing)
        store = TaskStore(run=hello.run)
    store.on_dropped = lambda dropped: drop_files(hello.folder, dropped)
    return TaskEngine(
        store,
        Limits(limits.queue, limits.message, limits.events),
        refusing,
        guard=LoopGuard((hello.agent_id, hello.name), routing.max_hops, routing.pair_per_minute),
        conversations=Conversations(
            store,
            hello.agent_id,
            Budget(routing.budget.turns, routing.budget.tokens, routing.budget.messages),
        ),
        on_refused=features.message_refused,
    )
