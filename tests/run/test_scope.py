"""The keys of steps."""

from __future__ import annotations

import pytest

from synapse.errors import UsageError
from synapse.run.scope import Scope


def test_steps_are_numbered_and_named_ones_do_not_count() -> None:
    scope = Scope()
    assert [scope.key(), scope.key("plan"), scope.key(), scope.key()] == ["1", "plan", "2", "3"]


def test_the_calls_of_a_gather_number_their_own_steps() -> None:
    scope = Scope()
    key = scope.key()
    first, second = scope.child(key, 1), scope.child(key, 2)
    assert [first.key(), first.key(), second.key(), second.key("x")] == ["1.1.1", "1.1.2", "1.2.1", "1.2.x"]


def test_a_name_is_used_once() -> None:
    scope = Scope()
    scope.key("review")
    with pytest.raises(UsageError, match="two steps have the key 'review'"):
        scope.key("review")


@pytest.mark.parametrize("name", ["", "3", "a.b", "a\nb"])
def test_a_name_that_could_be_another_key_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the key of a step"):
        Scope().key(name)


def test_workers_have_their_own_numbers() -> None:
    scope = Scope()
    assert [scope.worker_key("a"), scope.worker_key("b"), scope.worker_key("a")] == ["1", "1", "2"]
    assert scope.child("3", 2).worker_key("a") == "3-2-1"
