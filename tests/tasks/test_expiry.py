"""The expiry in the metadata of a message."""

from __future__ import annotations

from typing import Any

import pytest

from synapse.tasks.expiry import expires_in, with_expiry
from synapse.tasks.task import BadMessage


def metadata(seconds: object) -> dict[str, Any]:
    return {"x-synapse-task": {"expires": seconds}}


def test_the_last_one_that_says_it_counts() -> None:
    assert expires_in(None, {}, {"x-synapse-task": 5}, {"other": 1}) is None
    assert expires_in(metadata(5), {}) == 5.0
    assert expires_in(metadata(5), metadata(0.5)) == 0.5
    assert expires_in(metadata(None)) is None


@pytest.mark.parametrize("seconds", [0, -1, "5", True, float("nan"), 604_801, [5]])
def test_what_is_no_number_of_seconds_is_refused(seconds: object) -> None:
    with pytest.raises(BadMessage, match="use a number of seconds"):
        expires_in(metadata(seconds))


def test_what_is_sent_is_read() -> None:
    held = {"synapse": {"hops": []}, "x-synapse-task": {"sender": {"id": "a"}}}
    made = with_expiry(held, 2.5)
    assert expires_in(made) == 2.5 and made["x-synapse-task"]["sender"] == {"id": "a"}
    assert with_expiry(held, None) is held
