"""Files for the agent: those attached to a message, and texts that are too long to type."""

import base64
import binascii
import itertools
import os
import re
import shutil
from collections.abc import Iterable

from synapse.base import files
from synapse.base.paths import private_dir
from synapse.tasks.task import Json


def keep_text(folder: str, task_id: str, number: int, text: str) -> str:
    return _write(folder, task_id, f"message-{number}.md", text.encode())


def keep_files(folder: str, task_id: str, message: Json) -> Json:
    parts = []
    for part in message.get("parts", []):
        if part.get("type") == "file" and isinstance(part.get("bytes"), str):
            try:
                data = base64.b64decode(part["bytes"])
            except (binascii.Error, ValueError):
                data = b""
            name = re.sub(r"[^-\w.]", "_", os.path.basename(str(part.get("name") or "file")))[:100] or "file"
            part = {**part, "path": _write(folder, task_id, name.lstrip(".") or "file", data)}
        parts.append(part)
    return {**message, "parts": parts}


def drop_files(folder: str, task_ids: Iterable[str]) -> None:
    for task_id in task_ids:
        shutil.rmtree(os.path.join(folder, "files", task_id), ignore_errors=True)


def _write(folder: str, task_id: str, name: str, data: bytes) -> str:
    """Another file of the same name is kept: this one gets a number. The same content is the same file, so
    that a message that is typed again names the same path."""
    base, extension = os.path.splitext(name)
    directory = private_dir(os.path.join(folder, "files", task_id))
    for number in itertools.count(1):
        path = os.path.join(directory, f"{base}-{number}{extension}" if number > 1 else name)
        if not os.path.lexists(path):
            files.replace(path, data)
            return path
        if _content(path) == data:
            return path
    raise AssertionError("there is always another number")


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
