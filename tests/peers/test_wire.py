"""Responses of other agents as events."""

from __future__ import annotations

from synapse.peers.task import A2ATask, Json, StillWorking
from synapse.peers.wire import task_of


def test_what_a_task_waits_for_is_read_in_both_forms() -> None:
    dialect: Json = {"id": "1", "status": "submitted", "note": "the agent asks something"}
    parts = [{"text": "the agent asks something"}]
    status = {"state": "TASK_STATE_SUBMITTED", "message": {"parts": parts}}
    for answer in (dialect, {"task": {"id": "1", "status": status}}):
        task = task_of(answer, "")
        assert (task.status, task.note) == ("submitted", "the agent asks something")


def test_a_wait_that_is_over_says_what_is_waited_for() -> None:
    def said(task: A2ATask, shows: str = "") -> str:
        return str(StillWorking.after(2.0, "b", task, shows))

    assert said(A2ATask("1", "working"), "synapse task 1") == (
        "b is still working after 2 s. It goes on, and the reply is kept: `synapse task 1` shows it."
    )
    waits = A2ATask("1", note="2 messages are ahead of it")
    assert said(waits) == "b has not begun with it after 2 s (2 messages are ahead of it)."
    asks = A2ATask("1", "input_required", prompt={"prompt": "Go?"})
    assert said(asks) == "b waits for an answer after 2 s (Go?)."
    assert said(A2ATask("")) == "b has not answered after 2 s."
