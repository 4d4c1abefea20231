"""Every public class, method and attribute that the specifications name, at the import path that they show.

Names with an underscore and constants with patterns are not part of it. What the names do is tested with
their modules, for example in tests/test_controller.py.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import synapse
from synapse.a2a_client import A2AClient, A2ATask, ExternalAgent
from synapse.controller import TerminalController
from synapse.event_emitter import EventEmitterRegistry, SSEEvent, emitter_registry
from synapse.input_router import InputRouter
from synapse.registry import AgentRegistry

NAMES = {
    "a2a_client": {
        "A2AClient": "discover send_to_local send_message get_task cancel_task list_agents remove_agent",
        "A2AMessage": "from_text",
        "A2ATask": "",
        "ExternalAgent": "",
        "ExternalAgentRegistry": "add remove get list_agents update_last_seen",
    },
    "a2a_compat": {
        "Message": "",
        "TaskState": "",
        "TaskStore": "create get update_status add_artifact create_task get_task complete_task "
        "set_input_required provide_input",
        "TextPart": "",
    },
    "controller": {
        "TerminalController": "start stop write interrupt get_context run_interactive add_output_callback "
        "remove_output_callback handle_stdin send_to_agent write_feedback running status output_buffer"
    },
    "event_emitter": {
        "EventEmitterRegistry": "get_or_create remove",
        "SSEEvent": "to_sse_format",
        "TaskEventEmitter": "subscribe emit_status emit_artifact",
    },
    "input_detector": {"InputPrompt": "to_a2a_format", "InputRequiredDetector": "detect"},
    "input_router": {
        "InputRouter": "process_char process_input send_to_agent get_feedback_message reset is_a2a_command "
        "parse_a2a_command get_a2a_command is_escape_sequence line_buffer in_escape_sequence pending_agent "
        "a2a_client"
    },
    "output_parser": {
        "ArtifactType": "TEXT CODE FILE JSON ERROR",
        "OutputParser": "parse",
        "ParsedArtifact": "to_a2a_artifact",
        "StreamingOutputParser": "feed flush",
    },
    "registry": {"AgentRegistry": "get_agent_id register unregister list_agents"},
}


@pytest.mark.parametrize("module", NAMES)
def test_classes_and_methods(module: str) -> None:
    found = import_module(f"synapse.{module}")
    for name, members in NAMES[module].items():
        missing = [member for member in members.split() if not hasattr(getattr(found, name), member)]
        assert missing == [], name


def test_parameters_in_their_order() -> None:
    def parameters(function: object) -> list[str]:
        assert callable(function)
        return [name for name in inspect.signature(function).parameters if name != "self"]

    assert parameters(A2AClient.send_to_local)[:5] == ["endpoint", "message", "priority", "wait", "timeout"]
    assert parameters(A2AClient.send_message)[:3] == ["alias", "message", "wait"]
    assert parameters(AgentRegistry.register)[:4] == ["agent_id", "agent_type", "port", "status"]
    assert parameters(InputRouter.send_to_agent) == ["name", "message", "want_response"]
    assert parameters(TerminalController.write) == ["data", "submit_seq"]
    assert parameters(TerminalController)[:2] == ["command", "idle_regex"]
    assert parameters(A2ATask)[:6] == ["id", "status", "message", "artifacts", "created_at", "updated_at"]
    fields = ["name", "url", "description", "capabilities", "skills", "alias", "added_at", "last_seen"]
    assert parameters(ExternalAgent)[:8] == fields
    assert parameters(SSEEvent)[:4] == ["event_type", "data", "id", "retry"]


def test_attributes_of_objects() -> None:
    assert isinstance(emitter_registry, EventEmitterRegistry)
    router = InputRouter()
    assert (router.registry, router.is_external_agent, router.last_response) == (None, False, None)
    controller = TerminalController("cat", idle_regex="> $")
    assert controller.command == "cat" and controller.idle_regex and controller.idle_regex.pattern == "> $"
    assert controller.input_router.registry is controller.registry
    assert controller.input_detector.enabled


@pytest.mark.parametrize(
    "path",
    [
        *("tools/a2a.py", "profiles/claude.yaml", "profiles/codex.yaml", "profiles/gemini.yaml"),
        *("profiles/dummy.yaml", "agent_context.py", "../tests/e2e/test_phase2_integration.py"),
        *("../tests/test_a2a_compat.py", "../tests/test_sse.py", "../tests/test_output_parser.py"),
        "../tests/test_input_detector.py",
    ],
)
def test_files(path: str) -> None:
    assert (Path(synapse.__file__).parent / path).is_file()
