"""The list of features: each is told what happens, whatever another does with it."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Any

import pytest

from synapse.host.features import HOOKS, Features


class Faulty:
    """Fails in every hook."""

    def output(self, data: bytes) -> None:
        raise RuntimeError("output")

    def status_changed(self, status: str) -> None:
        raise RuntimeError("status_changed")

    def turn_ended(self, turn: Any) -> None:
        raise RuntimeError("turn_ended")

    def task_changed(self, task: Any, event: Any) -> None:
        raise RuntimeError("task_changed")

    def question_changed(self, question: Any) -> None:
        raise RuntimeError("question_changed")

    def message_refused(self, sender: str, why: str) -> None:
        raise RuntimeError("message_refused")

    def file_changed(self, path: str, at: float) -> None:
        raise RuntimeError("file_changed")

    def inbox_action(self, action: Any) -> None:
        raise RuntimeError("inbox_action")

    async def drain(self) -> None:
        raise RuntimeError("drain")

    async def close(self) -> None:
        raise RuntimeError("close")


class Noting:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def __getattr__(self, hook: str) -> Any:
        if hook not in HOOKS:
            raise AttributeError(hook)

        def note(*what: Any) -> Any:
            self.told.append((hook, *what))
            return asyncio.sleep(0) if hook in ("drain", "close") else None

        return note


def tell_everything(features: Any) -> list[tuple[Any, ...]]:
    told = []
    for hook in HOOKS:
        what = tuple(range(len(inspect.signature(getattr(features, hook)).parameters)))
        told.append((hook, *what))
        if asyncio.iscoroutine(result := getattr(features, hook)(*what)):
            asyncio.run(result)
    return told


def test_a_feature_that_fails_in_every_hook_disturbs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    features, before, after = Features(), Noting(), Noting()
    features.add(before, Faulty(), after)
    with caplog.at_level(logging.ERROR):
        told = tell_everything(features)
    assert before.told == after.told == told
    assert [record.getMessage() for record in caplog.records] == [f"Faulty.{hook} failed" for hook in HOOKS]
    assert all(record.exc_info for record in caplog.records)


def test_a_feature_has_the_hooks_that_it_needs() -> None:
    class OfStatus:
        def __init__(self) -> None:
            self.seen: list[str] = []

        def status_changed(self, status: str) -> None:
            self.seen.append(status)

    features, feature = Features(), OfStatus()
    features.add(feature)
    tell_everything(features)
    features.status_changed("READY")
    assert feature.seen == [0, "READY"]


def test_an_object_without_a_hook_is_no_feature() -> None:
    with pytest.raises(TypeError, match="none of the hooks output, status_changed"):
        Features().add(object())
