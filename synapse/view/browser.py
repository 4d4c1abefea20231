"""One open page: what it is told over its WebSocket, and what it asks for."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
import time
from collections.abc import Coroutine
from typing import Any

from starlette.types import Receive, Send
from websockets.asyncio.client import ClientConnection, unix_connect

from synapse import __version__
from synapse.errors import SynapseError, UsageError
from synapse.event_emitter import timestamp
from synapse.profiles.files import profile_names
from synapse.view import actions, tasks
from synapse.view.agents import CONNECTING, CONNECTION_ENDED, URI, Agent, Agents
from synapse.view.runs import Runs

logger = logging.getLogger(__name__)

TOGETHER = 0.1  # seconds in which changes of one task are sent together
REACHING = 3.0  # seconds that keys wait for the connection to a terminal
AGAIN = 0.3  # seconds before the next attempt to watch a screen
ACTIONS = (
    "watch",
    "send",
    "answer",
    "keys",
    "paste",
    "rows",
    "interrupt",
    "cancel",
    "cancel_run",
    "stop",
    "start",
    "ping",
)

Json = dict[str, Any]
_numbers = itertools.count(1)


class Browser:
    """It keeps what has changed, not each change: a page that does not read gets the last state later."""

    def __init__(self, agents: Agents, runs: Runs, receive: Receive, send: Send) -> None:
        self._agents = agents
        self._runs = runs
        self._runs_due = bool(runs.known)
        self._receive = receive
        self._send = send
        self._name = f"view {next(_numbers)}"  # who types, for the other viewers
        self._news = asyncio.Event()
        self._changed_agents: dict[str, None] = {}
        self._gone: dict[str, str] = {}
        self._changed_tasks: dict[tuple[str, str], None] = {}
        self._watched = ""
        self._watching: asyncio.Task[None] | None = None
        self._screen: ClientConnection | None = None  # of the agent that is watched
        self._screen_is_open = asyncio.Event()
        self._screen_asks: dict[int, Any] = {}  # the page's own ids of requests to it
        self._last_id = 0
        self._working: set[asyncio.Task[None]] = set()

    def changed(self, kind: str, agent: Agent, frame: Json) -> None:
        """A change in `Agents`."""
        if kind == "gone":
            self._changed_agents.pop(agent.id, None)
            self._gone[agent.id] = agent.name
        else:
            self._changed_agents[agent.id] = None
        if kind == "task":
            self._changed_tasks[agent.id, frame["task"]["id"]] = None
        elif kind in ("artifact", "receipt") and agent.id == self._watched:
            self._changed_tasks[agent.id, frame["task"]] = None
        self._news.set()

    def runs_changed(self) -> None:
        self._runs_due = True
        self._news.set()

    async def run(self) -> None:
        if (await self._receive())["type"] != "websocket.connect":
            return
        await self._send({"type": "websocket.accept"})
        for agent in self._agents.known.values():
            self._changed_agents[agent.id] = None
            self._changed_tasks |= {(agent.id, task_id): None for task_id in agent.tasks}
        self._news.set()
        telling = asyncio.create_task(self._tell_all())
        taking = asyncio.create_task(self._take_all())
        try:
            await asyncio.wait((telling, taking), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stop_watching()
            for task in (telling, taking, *self._working):
                task.cancel()
            await asyncio.gather(telling, taking, *self._working, return_exceptions=True)

    async def _tell_all(self) -> None:
        hello = {
            "type": "hello",
            "version": __version__,
            "profiles": profile_names(),
            "directory": os.getcwd(),
            "home": os.path.expanduser("~"),
            "now": timestamp(time.time()),
            "me": self._name,
        }
        await self._tell(hello)
        while True:
            await self._news.wait()
            self._news.clear()
            while self._gone:
                agent_id, name = self._gone.popitem()
                await self._tell({"type": "gone", "agent": agent_id, "name": name})
            for agent_id in list(self._changed_agents):
                del self._changed_agents[agent_id]
                if (agent := self._agents.known.get(agent_id)) is not None:
                    await self._tell({"type": "agent", "agent": agent.to_dict()})
            for place in list(self._changed_tasks):
                del self._changed_tasks[place]
                await self._tell_task(*place)
            if self._runs_due:
                self._runs_due = False
                await self._tell({"type": "runs", "runs": self._runs.known})
            await asyncio.sleep(TOGETHER)

    async def _tell_task(self, agent_id: str, task_id: str) -> None:
        agent = self._agents.known.get(agent_id)
        if agent is not None and (task := agent.tasks.get(task_id)) is not None:
            shown = tasks.whole(task) if agent_id == self._watched else tasks.brief(task)
            await self._tell({"type": "task", "agent": agent_id, "task": shown})

    async def _tell(self, frame: Json) -> None:
        text = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
        await self._send({"type": "websocket.send", "text": text})

    async def _take_all(self) -> None:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            try:
                request = json.loads(message.get("text") or "")
                if not isinstance(request, dict):
                    raise ValueError
            except (ValueError, RecursionError):
                await self._tell({"type": "error", "id": None, "detail": "a frame is a JSON object."})
                continue
            if "watch" in request:
                self._watch(str(request["watch"] or ""))
            elif any(key in request for key in ("keys", "paste", "rows")):
                await self._pass_on(request)  # in the order in which they came
            else:
                working = asyncio.create_task(self._finish(request))
                self._working.add(working)
                working.add_done_callback(self._working.discard)

    async def _finish(self, request: Json) -> None:
        try:
            done = await self._action(request)
            await self._tell({"type": "ok", "id": request.get("id"), **done})
        except SynapseError as error:
            await self._refuse(request, str(error))
        except Exception:
            logger.exception("a request of the page failed")
            await self._refuse(request, "this failed: see the output of `synapse view`.")

    async def _refuse(self, request: Json, why: str) -> None:
        await self._tell({"type": "error", "id": request.get("id"), "detail": why})

    def _action(self, request: Json) -> Coroutine[Any, Any, Json]:
        if isinstance(start := request.get("start"), dict):
            words = [str(start.get(key) or "") for key in ("profile", "directory", "name")]
            return actions.start(words[0], words[1] or os.getcwd(), words[2])
        if "ping" in request:
            return _pong()
        if "cancel_run" in request:
            return actions.cancel_run(str(request["cancel_run"]))
        agent = self._agents.find(str(request.get("agent")))
        if "send" in request:
            return _response(agent.request(send=request["send"]), f"Sent to {agent.name}.")
        if "answer" in request:
            return _response(agent.request(answer=request["answer"]), f"Answered {agent.name}.")
        if "interrupt" in request:
            return actions.interrupt(agent)
        if "cancel" in request:
            return actions.cancel(agent, str(request["cancel"]))
        if "stop" in request:
            return actions.stop(agent)
        raise UsageError(f"the frame has no action: use one of {', '.join(ACTIONS)}.")

    def _watch(self, agent_id: str) -> None:
        """Show this agent: its screen, and its tasks with their replies."""
        self._stop_watching()
        self._watched = agent_id
        agent = self._agents.known.get(agent_id)
        if agent is not None:
            self._changed_tasks |= {(agent_id, task_id): None for task_id in agent.tasks}
            self._watching = asyncio.create_task(self._relay_screen(agent))
            self._news.set()

    def _stop_watching(self) -> None:
        self._watched = ""
        self._forget_screen()  # at once: no key may go to the agent that was watched before
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _forget_screen(self) -> None:
        self._screen = None
        self._screen_is_open.clear()
        self._screen_asks.clear()

    async def _relay_screen(self, agent: Agent) -> None:
        """The frames of the agent's screen, as they come; the agent sends no faster than the page reads."""
        head = f'{{"agent":{json.dumps(agent.id)},'
        while agent.id in self._agents.known:
            mine: ClientConnection | None = None
            try:
                async with unix_connect(
                    await agent.socket_path(), URI, max_size=None, open_timeout=CONNECTING, compression=None
                ) as socket:
                    await socket.send(json.dumps({"id": 0, "subscribe": ["screen"], "by": self._name}))
                    self._screen = mine = socket
                    self._screen_is_open.set()
                    async for text in socket:
                        frame = str(text)
                        if frame.startswith('{"type": "screen"'):
                            await self._send({"type": "websocket.send", "text": head + frame[1:]})
                        else:
                            await self._response_of_screen(agent, json.loads(frame))
            except (*CONNECTION_ENDED, SynapseError) as error:
                logger.debug("the screen of %s: %r", agent.name, error)
            finally:
                if mine is not None and self._screen is mine:  # else another agent is watched by now
                    self._forget_screen()
            await self._tell({"type": "unseen", "agent": agent.id})
            await asyncio.sleep(AGAIN)

    async def _pass_on(self, request: Json) -> None:
        is_watched = request.get("agent") == self._watched and self._watching is not None
        if is_watched and self._screen is None:  # somebody types before the connection is there
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(REACHING):
                    await self._screen_is_open.wait()
        if not is_watched or self._screen is None:
            await self._refuse(request, "the agent's terminal cannot be reached at the moment.")
            return
        self._last_id += 1
        self._screen_asks[self._last_id] = request.get("id")
        wanted = {key: request[key] for key in ("keys", "paste", "rows") if key in request}
        try:
            await self._screen.send(json.dumps({"id": self._last_id, **wanted}))
        except CONNECTION_ENDED:
            await self._refuse(request, "the agent's terminal cannot be reached at the moment.")

    async def _response_of_screen(self, agent: Agent, frame: Json) -> None:
        if frame["id"] in self._screen_asks:
            await self._tell({**frame, "id": self._screen_asks.pop(frame["id"]), "agent": agent.id})


async def _pong() -> Json:
    return {"now": timestamp(time.time())}


async def _response(request: Coroutine[Any, Any, Json], said: str) -> Json:
    response = await request
    return {key: response[key] for key in ("task", "question") if key in response} | {"said": said}
