"""Between the engine's plain dictionaries and the standard's types."""

from __future__ import annotations

import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given
from hypothesis import strategies as st

from synapse.base.states import STATES
from synapse.event_emitter import SSEEvent
from synapse.server.standard import convert
from synapse.tasks.task import BadMessage, Json, Task, text_message


def message(**more: object) -> pb.Message:
    return ParseDict({"messageId": "m", "role": "ROLE_USER", **more}, pb.Message())


def task(**more: object) -> Task:
    made = Task("an-id", "a-context", text_message("hello", message_id="m"), created_at=1.0, updated_at=2.0)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def as_json(found: object) -> Json:
    return dict(MessageToDict(found))  # type: ignore[arg-type]


PARTS: list[tuple[Json, Json]] = [
    ({"text": "hi"}, {"type": "text", "text": "hi"}),
    (
        {"text": "*hi*", "mediaType": "text/markdown"},
        {"type": "text", "text": "*hi*", "mime_type": "text/markdown"},
    ),
    (
        {"data": {"n": 42, "x": [1.5, None, True]}},
        {"type": "data", "data": {"n": 42, "x": [1.5, None, True]}},
    ),
    ({"data": [1, 2]}, {"type": "data", "data": [1, 2]}),
    (
        {"raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain"},
        {"type": "file", "bytes": "aGk=", "name": "a.txt", "mime_type": "text/plain"},
    ),
    (
        {"url": "https://example.com/a", "filename": "a"},
        {"type": "file", "uri": "https://example.com/a", "name": "a"},
    ),
    ({"text": "hi", "metadata": {"k": "v"}}, {"type": "text", "text": "hi", "metadata": {"k": "v"}}),
]


@pytest.mark.parametrize(("theirs", "ours"), PARTS)
def test_a_part_goes_both_ways(theirs: Json, ours: Json) -> None:
    assert convert.message_from(message(parts=[theirs]))["parts"] == [ours]
    there = convert.message_to({"role": "agent", "parts": [ours]}, "t", "c", 1)
    assert as_json(there)["parts"] == [theirs]


def test_a_part_of_no_known_kind_is_refused() -> None:
    unknown = ParseDict({"parts": [{"video": "x"}]}, pb.Message(), ignore_unknown_fields=True)
    with pytest.raises(BadMessage, match="text, data, raw nor url"):
        convert.message_from(unknown)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text().filter(lambda t: t.isprintable()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
    )
)
def test_any_data_survives(data: object) -> None:
    there = convert.message_to({"role": "agent", "parts": [{"type": "data", "data": data}]}, "t", "c", 1)
    there.role = pb.Role.ROLE_USER
    assert convert.message_from(there)["parts"][0]["data"] == data


def test_what_the_standard_cannot_nest_becomes_text() -> None:
    deep: Json = {}
    for _ in range(200):
        deep = {"a": deep}
    found = convert.artifact_to(
        {"artifact_id": "x", "parts": [{"type": "data", "data": deep}], "metadata": deep}
    )
    assert found.parts[0].text.startswith('{"a": {"a":')
    assert str(found.metadata["json"]).startswith('{"a": {"a":')


@pytest.mark.parametrize("state", STATES)
def test_every_state_has_its_name(state: str) -> None:
    found = convert.task_to(task(state=state))
    assert pb.TaskState.Name(found.status.state) == f"TASK_STATE_{state.upper()}"
    assert convert.state_name(found.status.state) == state


def test_a_question_is_a_message_with_its_options_as_data() -> None:
    prompt = {
        "type": "confirmation",
        "prompt": "Run ls?",
        "options": ["y", "n"],
        "default": "y",
        "keys": {"y": "y"},
    }
    found = convert.task_to(task(state="input_required", prompt=prompt)).status.message
    assert found.role == pb.Role.ROLE_AGENT
    assert found.parts[0].text == "Run ls?"
    assert MessageToDict(found.parts[1].data) == prompt


def test_an_error_is_a_message_and_stays_an_error() -> None:
    error = {"code": "AGENT_GONE", "message": "the agent ended"}
    found = convert.task_to(task(state="failed", error=error)).status.message
    assert found.parts[0].text == "the agent ended"
    assert MessageToDict(found.metadata) == {"x-synapse-task": {"error": error}}


def test_a_task_has_its_receipts_priority_and_sender() -> None:
    receipts = [{"step": "queued", "at": "2026-01-01T00:00:00.000Z"}]
    found = convert.task_to(task(receipts=receipts, priority=3, sender={"id": "1"}, metadata={"mine": "x"}))
    assert MessageToDict(found.metadata) == {
        "mine": "x",
        "x-synapse-task": {"priority": 3, "receipts": receipts, "sender": {"id": "1"}},
    }


@pytest.mark.parametrize(
    ("length", "texts"), [(None, ["hello", "b", "c"]), (0, []), (2, ["b", "c"]), (9, ["hello", "b", "c"])]
)
def test_so_much_of_the_history(length: int | None, texts: list[str]) -> None:
    found = convert.task_to(task(history=[text_message("b", "agent"), text_message("c")]), length)
    assert [m.parts[0].text for m in found.history] == texts
    assert len({m.message_id for m in found.history}) == len(texts)


def test_artifacts_keep_id_name_kind_and_what_they_were_made_from() -> None:
    piece = {
        "artifact_id": "reply-1",
        "type": "code",
        "name": "code",
        "parts": [{"type": "text", "text": "x = 1"}],
        "metadata": {"language": "python", "derived": True},
    }
    assert as_json(convert.artifact_to(piece)) == {
        "artifactId": "reply-1",
        "name": "code",
        "parts": [{"text": "x = 1"}],
        "metadata": {"language": "python", "derived": True, "type": "code"},
    }


def test_the_pieces_of_a_streamed_reply_are_one_part() -> None:
    parts = [{"type": "text", "text": t} for t in ("a", "b")]
    made = task(artifacts=[{"artifact_id": "reply", "name": "output", "parts": parts}])
    assert [part.text for part in convert.task_to(made).artifacts[0].parts] == ["ab"]


def test_receipts_are_no_events_of_the_standard() -> None:
    assert convert.event_to(SSEEvent("receipt", {"taskId": "t", "receipt": {}}, "3")) is None


@pytest.mark.parametrize(
    ("request_metadata", "message_metadata", "expected"),
    [
        ({}, {}, (1, None)),
        ({"x-synapse-task": {"priority": 4}}, {}, (4, None)),
        ({"x-synapse-task": {"priority": 4}}, {"x-synapse-task": {"priority": 2}}, (2, None)),
        (
            {},
            {"x-synapse-task": {"sender": {"id": "a", "name": "b", "other": "c"}}},
            (1, {"id": "a", "name": "b"}),
        ),
        ({"x-synapse-task": "nonsense"}, {}, (1, None)),
    ],
)
def test_wishes(request_metadata: Json, message_metadata: Json, expected: object) -> None:
    request = ParseDict({"metadata": request_metadata}, pb.SendMessageRequest())
    assert convert.options_from(request.metadata, message(metadata=message_metadata).metadata)[:2] == expected


@pytest.mark.parametrize(
    "wish",
    [
        {"priority": "high"},
        {"priority": 1.5},
        {"priority": True},
        {"sender": "me"},
        {"sender": {"id": 1}},
        {"sender": {"id": "a\x9b31m"}},
        {"sender": {"name": "a\nb"}},
        {"sender": {"name": "a\u202eb"}},
        {"sender": {"name": ""}},
    ],
)
def test_wishes_that_make_no_sense_are_refused(wish: Json) -> None:
    with pytest.raises(BadMessage):
        convert.options_from(message(metadata={"x-synapse-task": wish}).metadata)


def test_what_is_told_of_a_turn_has_the_standards_names() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2}
    task = Task("t", "c", {"role": "user", "parts": [{"type": "text", "text": "x"}]})
    task.metadata = {"turn": {"source": "exact", "usage": usage}, "of_the_client": {"a_b": 1}}
    told = MessageToDict(convert.task_to(task))["metadata"]
    assert told["turn"]["usage"] == {"inputTokens": 1, "outputTokens": 2}
    assert told["of_the_client"] == {"a_b": 1}
