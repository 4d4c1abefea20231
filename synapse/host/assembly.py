"""From the relay's hello to an agent whose parts are all there."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from synapse.agent_terminal import AgentTerminal
from synapse.agents.base import Surroundings, open_channel
from synapse.delivery.courier import Delivery
from synapse.host.features import Features, default_features
from synapse.host.hello import Hello
from synapse.host.status import StatusWatch
from synapse.messages.display import Display
from synapse.messages.inbox import Inbox
from synapse.registry import AgentRegistry
from synapse.server.about import About
from synapse.server.outbound import Outbound
from synapse.tasks.engine import Limits, TaskEngine
from synapse.tasks.files import drop_files
from synapse.tasks.loop_guard import LoopGuard
from synapse.tasks.store import TaskStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Agent:
    """One agent as its host has it. No part is missing, and none is replaced."""

    hello: Hello
    umask: int  # the user's own
    about: About
    registry: AgentRegistry
    controller: AgentTerminal
    status: StatusWatch
    engine: TaskEngine
    delivery: Delivery
    inbox: Inbox
    display: Display
    outbound: Outbound
    features: Features


def assemble(hello: Hello, send: Callable[[bytes], None], umask: int) -> Agent:
    """`send` takes a frame for the relay."""
    settings, registry, features = hello.settings, AgentRegistry(), Features()
    controller = _controller(hello, send)
    status = StatusWatch(controller.check_status)
    engine = _engine(hello, features)
    delivery = Delivery(
        controller,
        engine,
        hello.folder,
        injected=hello.injected,
        is_agent=registry.is_agent,
        look_soon=status.soon,
        run=hello.run,
        draft_patience=settings.routing.draft_patience,
    )
    inbox = Inbox(chord=settings.values["overlay_keys"], silent=settings.input_routing.feedback == "silent")
    display = Display(
        inbox,
        controller.screen,
        written=lambda: controller.written,
        send=send,
        later=asyncio.get_running_loop().call_later,
        act=features.inbox_action,
        young=not hello.is_whole,
        placed=hello.is_placed,
    )
    agent = Agent(
        hello=hello,
        umask=umask,
        about=_about(hello),
        registry=registry,
        controller=controller,
        status=status,
        engine=engine,
        delivery=delivery,
        inbox=inbox,
        display=display,
        outbound=Outbound(engine.store, settings.push.allow_private),
        features=features,
    )
    features.add(*default_features(agent))
    controller.add_output_callback(features.output)
    controller.add_status_callback(features.status_changed)
    controller.observer.turns.on_turn(lambda _: None, features.turn_ended)
    engine.store.on_event(features.task_changed)
    return agent


def _controller(hello: Hello, send: Callable[[bytes], None]) -> AgentTerminal:
    profile = hello.profile
    env = {**os.environ, **{key: value or "" for key, value in profile.env.items()}}
    channel = open_channel(
        profile.channel, Surroundings(hello.working_dir, env, hello.started_at, hello.child)
    )
    controller = AgentTerminal(profile, channel, send, *hello.size)
    controller.keys, controller.written = hello.keys, hello.written
    controller.set_draft(*hello.draft)
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
        logger.error("no tasks are taken: %s", refusing)
        store = TaskStore(run=hello.run)
    store.on_dropped = lambda dropped: drop_files(hello.folder, dropped)
    return TaskEngine(
        store,
        Limits(limits.queue, limits.message, limits.events),
        refusing,
        guard=LoopGuard((hello.agent_id, hello.name), routing.max_hops, routing.pair_per_minute),
        on_refused=features.message_refused,
    )


def _about(hello: Hello) -> About:
    return About(
        agent_id=hello.agent_id,
        name=hello.name,
        agent_type=str(hello.entry["agent_type"]),
        working_dir=hello.working_dir,
        url=str(hello.entry["endpoint"]),
        title=hello.profile.title,
        description=hello.profile.description,
    )
