"""From a typed line to the reply in the inbox, with a client that does as the test says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from synapse.errors import SynapseError, TargetError
from synapse.messages import messenger as module
from synapse.messages.inbox import Answer, HandOver
from synapse.messages.messenger import SHOWN_LIMIT
from synapse.peers.task import A2ATask, StillWorking
from synapse.registry import PROCESSING, READY
from synapse.tasks import shelf
from tests.support.messenger_desk import Desk, turn, with_desk


def test_stored_before_it_is_answered_and_sent_once(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        assert desk.type("b", "hello") == [None]
        assert [path.name for path in (tmp_path / "sent").iterdir()] == ["run-1.json"]
        assert desk.client.sent == [], "the relay is answered first"
        assert desk.type("b", "hello") == [None], "a relay that asks again"
        await turn()
        assert desk.client.sent == [("b", "hello", "message/run-1")]
        assert desk.client.patience > 100_000, "nobody sits in front of it"
        for kind, state in (("delivered", "delivered"), ("working", "working")):
            desk.client.event(kind, {})
            assert desk.shown() == [("b", state)]
        desk.client.event("asks", {"prompt": {"question": "Which?", "options": ["one", "two"]}})
        assert desk.inbox.entries[0].prompt == "Which?\n1. one\n2. two"
        desk.messenger.inbox_action(Answer("run-1", "two"))
        await turn()
        assert desk.client.answers == ["two"]
        desk.client.replies("done")
        await turn()
        assert desk.inbox.entries[0].reply == "done" and desk.shown() == [("b", "replied")]

    with_desk(tmp_path, test)


def test_the_next_host_goes_on_and_tells_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "one")
        await turn()
        desk.type("b", "two", 2)  # not even sent
        second = desk.again()
        await turn()
        assert second.client.sent == [("b", "two", "message/run-2")], "what was sent is only followed"
        assert second.client.followed == ["task-b", "task-b"]
        second.client.replies("done")
        await turn()
        assert second.shown() == [("b", "replied")] * 2
        third = desk.again()
        assert third.shown() == [("b", "replied")] * 2 and not any(e.seen for e in third.inbox.entries)
        monkeypatch.setattr(module, "TOLD", -1.0)
        assert all(entry.seen for entry in desk.again().inbox.entries), "told long ago"
        await turn()
        assert third.client.followed == []

    with_desk(tmp_path, test)


def test_everybody_even_if_the_host_died_half_way(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        for name in "cd":
            desk.registry.register(f"id-{name}", "dummy", 8201, READY, name=name, working_dir="/here")
        save, saved = desk.pending.save, []

        def dies(message: Any) -> None:
            saved.append(message)
            save(message)
            if len(saved) == 2:
                raise KeyboardInterrupt

        desk.pending.save = dies  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            desk.type("all", "hello")
        second = desk.again()
        assert second.type("all", "hello") == [None]
        await turn()
        assert sorted(name for name, _, _ in second.client.sent) == ["b", "c", "d"]
        assert second.type("all", "hello") == [None]
        await turn()
        assert len(second.client.sent) == 3

    with_desk(tmp_path, test)


@pytest.mark.parametrize(
    "name, why", [("nobody", "no agent named"), ("dummy", "could be any of"), ("all", "no other")]
)
def test_what_cannot_be_sent_stays_and_is_told(tmp_path: Path, name: str, why: str) -> None:
    async def test(desk: Desk) -> None:
        if name == "all":
            desk.registry.unregister("id-b")
        else:
            desk.registry.register("id-c", "dummy", 8201, name="c", working_dir="/here")
        (answer,) = desk.type(name, "hello")
        assert answer is not None and why in answer
        assert desk.shown() == [(name, "failed")] and desk.inbox.entries[0].text == f"@{name} hello"
        assert not (tmp_path / "sent").exists()

    with_desk(tmp_path, test)


def test_a_full_disk(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello")
        await turn()

        def full(message: Any) -> None:
            raise OSError(28, "No space left on device")

        desk.pending.save = full  # type: ignore[method-assign]
        (answer,) = desk.type("b", "more", 2)
        assert answer is not None and "No space left" in answer, "not taken: it stays in the composer"
        desk.client.replies("done")
        await turn()
        assert desk.inbox.entries[0].reply == "done", "what was under way goes on"

    with_desk(tmp_path, test)


@pytest.mark.parametrize(
    "failure, said",
    [
        (SynapseError("b refused: too large"), "b refused: too large"),
        (StillWorking("b has not finished within 5 s.", A2ATask("t")), "not finished"),
        (ZeroDivisionError(), "Synapse failed"),
    ],
)
def test_every_failure_is_seen(tmp_path: Path, failure: Exception, said: str) -> None:
    async def test(desk: Desk) -> None:
        desk.client.sending = failure
        desk.type("b", "hello")
        await turn()
        assert desk.shown() == [("b", "failed")] and said in desk.inbox.entries[0].detail

    with_desk(tmp_path, test)


@pytest.mark.parametrize(
    "error, outcome",
    [({"code": "DENIED", "message": "the human denied: rm -rf /"}, "denied"), (None, "canceled")],
)
def test_a_task_that_was_denied_or_canceled_has_not_failed(
    tmp_path: Path, error: dict[str, str] | None, outcome: str
) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello")
        await turn()
        desk.client.replies("", "canceled", error=error, note="the human denied: rm -rf /")
        await turn()
        for one in (desk, desk.again()):  # the next host knows it too
            (toast,) = one.inbox.picture((80, 24), 20)
            text = "".join(text for line in toast.lines for text, _ in line)
            assert f"✗ b: {outcome}" in text and "the human denied: rm -rf /" in text
            one.inbox.focus(True)
            (panel,) = one.inbox.picture((80, 24), 20)
            text = "".join(text for line in panel.lines for text, _ in line)
            assert f"b · {outcome} after" in text and "failed" not in text

    with_desk(tmp_path, test)


def test_a_reply_that_comes_after_the_timeout_is_shown(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello", timeout=2.0)
        await turn()
        assert desk.client.patience == 2.0
        late, desk.client.reply = desk.client.reply, desk.client.reply.get_loop().create_future()
        late.set_exception(StillWorking("b is still working after 2 s.", A2ATask("task-b")))
        await turn()
        (entry,) = desk.inbox.entries
        assert entry.is_under_way and "the reply comes here; `synapse task task-b`" in entry.late
        assert desk.client.patience > 100_000 and desk.client.followed == ["task-b", "task-b"]
        second = desk.again()
        await turn()
        assert second.inbox.entries[0].late == entry.late, "the next host knows it too"
        for one in (desk, second):
            one.client.replies("in the end")
            await turn()
            assert one.shown() == [("b", "replied")] and one.inbox.entries[0].reply == "in the end"

    with_desk(tmp_path, test)


def test_what_has_expired_before_it_could_be_sent_is_not_sent(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello", expires=60.0)
        await turn()
        (metadata,) = desk.client.metadata
        assert 59.0 < metadata["x-synapse-task"]["expires"] <= 60.0
        desk.type("b", "too late", 2, expires=1e-9)
        await turn()
        assert desk.inbox.entries[1].detail == "it expired after 1e-09 s, before it was sent: send it again."

    with_desk(tmp_path, test)


@pytest.mark.parametrize("known", [True, False])
def test_the_other_has_ended_and_its_file_knows_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello")
        await turn()
        desk.registry.unregister("id-b")

        async def last_known(task_id: str) -> Any:
            document = {"id": task_id, "status": "completed", "artifacts": [{"data": "in time"}]}
            return SimpleNamespace(ended=known, to_dict=lambda: document)

        monkeypatch.setattr(shelf, "last_known", last_known)
        desk.client.reply.set_exception(TargetError("b has ended."))
        second = desk.again()  # it never saw the other alive
        for one in (desk, second):
            await turn()
            assert one.shown() == [("b", "replied" if known else "failed")]
            (entry,) = one.inbox.entries
            assert (entry.reply == "in time") if known else ("b has ended" in entry.detail)

    with_desk(tmp_path, test)


def test_without_waiting(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello", wait=False)
        await turn()
        assert desk.shown() == [("b", "sending")]
        desk.client.event("delivered", {})
        await turn()
        assert desk.shown() == [("b", "delivered")] and desk.inbox.entries[0].ended is not None
        assert desk.again().shown() == [("b", "delivered")]

    with_desk(tmp_path, test)


def test_a_busy_one_and_one_that_says_nothing(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.registry.update_status("id-b", PROCESSING)
        desk.type("b", "hello")
        await turn()
        assert desk.inbox.entries[0].detail == "it is busy"
        desk.client.replies("")
        await turn()
        assert desk.shown() == [("b", "replied")]
        desk.inbox.focus(True)
        assert desk.inbox.picture((80, 24), 0), "a panel with nothing in it"

    with_desk(tmp_path, test)


def test_five_megabytes(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello")
        await turn()
        text = "漢字 and words\n" * 350_000
        desk.client.replies(text)
        await turn()
        (entry,) = desk.inbox.entries
        assert len(entry.reply) < SHOWN_LIMIT + 200 and "`synapse task task-b` shows all of it" in entry.reply
        assert desk.again().pending.load()[0].reply == text
        desk.messenger.inbox_action(HandOver("run-1", text))
        assert desk.shown()[1] == ("b", "failed") and "not handed over" in desk.inbox.entries[1].detail

    with_desk(tmp_path, test)


def test_a_reply_is_handed_over_as_a_task_of_its_author(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        desk.type("b", "hello")
        desk.client.replies("use tabs")
        await turn()
        desk.messenger.inbox_action(HandOver("run-1", "use tabs"))
        (task,) = desk.engine.waiting
        assert task.sender == {"id": "id-b", "name": "b"} and task.message["parts"][0]["text"] == "use tabs"

    with_desk(tmp_path, test)


@pytest.mark.parametrize("works", [True, False])
def test_one_that_is_started_for_it(tmp_path: Path, works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(desk: Desk) -> None:
        async def start(name: str) -> None:
            assert desk.shown() == [("gemini", "sending")]
            if not works:
                raise SynapseError("gemini could not be started: no such program")
            desk.registry.register("id-g", "gemini", 8110, READY, name="gemini", working_dir="/here")

        monkeypatch.setattr(desk.starter, "start", start)
        assert "gemini" in desk.controller.names
        assert desk.type("gemini", "hello") == [None]
        await turn()
        if works:
            assert desk.client.sent == [("gemini", "hello", "message/run-1")]
        else:
            assert (
                desk.shown() == [("gemini", "failed")] and "no such program" in desk.inbox.entries[0].detail
            )

    with_desk(tmp_path, test)


def test_names_are_told_when_they_change(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        assert desk.controller.names == ["all", "all-here", "b", "dummy", "dummy-8200", "gemini"]
        desk.registry.unregister("id-b")
        desk.later.pop()()
        assert desk.controller.names == ["gemini"] and len(desk.later) == 1

    with_desk(tmp_path, test)


def test_a_stopped_loop_is_shown(tmp_path: Path) -> None:
    async def test(desk: Desk) -> None:
        for _ in range(3):
            desk.messenger.message_refused("codex", "passed on 9 times")
        assert desk.shown() == [("codex", "failed")]

    with_desk(tmp_path, test)
