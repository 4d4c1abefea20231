"""The specifications' task store and documents, for scripts: `TaskStore`, `Message`, `TextPart`, `TaskState`.

    store = TaskStore()
    store.create_task("t-1", "Deploy it")
    store.set_input_required("t-1", {"type": "confirmation", "prompt": "Deploy?", "options": ["y", "n"]})
    store.provide_input("t-1", "y")
    store.complete_task("t-1", OutputParser().parse(reply))
    store.get_task("t-1").status.state      # "completed"

It is the store that an agent's server uses, in memory or in a file. Each change is also sent to the task's
emitter in `synapse.event_emitter.emitter_registry`, if there is one. A running agent's own tasks are read and
changed over HTTP (`docs/http.md`).
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from synapse.base.states import COMPLETED, FAILED, REJECTED
from synapse.event_emitter import SSEEvent, emitter_registry, timestamp
from synapse.output_parser import ParsedArtifact
from synapse.server.dialect.models import (
    DataPart,
    FilePart,
    InputRequest,
    Message,
    Part,
    SendRequest,
    TextPart,
)
from synapse.tasks import store, task

__all__ = [
    "Artifact", "DataPart", "FilePart", "InputRequest", "Message", "Part", "Task", "TaskSendRequest",
    "TaskState", "TaskStore", "TextPart",
]  # fmt: skip

TaskSendRequest = SendRequest
Artifact = ParsedArtifact | dict[str, Any] | str


@dataclass(frozen=True)
class TaskState:
    """`message` is the prompt while the state is `input_required`."""

    state: str
    message: dict[str, Any] | None = None


class Task:
    """A task of the store as it is now."""

    def __init__(self, kept: task.Task) -> None:
        self._kept = kept

    @property
    def id(self) -> str:
        return self._kept.id

    @property
    def status(self) -> TaskState:
        state = FAILED if self._kept.state == REJECTED else self._kept.state
        return TaskState(state, self._kept.prompt)

    @property
    def message(self) -> Message:
        return Message.model_validate(self._kept.message)

    @property
    def artifacts(self) -> list[dict[str, Any]]:
        return [task.artifact_to_dict(artifact) for artifact in self._kept.artifacts]

    @property
    def created_at(self) -> str:
        return timestamp(self._kept.created_at)

    @property
    def updated_at(self) -> str:
        return timestamp(self._kept.updated_at)

    def to_dict(self) -> dict[str, Any]:
        return self._kept.to_dict()


class TaskStore:
    """For an unknown task id, `get` returns None and every method that changes a task returns False; so they
    do for a task that has ended. It may be used from several threads."""

    def __init__(self, path: str = ":memory:") -> None:
        self._lock = threading.RLock()
        self._store = store.TaskStore(path)
        self._store.on_event(_tell)

    def create(self, message: Message | dict[str, Any] | str) -> Task:
        return self._create(None, message)

    def create_task(self, task_id: str, message: Message | dict[str, Any] | str) -> Task:
        """Raises BadMessage if there is a task with this id already."""
        with self._lock:
            if self._find(task_id) is not None:
                raise task.BadMessage(f"there is a task {task_id!r} already: use another id.")
            return self._create(task_id, message)

    def get(self, task_id: str) -> Task | None:
        with self._lock:
            found = self._find(task_id)
            return None if found is None else Task(found)

    get_task = get

    def update_status(self, task_id: str, status: str, error: dict[str, Any] | None = None) -> bool:
        return self._change(self._store.update_status, task_id, status, error=error)

    def add_artifact(self, task_id: str, artifact: Artifact) -> bool:
        return self._change(self._store.add_artifact, task_id, _document(artifact))

    def complete_task(self, task_id: str, artifacts: Iterable[Artifact] = ()) -> bool:
        """Add the artifacts, for example those of an `OutputParser`, and end the task."""
        with self._lock:
            for artifact in artifacts:
                self.add_artifact(task_id, artifact)
            return self.update_status(task_id, COMPLETED)

    def set_input_required(self, task_id: str, input_prompt: dict[str, Any]) -> bool:
        return self._change(self._store.set_input_required, task_id, input_prompt)

    def provide_input(self, task_id: str, input_value: str) -> bool:
        """Whether the task waited for input; it is then `working` again. A password is not stored."""
        return self._change(self._store.provide_input, task_id, input_value)

    def close(self) -> None:
        with self._lock:
            self._store.close()

    def _create(self, task_id: str | None, message: Message | dict[str, Any] | str) -> Task:
        given = task.text_message(message) if isinstance(message, str) else message
        checked = Message.model_validate(given).neutral()
        with self._lock:
            return Task(self._store.create(checked, task_id=task_id))

    def _find(self, task_id: str) -> task.Task | None:
        try:
            return self._store.get(task_id)
        except task.TaskNotFound:
            return None

    def _change(self, change: Callable[..., object], task_id: str, *given: object, **more: object) -> bool:
        with self._lock:
            found = self._find(task_id)
            if found is None or found.ended:
                return False
            return change(task_id, *given, **more) is not False


def _tell(changed: task.Task, event: SSEEvent) -> None:
    emitter = emitter_registry.get(changed.id)
    if emitter is not None:
        emitter.emit(event)


def _document(artifact: Artifact) -> dict[str, Any]:
    """The artifact with its parts: some clients write only the text, as `data`."""
    if isinstance(artifact, ParsedArtifact):
        return artifact.to_a2a_artifact()
    found: dict[str, Any] = {"data": artifact} if isinstance(artifact, str) else dict(artifact)
    text = found.pop("data", "")
    found.setdefault("parts", [{"type": "text", "text": str(text)}])
    return {"type": "text", "name": "output", **found}
