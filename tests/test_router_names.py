"""InputRouter under the names of the specification, with a client whose calls fail."""

from __future__ import annotations

from typing import Any

import pytest

from synapse.a2a_client import A2ATask, StillWorking
from synapse.errors import NoSuchAgent, Refused, WaitTimeout
from synapse.input_router import A2A_PATTERN, InputRouter


class Registry:
    def list_agents(self) -> dict[str, Any]:
        return {
            "1": {"name": "one", "agent_type": "Reviewer", "endpoint": "by type"},
            "2": {"name": "Reviewer", "agent_type": "codex", "endpoint": "by name"},
        }


class Client:
    def __init__(self, answer: A2ATask | Exception) -> None:
        self.answer = answer
        self.endpoints: list[str] = []

    def send_to_local(self, endpoint: str, *_: object) -> A2ATask:
        self.endpoints.append(endpoint)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def send_message(self, alias: str, *_: object) -> A2ATask:
        raise NoSuchAgent(alias)


def test_an_escape_sequence_and_the_pattern() -> None:
    assert InputRouter().is_escape_sequence("\x1b[A") and not InputRouter().is_escape_sequence("a\x1b")
    found = A2A_PATTERN.match("@codex review this")
    assert found is not None and found.groups() == ("codex", "review this")


def test_a_name_is_found_whatever_its_case_and_before_a_type() -> None:
    client = Client(A2ATask("1", "completed"))
    assert InputRouter(Registry(), client).send_to_agent("reviewer", "hi")
    assert client.endpoints == ["by name"]


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (Refused("busy"), False),
        (WaitTimeout("does not answer"), False),
        (StillWorking("not finished", A2ATask("1", "working")), True),
    ],
)
def test_what_fails_is_said_and_not_raised(error: Exception, sent: bool) -> None:
    router = InputRouter(Registry(), Client(error))
    router.last_response = "of the message before"
    assert router.send_to_agent("one", "hi") is sent and router.last_response is None
    assert router.send_to_agent("nobody", "hi") is False and router.is_external_agent
