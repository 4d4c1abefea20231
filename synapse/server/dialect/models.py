"""The requests and responses of the specifications' endpoints."""

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

from synapse.tasks.task import SENDER, Json

State = Literal["submitted", "working", "input_required", "completed", "failed", "canceled"]
Id = Annotated[str, Field(min_length=1, max_length=200)]


def _either(name: str, description: str | None = None) -> Any:
    """An optional field that is written `task_id` or `taskId`."""
    return Field(None, validation_alias=AliasChoices(name, to_camel(name)), description=description)


class TextPart(BaseModel):
    type: Literal["text"] = "text"
    text: str


class DataPart(BaseModel):
    type: Literal["data"]
    data: Any = Field(description="any JSON; the agent gets it as a code block")


class FilePart(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    type: Literal["file"]
    name: str | None = Field(None, max_length=255)
    mime_type: Annotated[str, Field(max_length=255)] | None = _either("mime_type")
    bytes: str | None = Field(None, description="the content in base64")
    uri: str | None = Field(None, description="the address of the content", max_length=4096)


def _part(value: object) -> object:
    """Accept what older clients write: `kind` for `type`, neither for text, a file's fields in an object."""
    if isinstance(value, dict):
        value = {str(key): inner for key, inner in value.items()}
        if "type" not in value:
            value["type"] = value.pop("kind", "text")
        if value["type"] == "file" and isinstance(value.get("file"), dict):
            value |= value.pop("file")
    return value


Part = Annotated[TextPart | DataPart | FilePart, Field(discriminator="type"), BeforeValidator(_part)]


class Message(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    role: Literal["user", "agent"] = "user"
    parts: list[Part] = Field(min_length=1, max_length=1000)
    message_id: Id | None = _either("message_id")
    metadata: dict[str, Any] | None = None

    def neutral(self) -> Json:
        return self.model_dump(exclude_none=True)


SenderName = Annotated[str, Field(max_length=200, pattern=f"^{SENDER}$")]


class Sender(BaseModel):
    """Who sends the request, as the sender says. Access is checked before and does not depend on it."""

    id: SenderName | None = None
    name: SenderName | None = None

    def neutral(self) -> Json | None:
        return self.model_dump(exclude_none=True) or None


def _message(value: object) -> object:
    return {"role": "user", "parts": [{"type": "text", "text": value}]} if isinstance(value, str) else value


def _sender(value: object) -> object:
    return {"id": value} if isinstance(value, str) else value


MessageOrText = Annotated[Message, BeforeValidator(_message, json_schema_input_type=Message | str)]
SenderOrName = Annotated[Sender, BeforeValidator(_sender, json_schema_input_type=Sender | str)]


_METADATA = "stored with the task; x-synapse-task.expires: seconds after which it fails if it was not typed"


class SendRequest(BaseModel):
    """A message for the agent: it creates a task, or continues one."""

    model_config = ConfigDict(populate_by_name=True)
    message: MessageOrText
    sender: SenderOrName | None = None
    context_id: Id | None = _either("context_id", "groups the tasks of one conversation; made if left out")
    task_id: Id | None = _either("task_id", "a task that has not ended; the message answers or continues it")
    request_id: Id | None = _either("request_id", "a repeated request with the same id returns the same task")
    metadata: dict[str, Any] | None = Field(None, description=_METADATA)


class SimpleMessage(BaseModel):
    content: str
    priority: int = Field(1, ge=1, le=5, description="5 interrupts the agent")
    response_mode: Literal["display", "return", "broadcast"] = Field(
        "display", description="where the reply is wanted; stored with the task"
    )
    callback_url: str | None = Field(
        None, max_length=2048, description="receives the reply as GET /response/{request_id} returns it"
    )
    sender: SenderOrName | None = None
    request_id: Id | None = None
    metadata: dict[str, Any] | None = Field(None, description=_METADATA)


class Document(BaseModel):
    """A response. It only documents what is sent, so that no validator is needed until somebody reads it."""

    model_config = ConfigDict(defer_build=True)


class Sent(Document):
    status: Literal["sent"] = "sent"
    priority: int = Field(examples=[1])
    task_id: str
    response_url: str | None = Field(None, description="with response_mode return: where to read the reply")


class Answer(Document):
    """The result of a message so far."""

    request_id: str = Field(description="the task's id")
    status: State
    response: str = Field(description="the agent's reply so far")
    prompt: dict[str, Any] | None = Field(None, description="the question, if the status is input_required")
    error: dict[str, Any] | None = Field(None, description="why the task failed")
    note: str | None = Field(None, description="why the task waits, or why it was canceled")


class ArtifactDocument(Document):
    type: str = Field(examples=["text"])
    name: str = Field(examples=["output"])
    parts: list[dict[str, Any]]
    data: str | None = Field(None, description="the text of a text artifact")
    metadata: dict[str, Any] | None = Field(None, description="derived: it repeats a part of the reply")


class TaskDocument(Document):
    id: str
    context_id: str
    status: State
    state: State = Field(description="the same as status")
    message: dict[str, Any]
    artifacts: list[ArtifactDocument]
    priority: int
    created_at: str = Field(examples=["2026-01-01T12:00:00.000Z"])
    updated_at: str
    expires_at: str | None = Field(None, description="when it fails if the agent has not got it")
    prompt: dict[str, Any] | None = Field(None, description="the agent's question: type, prompt, options")
    error: dict[str, Any] | None = Field(None, description="why the task failed: code and message")
    sender: dict[str, Any] | None = None
    note: str | None = Field(None, description="why the task waits, or why it was canceled")
    metadata: dict[str, Any] | None = None
    receipts: list[dict[str, Any]] | None = Field(None, description="the steps of its delivery, with times")


class TaskEnvelope(Document):
    task: TaskDocument


class TaskList(Document):
    tasks: list[TaskDocument]
    total: int = Field(description="the number of matching tasks, regardless of the limit")


class InputRequest(BaseModel):
    input: str = Field(description="one of the options, or text; empty selects the default")
    sender: SenderOrName | None = None


class InputProvided(Document):
    status: Literal["input_provided"] = "input_provided"
    task_id: str


class Canceled(Document):
    status: State = Field(description="canceled, unless the agent is still working")
    task_id: str
    task: TaskDocument


class OldCard(Document):
    """The agent card in its first form; `/.well-known/agent-card.json` has the form of the A2A standard."""

    model_config = ConfigDict(populate_by_name=True)
    name: str
    description: str
    url: str
    version: str
    capabilities: dict[str, bool]
    authentication: dict[str, Any]
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[dict[str, Any]]
    x_synapse_context: dict[str, Any] = Field(alias="x-synapse-context")
