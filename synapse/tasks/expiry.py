"""How long a message may wait before the agent gets it.

A client says so in the metadata of the request or of the message: `{"x-synapse-task": {"expires": 60}}`.
"""

from collections.abc import Mapping

from synapse.tasks.task import BadMessage, Json, Task

EXTENSION = "x-synapse-task"  # the metadata key for what the standard has no field for
LONGEST = 604_800.0  # seconds


def expires_in(*metadata: object) -> float | None:
    """The seconds that the last metadata with `expires` says. Raises BadMessage if it is no such number."""
    held = [inner.get(EXTENSION) for inner in metadata if isinstance(inner, Mapping)]
    said = [inner["expires"] for inner in held if isinstance(inner, Mapping) and "expires" in inner]
    if not said or said[-1] is None:
        return None
    seconds = said[-1]
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= LONGEST:
        raise BadMessage(f"expires is {seconds!r}: use a number of seconds from 0 to {LONGEST:.0f}.")
    return float(seconds)


def with_expiry(metadata: Json, expires: float | None) -> Json:
    """The metadata of a message that expires."""
    if expires is None:
        return metadata
    return metadata | {EXTENSION: {**metadata.get(EXTENSION, {}), "expires": expires}}


def expired(task: Task) -> Json:
    """The error of a task that has expired; its note says what it waited for."""
    seconds = task.expires_at - task.created_at
    waited = f": {task.note}" if task.note else ", before it was its turn"
    return {"code": "EXPIRED", "message": f"it expired after {seconds:.3g} s and was not typed{waited}"}
