"""What other machines may ask of an agent: tasks from the mailbox, and calls about tasks that they sent."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from synapse.base.loading import load
from synapse.base.states import CANCELED
from synapse.delivery.questions import Questions
from synapse.mesh.mailbox import NotNow
from synapse.mesh.outgoing import MESH, Outgoing, came_from, refusal
from synapse.mesh.policy import Owners, is_allowed
from synapse.peers.mesh.documents import drop_object, unpacked
from synapse.peers.mesh.link import Link, MeshError
from synapse.peers.mesh.names import HEADER, OPERATION, URGENT, VERSION, Address, task_id
from synapse.tasks.engine import TaskEngine
from synapse.tasks.expiry import EXTENSION, expires_in
from synapse.tasks.task import (
    AgentGone,
    BadMessage,
    Json,
    NotAllowed,
    QueueFull,
    StoreFailed,
    StoreGone,
    Task,
    TaskError,
    TaskNotFound,
)

if TYPE_CHECKING:
    from synapse.server.dialect.models import Sender, SendRequest

logger = logging.getLogger(__name__)

MODELS = "synapse.server.dialect.models"  # loaded with the first request: with pydantic 10 MB
REMEMBERED = 500  # answers to calls, and canceled requests
MOST_TASKS = 50


class OtherVersion(TaskError):
    code = "VERSION_NOT_SUPPORTED"


class Requests:
    """`allow` is the setting; `called` are the names that the agent goes by, its id in subjects is `key`."""

    def __init__(
        self,
        link: Link,
        engine: TaskEngine,
        questions: Questions,
        outgoing: Outgoing,
        *,
        key: str,
        called: Sequence[str],
        allow: Sequence[str],
    ) -> None:
        self._link = link
        self._engine = engine
        self._questions = questions
        self._outgoing = outgoing
        self._key = key
        self._called = called
        self._allow = allow
        self._owners = Owners(link)
        self._answers: OrderedDict[tuple[str, str], Json | None] = OrderedDict()  # None: in work
        self._canceled: OrderedDict[str, None] = OrderedDict()  # before they were taken

    async def open(self) -> None:
        await self._owners.watch()

    async def take_task(self, subject: str, message: Any, age: float) -> None:
        """Raises NotNow if the message is to stay in the mailbox."""
        address = self._address(subject)
        if address is None:
            return
        key, document = "", {}
        try:
            document = await self._document(message)
            key = task_id(address.sender, self._key, str(document.get("request_id")))
            if self._canceled.pop(key, address) is None:
                return
            await asyncio.gather(self._check_sender(address.sender), load(MODELS))
            task = self._submit(address, key, document, age)
            await self._outgoing.tell_at_once(task)
        except (QueueFull, StoreFailed, StoreGone, AgentGone) as error:
            if address.kind != URGENT or not isinstance(error, QueueFull):
                raise NotNow(str(error)) from error
            await self._outgoing.answer(address.sender, key, refusal(error))
        except MeshError as error:
            raise NotNow(str(error)) from error
        except TaskError as error:
            key = key or _key_of(message, address, self._key)
            await self._outgoing.answer(address.sender, key, refusal(error))
        await drop_object(self._link, message.data)

    def _submit(self, address: Address, key: str, document: Json, age: float) -> Task:
        request, priority = _request(document), document.get("priority", 1)
        if not isinstance(priority, int):
            raise BadMessage(f"priority is {priority!r}: it goes from 1 to 5, and 5 interrupts.")
        metadata = {**(request.metadata or {}), MESH: {"machine": address.sender}}
        expires = expires_in(request.metadata, request.message.metadata)
        if expires is not None:
            expires = max(expires - age, 0.001)
            metadata[EXTENSION] = {**metadata.get(EXTENSION, {}), "expires": expires}
        if any(other.id[:8] == key[:8] and other.id != key for other in self._engine.store.live()):
            raise BadMessage("another task has an id that begins alike: send it again.")
        task = self._engine.submit(
            request.message.neutral(),
            sender=named(request.sender, address.sender),
            priority=priority,
            context_id=request.context_id,
            metadata=metadata,
            request_id=f"mesh/{address.sender}/{request.request_id}",
            task_id=key,
            expires=expires,
        )
        if task.sequence > 2:  # it was there before: whoever sends again may have missed events
            self._outgoing.whole(task)
        return task

    async def take_call(self, message: Any) -> None:
        address = self._address(message.subject)
        if address is None:
            return
        try:
            document = await self._document(message)
        except (TaskError, MeshError) as error:
            logger.info("a call of %s makes no sense: %s", address.sender, error)
            return
        key = str(document.get("key"))
        if not key.isalnum() or len(key) > 64:
            return
        if (address.sender, key) in self._answers:
            answer = self._answers[address.sender, key]
            if answer is not None:
                await self._outgoing.answer(address.sender, key, answer)
            return
        self._remember((address.sender, key), None)
        try:
            await self._check_sender(address.sender)
            found = await self._answer(address.sender, _header(message, OPERATION), document)
        except TaskError as error:
            found = refusal(error)
        self._remember((address.sender, key), found)
        await self._outgoing.answer(address.sender, key, found)

    def _remember(self, key: tuple[str, str], answer: Json | None) -> None:
        self._answers[key] = answer
        while len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)

    async def _answer(self, sender: str, operation: str, document: Json) -> Json:
        if operation == "ListTasks":
            recent = self._engine.store.list_tasks(limit=20 * MOST_TASKS)
            mine = [task.to_dict() for task in recent if came_from(task) == sender]
            return {"tasks": mine[:MOST_TASKS]}
        wanted = str(document.get("task"))
        if operation == "CancelTask":
            return await self._cancel(sender, wanted)
        task = self._task(sender, wanted)
        if operation == "GetTask":
            return _whole(task)
        if operation == "AnswerQuestion":
            return await self._answer_question(sender, task, document)
        raise BadMessage(f"there is no operation {operation!r}.")

    async def _cancel(self, sender: str, wanted: str) -> Json:
        try:
            return _whole(await self._engine.cancel(self._task(sender, wanted).id))
        except TaskNotFound:
            # It may still be in the mailbox: it is dropped when it comes.
            self._canceled[wanted] = None
            while len(self._canceled) > REMEMBERED:
                self._canceled.popitem(last=False)
            note = "canceled before the agent had it"
            return {"number": 0, "task": {"id": wanted, "status": CANCELED, "state": CANCELED, "note": note}}

    async def _answer_question(self, sender: str, task: Task, document: Json) -> Json:
        """A human of the same user is a human; an agent, or somebody else, is named."""
        text, question = str(document.get("answer")), str(document.get("question") or "")
        said = document.get("sender")
        await load(MODELS)
        from synapse.server.dialect.models import Sender

        by: Json | None = named(Sender.model_validate(said) if isinstance(said, dict) else None, sender)
        if not said and await self._is_own(sender):
            by = None
        if question:
            asked = [each for each in self._questions.list() if each.id == question]
            if asked and asked[0].task != task.id:
                raise TaskNotFound(f"task {task.id} does not ask that.")
            await self._questions.answer(question, text, by)
        else:
            await self._engine.answer(task.id, text, by)
        return {"status": "answered"}

    def _task(self, sender: str, task_id: str) -> Task:
        """A machine sees the tasks that it sent, and no others."""
        task = self._engine.store.get(task_id)
        if came_from(task) != sender:
            raise TaskNotFound(f"there is no task {task_id!r} of {sender}.")
        return task

    def _address(self, subject: str) -> Address | None:
        """None for what was not addressed here, whatever stream it is in."""
        found = self._link.names.parse(subject)
        here = (self._link.member.machine, self._key)
        return found if found is not None and (found.machine, found.key) == here else None

    async def _document(self, message: Any) -> Json:
        version = _header(message, HEADER)
        if version != VERSION:
            raise OtherVersion(
                f"this agent speaks version {VERSION} of the mesh's protocol, not {version or 'this'}: "
                "use the same version of Synapse on both machines."
            )
        try:
            return await unpacked(self._link, message.data)
        except (ValueError, RecursionError) as error:
            raise BadMessage(f"the message cannot be read: {error}.") from error

    async def _check_sender(self, sender: str) -> None:
        if not is_allowed(self._allow, sender, await self._is_own(sender), self._called):
            raise NotAllowed(
                f"{sender} may not send to {self._called[0]}@{self._link.member.machine}: "
                "its user decides that with `synapse config set mesh.allow`."
            )

    async def _is_own(self, sender: str) -> bool:
        if sender == self._link.member.machine:
            return True
        mine, theirs = await asyncio.gather(
            self._owners.of(self._link.member.machine), self._owners.of(sender)
        )
        return bool(mine) and mine == theirs


def named(sender: Sender | None, machine: str) -> Json:
    """The sender with its machine, which the subject says."""
    said = sender.neutral() if sender else None
    name = str((said or {}).get("name") or (said or {}).get("id") or "user").partition("@")[0] or "user"
    found: Json = {"name": f"{name}@{machine}"}
    return {"id": said["id"], **found} if said and said.get("id") else found


def _request(document: Json) -> SendRequest:
    from pydantic import ValidationError

    from synapse.server.dialect.models import SendRequest

    fields = ("message", "sender", "context_id", "request_id", "metadata")
    try:
        request = SendRequest.model_validate({key: document[key] for key in fields if key in document})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise BadMessage(f"{where}: {first['msg']}.") from error
    if request.request_id is None:
        raise BadMessage("the message has no request_id.")
    return request


def _whole(task: Task) -> Json:
    return {"number": task.sequence, "task": task.to_dict()}


def _header(message: Any, name: str) -> str:
    return str((message.headers or {}).get(name) or "")


def _key_of(message: Any, address: Address, key: str) -> str:
    """The id of the task that a message would have become, if it cannot be read: from its message id."""
    _, _, request_id = _header(message, "Nats-Msg-Id").partition(f"{address.sender}/{key}/")
    return task_id(address.sender, key, request_id)
