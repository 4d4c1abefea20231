"""InputRouter: the specifications' names over the relay's router, for scripts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from synapse.a2a_client import A2ATask, ExternalAgent, ExternalAgentRegistry, StillWorking
from synapse.errors import NoSuchAgent, Refused, WaitTimeout
from synapse.input_router import InputRouter
from synapse.registry import AgentRegistry
from tests.support.home import Home
from tests.support.running import start

REPLY: list[dict[str, Any]] = [
    {"type": "text", "data": "hello"},
    {"type": "text", "data": "x", "metadata": {"derived": True}},
]


class Registry:
    def list_agents(self) -> dict[str, Any]:
        return {
            "1": {"name": "one", "agent_type": "Reviewer", "endpoint": "by type"},
            "2": {"name": "Reviewer", "agent_type": "codex", "endpoint": "by name"},
        }


class Client:
    """Answers as it is told; `Weather` is the alias of a remote agent."""

    def __init__(self, answer: A2ATask | Exception) -> None:
        self.answer = answer
        self.calls: list[tuple[str, str, bool]] = []

    def list_agents(self) -> list[Any]:
        return [SimpleNamespace(alias="Weather")]

    def send_to_local(self, endpoint: str, message: str, priority: int, wait: bool) -> A2ATask:
        assert priority == 1
        return self._answer(endpoint, message, wait)

    def send_message(self, alias: str, message: str, wait: bool) -> A2ATask:
        if alias != "Weather":
            raise NoSuchAgent(alias)
        return self._answer(alias, message, wait)

    def _answer(self, to: str, message: str, wait: bool) -> A2ATask:
        self.calls.append((to, message, wait))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_process_char() -> None:
    it = InputRouter()
    assert it.process_input("@Gemini hello") == [(char, False) for char in "@Gemini hello"]
    assert it.line_buffer == "@Gemini hello"
    assert it.process_char("\r") == ("", True)
    assert it.get_a2a_command() == ("Gemini", "hello") and it.pending_agent == "Gemini"
    assert it.line_buffer == ""
    assert it.process_input("ok\n")[-1] == ("\n", False)


def test_backspace_and_control_characters() -> None:
    it = InputRouter()
    it.process_input("ab\x7f")
    assert it.line_buffer == "a"
    for char in "\x03\x04\x1a":
        it.process_input("text")
        assert it.process_char(char) == (char, False)
        assert it.line_buffer == ""
        it.process_char("\r")


def test_escape_sequences_are_not_in_the_buffer() -> None:
    it = InputRouter()
    assert it.is_escape_sequence("\x1b[A") and not it.is_escape_sequence("a\x1b")
    it.process_input("a\x1b[")
    assert it.in_escape_sequence
    it.process_input("Db")
    assert it.line_buffer == "ba" and not it.in_escape_sequence
    it.reset()
    assert it.line_buffer == "" and it.get_a2a_command() == (None, None)


def test_patterns() -> None:
    it = InputRouter()
    assert it.is_a2a_command("@Gemini hello") and it.is_a2a_command("@Gemini --here hello")
    assert not it.is_a2a_command("hello world") and not it.is_a2a_command("email@example.com")
    assert it.parse_a2a_command("@Gemini --here hello") == ("Gemini", "hello")
    assert it.parse_a2a_command("hello") == (None, None)


@pytest.mark.parametrize("enter", ["\r", "\n"])
def test_with_a_registry_only_local_and_remote_agents_are_known(enter: str) -> None:
    it = InputRouter(registry=Registry(), a2a_client=Client(A2ATask("1")))
    assert it.is_a2a_command("@CODEX hi") and it.is_a2a_command("@weather hi")
    assert not it.is_a2a_command("@gemini hi")
    assert it.process_input(f"@weather hi{enter}")[-1] == ("", True)
    assert it.get_a2a_command() == ("Weather", "hi")
    output = it.process_input(f"@gemini hi{enter}")
    assert "".join(text for text, _ in output).endswith(enter) and not output[-1][1]


def test_a_read_may_end_with_an_enter_that_is_an_escape_sequence() -> None:
    it = InputRouter(registry=Registry(), a2a_client=Client(A2ATask("1")))
    passed, command = it.feed(b"@one hi\x1b[13u")
    assert passed == ("pass", b"@one hi") and command[0] == "command"
    assert it.feed(b"@nobody hi\x1b[13u") == [("pass", b"@nobody hi\x1b[13u")]


def test_a_name_is_found_whatever_its_case_and_before_a_type() -> None:
    client = Client(A2ATask("1", "completed", artifacts=REPLY))
    it = InputRouter(Registry(), client)
    assert it.send_to_agent("reviewer", "hi") and it.last_response == "hello"
    assert it.get_feedback_message("reviewer", True) == "[→ reviewer (local)]"
    assert it.send_to_agent("weather", "hi", False) and it.last_response is None
    assert it.get_feedback_message("weather", True) == "[→ weather (external)]"
    assert client.calls == [("by name", "hi", True), ("Weather", "hi", False)]


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (Refused("busy"), False),
        (WaitTimeout("does not answer"), False),
        (StillWorking("not finished", A2ATask("1", "working")), True),
    ],
)
def test_a_failure_is_returned_and_not_raised(error: Exception, sent: bool) -> None:
    router = InputRouter(Registry(), Client(error))
    router.last_response = "of the message before"
    assert router.send_to_agent("one", "hi") is sent and router.last_response is None
    assert router.send_to_agent("nobody", "hi") is False and router.is_external_agent
    assert router.get_feedback_message("nobody", False) == "[✗ nobody: not sent]"


def test_it_sends_to_agents_on_both_registries(home: Home) -> None:
    """With a real agent, under its own name and under the alias of a remote agent."""
    assert not InputRouter().send_to_agent("a", "say hello"), "nobody runs yet"
    with start(home) as agent:
        it = InputRouter(registry=AgentRegistry())
        assert it.send_to_agent("A", "say hello") and it.last_response == "hello"
        assert not it.is_external_agent
        url = str(agent.http.base_url)
        ExternalAgentRegistry().add(ExternalAgent(name="far", url=url, alias="far"))
        assert it.process_input("@Far say good day\r")[-1] == ("", True)
        assert it.send_to_agent(*it.get_a2a_command()) and it.last_response == "good day"
        assert it.get_feedback_message("far", True) == "[→ far (external)]"
