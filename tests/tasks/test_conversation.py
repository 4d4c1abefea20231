"""The limits of a conversation between agents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synapse.tasks.conversation import Budget, Conversations, Used, merged, read
from synapse.tasks.loop_guard import KEY
from synapse.tasks.store import TaskStore
from synapse.tasks.task import text_message

COUNTS = st.builds(Used, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
MAPS = st.dictionaries(st.sampled_from("abcd"), COUNTS)


def store_with(context: str, tasks: int, tokens: int = 0) -> TaskStore:
    store = TaskStore()
    for _ in range(tasks):
        task = store.create(text_message("x"), context_id=context)
        task.metadata["turn"] = {"usage": {"input_tokens": tokens, "output_tokens": 0}}
        store.update_status(task.id, "completed")
    return store


def from_agent(**used: list[int]) -> dict[str, object]:
    return {KEY: {"hops": ["b"], "used": used}}


def test_own_tasks_and_what_the_sender_knows_are_added() -> None:
    conversations = Conversations(store_with("c", 2, tokens=100), "a", Budget(turns=5))
    assert conversations.objection("c", from_agent(b=[2, 0, 2])) == ""
    assert conversations.objection("c", from_agent(b=[3, 0, 3])).startswith(
        "the conversation has used 5 of 5 turns"
    )
    assert conversations.objection("other", from_agent(b=[3, 0, 3])) == ""


def test_tokens_and_messages_count_too() -> None:
    store = store_with("c", 2, tokens=100)
    assert "200 of 150 tokens" in Conversations(store, "a", Budget(tokens=150)).objection("c", from_agent())
    assert "2 of 2 messages" in Conversations(store, "a", Budget(messages=2)).objection("c", from_agent())


def test_a_human_may_go_on_and_no_limit_is_none() -> None:
    store = store_with("c", 9)
    assert Conversations(store, "a", Budget(turns=1)).objection("c", {}) == ""
    assert Conversations(store, "a", Budget()).objection("c", from_agent()) == ""


def test_what_others_have_told_goes_on_with_the_next_message() -> None:
    store = TaskStore()
    task = store.create(text_message("x"), context_id="c", metadata=from_agent(b=[3, 7, 3], a=[9, 9, 9]))
    assert Conversations(store, "a", Budget()).known(task) == {"a": [9, 9, 9], "b": [3, 7, 3]}


@given(MAPS, MAPS)
def test_counts_only_grow(one: dict[str, Used], other: dict[str, Used]) -> None:
    both = merged(one, other)
    assert both == merged(other, one) and merged(both, one) == both
    assert all(both[agent] == both[agent].most(counts) for agent, counts in one.items())


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_no_count_is_left_out(value: object) -> None:
    assert all(min(counts) >= 0 for counts in read(value).values())
