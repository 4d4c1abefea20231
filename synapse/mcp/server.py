"""The agents as tools of any MCP client, over standard input and output."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, InputRequiredResult
from pydantic import Field, ValidationError

from synapse import __version__
from synapse.api import aio
from synapse.errors import AgentAsks, SynapseError
from synapse.peers.local import LocalPeer
from synapse.peers.origin import Origin
from synapse.peers.questions import answer_question, find_question, list_questions
from synapse.peers.remote import find_anywhere, in_thread, is_remote
from synapse.peers.remote import find_task as find_task_there
from synapse.peers.task import A2ATask, Json, StillWorking
from synapse.registry import AgentRegistry
from synapse.tasks.shelf import find_task

INSTRUCTIONS = """\
Other coding agents run on this machine in terminals of their own. list_agents names them. ask_agent sends a \
message and waits for the reply; send_message does not wait. A task that is not done yet is read later with \
get_task."""
WAIT = 300.0  # seconds that ask_agent waits, unless it is told another time
LONGEST_WAIT = 86400.0
T = TypeVar("T")
PROGRESS = 5.0  # seconds between two notes while nothing happens: clients give up on a silent server

Agent = Annotated[str, Field(description="its name, its type, or the beginning of its id: see list_agents")]
Message = Annotated[
    str, Field(description="what is typed at the agent's prompt as soon as it is idle", min_length=1)
]
Priority = Annotated[int, Field(description="1 to 5; 5 interrupts what the agent is doing", ge=1, le=5)]
Seconds = Annotated[
    float, Field(description="seconds to wait; the task goes on after that", gt=0, le=LONGEST_WAIT)
]
TaskId = Annotated[str, Field(description="the task's id, or the beginning of it")]
QuestionId = Annotated[str, Field(description="the question's id, or the beginning of it")]


class _Server(MCPServer[Any]):
    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Arguments that do not fit are refused in one sentence; the SDK's has five lines and an address."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(wrong := error.__cause__, ValidationError):
                raise ToolError(_unfit(name, wrong)) from wrong
            raise


def _unfit(name: str, wrong: ValidationError) -> str:
    parts = []
    for each in wrong.errors():
        said = str(each["msg"])
        argument = ".".join(map(str, each["loc"])) or "its arguments"
        parts.append(f"{argument}: {said[:1].lower()}{said[1:]}")
    return f"{name} was not called, because of {'; '.join(parts)}: call it again with that changed."


def serve() -> None:
    """Serve until the client closes our input or our output."""
    # The SDK points descriptor 1 elsewhere, so the client's end is watched through another one.
    threading.Thread(target=_end_when_closed, args=(os.dup(1),), daemon=True).start()
    try:
        make_server().run()
    except* BrokenPipeError:
        os._exit(0)  # else Python would complain again that it cannot flush


def _end_when_closed(output: int) -> None:
    """Nobody can be told anything any more, and a thread of the SDK reads the input until that is closed too:
    only the end of the process stops it. The tasks go on in their agents."""
    watching = select.poll()
    watching.register(output, 0)  # an error or a hang-up is always reported
    watching.poll()
    os._exit(0)


def make_server() -> MCPServer[Any]:
    """Every call looks anew which agent this process runs in: messages are signed as that agent."""
    server = _Server("synapse", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING")

    @server.tool()
    async def list_agents() -> dict[str, Any]:
        """List the running agents: name, type, status (READY, PROCESSING, INPUT_REQUIRED) and directory."""
        me = Origin.of_this_process()
        shown = ("name", "agent_type", "status", "working_dir", "agent_id")
        agents = [{key: entry.get(key) for key in shown} for entry in await _said(aio.list_agents())]
        return {"agents": agents, "you_are": me.name if me else None}

    @server.tool()
    async def interrupt_agent(agent: Agent) -> dict[str, Any]:
        """Interrupt what an agent is doing. A message with priority 5 also says what to do instead."""

        async def interrupted() -> Json:
            entry = await in_thread(find_anywhere, agent.removeprefix("@"))
            return await LocalPeer(AgentRegistry(), entry).ask("POST", "/terminal/interrupt", {})

        return await _said(interrupted())

    _add_tasks(server)
    _add_questions(server)
    return server


def _add_tasks(server: MCPServer[Any]) -> None:
    @server.tool()
    async def send_message(agent: Agent, message: Message, priority: Priority = 1) -> dict[str, Any]:
        """Send a message to an agent without waiting. Returns the task; get_task shows its reply later."""
        return task_shown(await _said(aio.send(agent, message, priority=priority)))

    @server.tool()
    async def ask_agent(
        agent: Agent,
        message: Message,
        ctx: Context[Any, Any],
        timeout: Seconds = WAIT,
        priority: Priority = 1,
    ) -> dict[str, Any]:
        """Send a message to an agent and wait for its reply. If the reply does not come within the timeout,
        or the agent asks something, the task is returned as it is; get_task shows it later."""
        progress = _Progress(ctx, agent)
        try:
            async with progress.running():
                reply = await aio.ask(
                    agent, message, timeout=timeout, priority=priority, on_event=progress.event
                )
        except StillWorking as late:
            late.task.agent = late.task.agent or agent.removeprefix("@")
            return {**task_shown(late.task), "note": str(late)}
        except AgentAsks as asks:
            return {**task_shown(asks.task), "note": str(asks)}
        except SynapseError as error:
            raise ToolError(str(error)) from error
        return task_shown(reply.task)

    @server.tool()
    async def get_task(task: TaskId) -> dict[str, Any]:
        """Show a task: its state, and its reply, its question or its error."""

        return task_shown(await _said(find_any_task(task)))


async def find_any_task(task_id: str) -> A2ATask:
    """By its id on this machine or, as `id@machine`, on another one."""
    if is_remote(task_id):
        entry, document = await in_thread(find_task_there, task_id)
        found, name = A2ATask.from_dict(document), str(entry["name"])
    else:
        agent_id, kept = find_task(task_id)
        found = A2ATask.from_dict(kept.to_dict())
        name = str(AgentRegistry().list_agents().get(agent_id, {}).get("name") or "")
    found.agent = name
    return found


def _add_questions(server: MCPServer[Any]) -> None:
    @server.tool(name="list_questions")
    async def questions() -> dict[str, Any]:
        """List what the agents ask now, with the options of each question."""
        asked = await _said(list_questions(AgentRegistry()))
        return {"questions": asked.questions, "did_not_answer": asked.silent}

    @server.tool(name="answer_question")
    async def answer(
        question: QuestionId,
        answer: Annotated[str, Field(description="an option's number, key or words, or any text")],
    ) -> dict[str, Any]:
        """Answer a question of an agent. Nothing is typed if it asks something else by now. An agent may
        answer another agent only if that one's profile says so."""

        async def answered() -> Json:
            found = await find_question(AgentRegistry(), question)
            await answer_question(found, answer, Origin.of_this_process() or Origin.from_environment())
            return found.question

        return {"answered": await _said(answered())}


class _Progress:
    """Tells the client what becomes of a task; also every few seconds while nothing happens."""

    def __init__(self, ctx: Context[Any, Any], agent: str) -> None:
        self._ctx = ctx
        self._note = f"sent to {agent}"
        self._changed = asyncio.Event()

    def event(self, kind: str, data: Json) -> None:
        task = str(data.get("task_id") or "")[:8]
        self._note = " ".join(filter(None, [kind, task, str(data.get("note") or "")]))
        self._changed.set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        telling = asyncio.ensure_future(self._tell())
        try:
            yield
        finally:
            telling.cancel()

    async def _tell(self) -> None:
        count = 0
        while True:
            count += 1
            self._changed.clear()  # before it is told: what changes meanwhile is told next
            await self._ctx.report_progress(count, message=self._note)
            try:
                async with asyncio.timeout(PROGRESS):
                    await self._changed.wait()
            except TimeoutError:
                pass


async def _said(call: Awaitable[T]) -> T:
    """What Synapse refuses is said to the model in its own sentence."""
    try:
        return await call
    except SynapseError as error:
        raise ToolError(str(error)) from error


def task_shown(task: A2ATask) -> dict[str, Any]:
    """With the id under which `get_task` finds it."""
    machine = task.agent.rpartition("@")[2] if is_remote(task.agent) else ""
    task_id = f"{task.id}@{machine}" if machine else task.id
    found: dict[str, Any] = {"task": task_id, "state": task.status}
    more = {"agent": task.agent, "reply": task.text, "question": task.prompt, "error": task.error}
    return found | {key: value for key, value in (more | {"note": task.note}).items() if value}
