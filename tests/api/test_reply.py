"""What a reply has beside its text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synapse.api.reply import NoData, Reply, Usage, data_in
from synapse.peers.task import A2ATask

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def task(text: str, **more: object) -> A2ATask:
    artifact = {"type": "text", "parts": [{"type": "text", "text": text}]}
    return A2ATask("1", "completed", artifacts=[artifact], metadata=dict(more), agent="codex")


def test_a_reply_is_its_text() -> None:
    reply = Reply.of(task("it works"))
    assert reply == "it works" == reply.text and reply.agent == "codex" and reply.task.id == "1"


def test_usage_comes_from_the_turn_and_is_zero_if_nobody_counted() -> None:
    counted = task("x", turn={"usage": {"input_tokens": 40, "output_tokens": 2}})
    assert Reply.of(counted).usage == Usage(40, 2) and Reply.of(counted).usage.tokens == 42
    assert not Reply.of(task("x")).usage
    assert not Reply.of(task("x", turn={"usage": "many"})).usage


def test_data_of_a_data_part_comes_first() -> None:
    done = task('{"from": "the text"}')
    done.artifacts.append({"parts": [{"type": "data", "data": {"from": "a part"}}]})
    assert Reply.of(done).data == {"from": "a part"}


def test_derived_artifacts_are_not_the_reply() -> None:
    done = task("words")
    done.artifacts.append({"metadata": {"derived": True}, "parts": [{"type": "data", "data": 1}]})
    with pytest.raises(NoData, match="no JSON"):
        _ = Reply.of(done).data


@given(
    VALUES,
    st.sampled_from(
        ["{}", "Here it is:\n\n```json\n{}\n```\nDone.", "~~~~\n{}\n~~~~", "   ```json\n{}\n   ```"]
    ),
)
def test_json_is_found_as_the_text_or_in_its_only_block(value: object, around: str) -> None:
    assert data_in(around.replace("{}", json.dumps(value), 1)) == value


def test_two_blocks_are_ambiguous() -> None:
    with pytest.raises(NoData, match="2 JSON documents"):
        data_in("```json\n1\n```\n```json\n2\n```\n")


def test_blocks_of_other_languages_do_not_count() -> None:
    assert data_in('```python\nprint("x")\n```\n```json\n{"a": 1}\n```\n') == {"a": 1}
