"""A task as the page shows it: a line for the timeline, or the whole with receipts and reply."""

from __future__ import annotations

from typing import Any

from synapse.tasks.task import REPLY, message_text, sender_id
from synapse.view.markdown import Element, elements

LINE = 300  # characters of a message in the timeline
LONGEST = 20_000  # characters of a message in a thread

Json = dict[str, Any]


def brief(task: Json) -> Json:
    text = message_text(task["message"])
    found: Json = {
        "id": task["id"],
        "state": task["state"],
        "text": text if len(text) <= LINE else text[: LINE - 1] + "…",
        "sender": sender_id(task.get("sender")),
        "priority": task.get("priority", 1),
        "created_at": task["created_at"],
        "updated_at": task["updated_at"],
    }
    error = task.get("error") or {}
    more = {"note": task.get("note"), "error": error.get("message"), "code": error.get("code")}
    return found | {key: value for key, value in more.items() if value}


def whole(task: Json) -> Json:
    text = message_text(task["message"])
    return brief(task) | {
        "text": text if len(text) <= LONGEST else text[:LONGEST] + "…",
        "receipts": task["receipts"],
        "reply": _reply(task["artifacts"]),
    }


def _reply(artifacts: Json) -> Json | None:
    """The reply as Markdown, with how sure it is."""
    found = artifacts.get(REPLY)
    if found is None:
        return None
    shown: list[Element] = elements(str(found.get("data", "")))
    metadata = found.get("metadata") or {}
    return {"elements": shown, "source": metadata.get("source"), "confidence": metadata.get("confidence", 1)}
