"""The data that a step asks for."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from synapse.api.reply import Reply
from synapse.errors import UsageError
from synapse.peers.task import A2ATask
from synapse.run.schema import Expected, Mismatch


class Verdict(BaseModel):
    approved: bool
    findings: list[str] = []


def reply(text: str) -> Reply:
    return Reply.of(A2ATask("t", artifacts=[{"parts": [{"type": "text", "text": text}]}]))


def test_a_model_gives_an_instance() -> None:
    assert Expected(Verdict).value(reply('```json\n{"approved": true}\n```')) == Verdict(approved=True)


def test_a_json_schema_gives_plain_data() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert Expected(schema).value(reply('{"n": 3}')) == {"n": 3}
    with pytest.raises(Mismatch, match="n: 'three' is not of type 'integer'"):
        Expected(schema).value(reply('{"n": "three"}'))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("I approve it.", "no JSON"),
        ('{"approved": "perhaps"}', "approved: Input should be a valid boolean"),
        ("{}", "approved: Field required"),
    ],
)
def test_what_does_not_fit_says_why(text: str, why: str) -> None:
    with pytest.raises(Mismatch, match=why):
        Expected(Verdict).value(reply(text))


def test_the_prompt_carries_the_schema() -> None:
    expected = Expected(Verdict)
    assert expected.prompt("Review it.").startswith("Review it.\n\nReply with one JSON document")
    assert '"approved"' in expected.prompt("") and '"approved"' in expected.repair(Mismatch("why"))


@pytest.mark.parametrize("schema", [{"type": "nothing"}, 3, str])
def test_what_is_no_schema_is_refused_before_anybody_is_asked(schema: object) -> None:
    with pytest.raises(UsageError, match="schema"):
        Expected(schema)  # type: ignore[arg-type]
