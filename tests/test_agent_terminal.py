"""An agent's terminal in its host: the relay's frames in, what the rest of the host sees, frames back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from synapse.agent_terminal import CONTEXT_LENGTH, AgentTerminal
from synapse.agents.base import Channel, Surroundings
from synapse.keys.typed import CLEARED, SUBMITTED, TYPED
from synapse.profiles.loader import load_profile
from synapse.relay import wire
from synapse.watch.moments import ECHO, SETTLE
from synapse.watch.screen.composer import ABSENT, DIALOG, DRAFT, EMPTY, UNKNOWN, Seen

RULE = "─" * 40
BOX = f"\x1b[H\x1b[2J{RULE}\r\n❯ \r\n{RULE}\x1b[2;3H".encode() + b"%b"  # the composer of `dummy --tui`


class Wrapped:
    """A controller, the frames that it sends, and a clock that the test sets."""

    def __init__(self, profile: str = "dummy") -> None:
        self.now = 100.0
        self.sent: list[tuple[int, bytes]] = []
        around = Surroundings("/work", {}, 0.0, 1)
        self.controller = AgentTerminal(
            load_profile(profile), Channel(around), self._send, 80, 24, lambda: self.now
        )

    def _send(self, frame: bytes) -> None:
        self.sent += wire.Unpacker().feed(frame)

    def typed(self) -> bytes:
        return b"".join(payload for kind, payload in self.sent if kind == wire.TYPE)

    def told(self, kind: int) -> list[Any]:
        return [json.loads(payload) for sent, payload in self.sent if sent == kind]


@pytest.fixture
def wrapped() -> Wrapped:
    return Wrapped()


# --- what the agent writes --------------------------------------------------------------------------------


def test_output_is_on_the_screen_before_anybody_is_told(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    seen: list[tuple[bytes, str]] = []
    controller.add_output_callback(lambda data: seen.append((data, controller.get_context())))
    controller.feed(b"hello")
    controller.feed(b" you")
    assert seen == [(b"hello", "hello"), (b" you", "hello you")]
    assert controller.written == 9


def test_a_callback_that_is_removed_is_told_no_more(wrapped: Wrapped) -> None:
    seen: list[object] = []
    controller = wrapped.controller
    controller.add_output_callback(seen.append)
    controller.add_status_callback(seen.append)
    controller.remove_output_callback(seen.append)
    controller.remove_output_callback(seen.append)  # that is no error
    controller.remove_status_callback(seen.append)
    controller.remove_status_callback(seen.append)
    controller.feed(b"\x1b[?2004h$ ")
    wrapped.now += 60
    controller.check_status()
    assert seen == []


def test_the_context_is_the_last_of_the_rendered_text(wrapped: Wrapped) -> None:
    wrapped.controller.feed(b"\r\n".join(b"\x1b[32mline %d\x1b[m" % number for number in range(1000)))
    context = wrapped.controller.get_context()
    assert len(context) == CONTEXT_LENGTH and context.endswith("line 998\nline 999")
    assert wrapped.controller.get_context(8) == "line 999"


def test_a_new_size_is_the_screens(wrapped: Wrapped) -> None:
    wrapped.controller.resized(100, 30)
    assert wrapped.controller.screen.size == (100, 30)


@pytest.mark.parametrize(("present", "answer"), [(True, b""), (False, b"\x1b[1;3R")])
def test_a_terminal_query_is_answered_where_no_human_has_a_terminal(present: bool, answer: bytes) -> None:
    wrapped = Wrapped()
    wrapped.controller.console_changed(present)
    wrapped.controller.feed(b"ab\x1b[6n")
    assert wrapped.typed() == answer


def test_pastes_are_taken_while_the_agent_has_switched_them_on(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    assert not controller.takes_pastes
    controller.feed(b"\x1b[?2004h")
    assert controller.takes_pastes
    controller.feed(b"\x1b[?2004l")
    assert not controller.takes_pastes


# --- status -----------------------------------------------------------------------------------------------


def test_the_status_starts_as_processing_and_each_change_is_told_once(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    changes: list[str] = []
    controller.add_status_callback(changes.append)
    assert controller.status == "PROCESSING"
    controller.feed(b"dummy> ")
    for _ in range(10):
        wrapped.now += 5
        controller.check_status()
    assert changes == ["READY"] and controller.status == "READY"
    assert controller.explain()["status"] == "READY"


def test_the_exit_is_known_and_ends_the_turn(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    controller.human_typed(SUBMITTED, 1, True, "")
    assert controller.running and controller.exit_status is None
    controller.exited(3)
    assert not controller.running and controller.exit_status == 3
    assert controller.observer.turns.finished[-1].outcome == "failed"
    assert controller.observer.error is not None


# --- what is typed ----------------------------------------------------------------------------------------


def test_text_is_typed_with_what_submits_it(wrapped: Wrapped) -> None:
    wrapped.controller.write("hello")
    assert wrapped.typed() == b"hello"
    assert wrapped.controller.draft and wrapped.controller.draft_text is None
    wrapped.controller.write(" いろは", "\r")
    assert wrapped.typed() == "hello いろは\r".encode()
    assert not wrapped.controller.draft and wrapped.controller.draft_text == ""


def test_interrupt_presses_the_profiles_keys_and_stop_is_the_relays(wrapped: Wrapped) -> None:
    wrapped.controller.interrupt()
    wrapped.controller.stop()
    (kind, request), last = wrapped.sent
    keys = wrapped.controller.profile.interrupt_keys.decode()
    assert kind == wire.INJECT and json.loads(request)["steps"] == [[0.0, keys]]
    assert last == (wire.STOP, b"")


@pytest.mark.parametrize(
    ("what", "empty", "text", "draft"),
    [
        (TYPED, False, "he", (True, "he")),
        (TYPED, False, None, (True, None)),
        (CLEARED, True, "", (False, "")),
        (SUBMITTED, True, "", (False, "")),
    ],
)
def test_a_humans_keys_tell_the_draft(
    wrapped: Wrapped, what: int, empty: bool, text: str | None, draft: tuple[bool, str | None]
) -> None:
    controller = wrapped.controller
    changes: list[int] = []
    controller.on_change(lambda: changes.append(controller.keys))
    controller.human_typed(what, 7, empty, text)
    assert (controller.draft, controller.draft_text) == draft
    assert controller.keys == 7 and controller.last_key == wrapped.now and changes == [7]


def test_a_draft_of_before_counts_as_typed_now(wrapped: Wrapped) -> None:
    wrapped.controller.set_draft(True, "")
    assert wrapped.controller.last_key < 0
    wrapped.controller.set_draft(False, "half a line")
    assert wrapped.controller.last_key == wrapped.now


# --- injections -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "keys", "output"),
    [({}, 5, 3), ({"known_output": False}, 5, None), ({"careful": False}, None, None)],
)
def test_an_injection_names_what_is_known_here(
    wrapped: Wrapped, more: dict[str, Any], keys: int | None, output: int | None
) -> None:
    controller = wrapped.controller
    controller.human_typed(TYPED, 5, False, "x")
    controller.feed(b"abc")
    outcomes: list[str] = []
    controller.inject("task/1", [(0.0, b"\xffhi"), (0.1, b"\r")], outcomes.append, **more)
    (request,) = wrapped.told(wire.INJECT)
    assert request == {
        "id": "task/1",
        "keys": keys,
        "output": output,
        "draft": None,
        "clear": None,
        "in_front": False,
        "steps": [[0.0, "\xffhi"], [0.1, "\r"]],
    }
    controller.injected("another", "done")
    assert outcomes == []
    controller.injected("task/1", "done")
    controller.injected("task/1", "told again")
    assert outcomes == ["done"]


# --- lines for other agents -------------------------------------------------------------------------------

COMMAND = {"id": "run-1", "name": "codex", "line": "@codex hi", "message": "hi"}


def test_a_line_is_refused_while_nobody_takes_lines(wrapped: Wrapped) -> None:
    wrapped.controller.command(COMMAND)
    (told,) = wrapped.told(wire.COMMAND_TAKEN)
    assert told["id"] == "run-1" and told["refused"]


def test_a_line_is_taken_or_kept_with_the_reason(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    taken: list[Callable[[str | None], None]] = []
    refused: list[Mapping[str, Any]] = []
    routing = {"enabled": True, "pattern": "", "passthrough_on_fail": True}
    controller.take_commands(["codex"], routing, lambda command, answer: taken.append(answer), refused.append)
    assert wrapped.told(wire.NAMES) == [{**routing, "names": ["codex"]}]
    controller.command(COMMAND)
    controller.command(COMMAND)
    assert wrapped.told(wire.COMMAND_TAKEN) == [], "it is not stored yet"
    taken[0](None)
    taken[1]("the disk is full")
    assert wrapped.told(wire.COMMAND_TAKEN) == [{"id": "run-1"}, {"id": "run-1", "kept": "the disk is full"}]
    refusal = {**COMMAND, "reason": "no such agent"}
    controller.command(refusal)
    assert refused == [refusal] and len(taken) == 2


# --- what is in the composer ------------------------------------------------------------------------------


def test_what_is_seen_is_told_once_the_last_key_must_be_part_of_it(wrapped: Wrapped) -> None:
    controller = wrapped.controller

    def told() -> list[tuple[str, str | None, int]]:
        return [(each["state"], each["text"], each["after_key"]) for each in wrapped.told(wire.COMPOSER)]

    def look() -> None:
        wrapped.now += SETTLE
        controller.check_status()

    controller.feed(BOX % b"")
    look()
    controller.human_typed(TYPED, 3, False, "x")
    controller.check_status()
    assert told() == [(EMPTY, None, 0)]
    controller.feed(BOX % b"x")
    look()
    look()
    assert told()[1:] == [(DRAFT, "x", 3)]
    controller.human_typed(TYPED, 4, False, None)  # a key without an echo
    look()
    assert len(told()) == 2
    wrapped.now += ECHO
    look()
    assert told()[2:] == [(DRAFT, "x", 4)]


def test_keys_of_a_request_are_followed_by_what_is_seen(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    controller.feed(BOX % b"")
    wrapped.now += SETTLE
    controller.check_status()
    assert len(wrapped.told(wire.COMPOSER)) == 1
    controller.type_keys(b"\t")
    wrapped.now += ECHO
    controller.check_status()
    assert [each["state"] for each in wrapped.told(wire.COMPOSER)] == [EMPTY, EMPTY]


def test_while_output_never_pauses_what_two_looks_found_counts(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    controller.feed(BOX % b"")
    wrapped.now += SETTLE
    controller.check_status()
    controller.human_typed(TYPED, 1, False, "x")
    for _ in range(20):
        controller.feed(BOX % b"x")
        wrapped.now += SETTLE / 2
        controller.check_status()
    told = wrapped.told(wire.COMPOSER)
    assert (told[-1]["state"], told[-1]["text"], told[-1]["after_key"]) == (DRAFT, "x", 1)


@pytest.mark.parametrize("state", [DIALOG, ABSENT])
def test_a_line_that_is_in_no_composer_goes_to_the_agent(wrapped: Wrapped, state: str) -> None:
    controller = wrapped.controller
    taken: list[object] = []
    controller.take_commands(["b"], {}, lambda command, answer: taken.append(command), taken.append)
    controller.observer.composer = Seen(state, why="vim")
    controller.command({"id": "1", "name": "b", "message": "hi"})
    (told,) = wrapped.told(wire.COMMAND_TAKEN)
    assert told["id"] == "1" and "vim" in told["refused"] and taken == []


def test_a_question_has_the_keys_where_no_composer_is_seen(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    controller.feed(b"Delete it? (y/n): ")
    wrapped.now += SETTLE
    controller.check_status()
    assert controller.observer.prompt is not None
    for state, seen in ((UNKNOWN, DIALOG), (ABSENT, DIALOG), (EMPTY, EMPTY), (DRAFT, DRAFT)):
        controller.observer.composer = Seen(state)
        assert controller.composer.state == seen


def test_a_submitted_line_is_known_to_the_channel() -> None:
    lines: list[str | None] = []

    class Listening(Channel):
        def submitted(self, text: str | None = None) -> None:
            lines.append(text)

    around = Surroundings("/work", {}, 0.0, 1)
    controller = AgentTerminal(load_profile("dummy"), Listening(around), lambda _: None, 80, 24)
    controller.human_typed(TYPED, 1, False, "hello")
    controller.human_typed(SUBMITTED, 2, True, "", "hello")
    controller.human_typed(SUBMITTED, 3, True, "")
    assert lines == ["hello", None]


def test_a_line_behind_another_prompt_goes_to_the_agent(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    taken: list[object] = []
    controller.take_commands(["b"], {}, lambda command, answer: taken.append(command), taken.append)
    controller.feed(b"dummy> ")
    for _ in range(4):
        wrapped.now += 2.0
        controller.check_status()
    controller.human_typed(SUBMITTED, 1, True, "", "cat <<END")
    controller.feed(b"cat <<END\r\n| ")
    controller.human_typed(TYPED, 2, False, "@b hi")
    controller.feed(b"@b hi")
    controller.command({"id": "1", "name": "b", "message": "hi", "line": "@b hi"})
    (told,) = wrapped.told(wire.COMMAND_TAKEN)
    assert "not '|'" in told["refused"] and taken == []


def test_after_escape_the_prompt_of_an_unknown_program_is_not_known_to_take_text(wrapped: Wrapped) -> None:
    controller = wrapped.controller
    controller.feed(b"dummy> ")

    def look() -> str:
        for _ in range(4):
            wrapped.now += 2.0
            controller.check_status()
        return controller.composer.state

    assert look() == EMPTY
    controller.human_typed(TYPED, 1, False, "")  # Escape
    assert look() == UNKNOWN
    controller.human_typed(TYPED, 2, False, None)  # Up, Down
    assert look() == EMPTY
    controller.human_typed(SUBMITTED, 3, True, "", "")
    assert look() == EMPTY
