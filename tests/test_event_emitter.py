"""Everybody who listens hears everything, in order, and nobody waits for anybody."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from synapse import event_emitter
from synapse.event_emitter import (
    EventEmitterRegistry,
    Lagged,
    SSEEvent,
    Subscription,
    TaskEventEmitter,
    timestamp,
)


def event(number: int, state: str = "working") -> SSEEvent:
    return SSEEvent("status", {"taskId": "t", "state": state}, str(number))


async def numbers(events: Subscription) -> list[int]:
    return [heard.number async for heard in events]


def test_an_event_is_written_as_the_format_has_it() -> None:
    written = SSEEvent("status", {"state": "作業中\n"}, "7", retry=1000).to_sse_format()
    assert written == 'id: 7\nevent: status\nretry: 1000\ndata: {"state": "作業中\\n"}\n\n'
    assert SSEEvent("error", {}).id != SSEEvent("error", {}).id
    assert SSEEvent("error", {}).number == 0


def test_nothing_in_an_event_ends_a_line_for_anybody() -> None:
    said = "a\u2028b\u2029c\x85d\x0be\x1cf\r\n"
    text = SSEEvent("artifact", {"text": said}, "1").to_sse_format()
    assert text.splitlines() == text.split("\n")[:-1]
    assert json.loads(text.splitlines()[2].removeprefix("data: ")) == {"text": said}


def test_a_listener_among_many_does_not_ask_all_of_them_at_each_event() -> None:
    class Places(set[Any]):
        asked = 0

        def __iter__(self) -> Any:
            Places.asked += 1
            return super().__iter__()

    async def main() -> None:
        emitter = TaskEventEmitter("t")
        emitter._positions = Places()
        slow, *others = [emitter.subscribe() for _ in range(20)]
        for number in range(1000):
            emitter.emit(SSEEvent("artifact", {}, str(number)))
            for other in others:
                await anext(other)
                assert emitter.next(other._position) is None
        assert Places.asked - 1000 <= 2 * 1000 / event_emitter.TRIM  # each event is told to all once
        assert (await anext(slow)).id == "0"

    asyncio.run(main())


def test_every_listener_hears_every_event_in_order() -> None:
    async def main() -> list[list[int]]:
        emitter = TaskEventEmitter("t")
        heard = [asyncio.create_task(numbers(emitter.subscribe())) for _ in range(50)]
        await asyncio.sleep(0)
        for number in range(1, 1000):
            emitter.emit(event(number))
            if number % 100 == 0:
                await asyncio.sleep(0)
        emitter.emit(event(1000, "completed"))
        return await asyncio.gather(*heard)

    assert asyncio.run(main()) == [list(range(1, 1001))] * 50


def test_a_listener_hears_from_its_beginning_on() -> None:
    async def main() -> list[int]:
        emitter = TaskEventEmitter("t")
        emitter.emit(event(1))
        early = emitter.subscribe()
        emitter.emit(event(2))
        late = emitter.subscribe()
        emitter.emit(event(3, "failed"))
        assert await numbers(early) == [2, 3]
        return await numbers(late)

    assert asyncio.run(main()) == [3]


def test_a_listener_that_lags_is_told_and_the_others_hear_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_emitter, "TRIM", 4)

    async def main() -> None:
        emitter = TaskEventEmitter("t", keep=10)
        slow, quick = emitter.subscribe(), emitter.subscribe()
        for number in range(1, 31):
            emitter.emit(event(number))
            assert (await anext(quick)).number == number
        with pytest.raises(Lagged):
            await anext(slow)
        assert emitter.listeners == 1
        with pytest.raises(StopAsyncIteration):
            await anext(slow)
        assert len(emitter._events) <= 21
        await quick.aclose()
        assert emitter.listeners == 0 and emitter._events == []

    asyncio.run(main())


def test_what_everybody_has_heard_is_let_go_of() -> None:
    async def main() -> int:
        emitter = TaskEventEmitter("t")
        one, two = emitter.subscribe(), emitter.subscribe()
        for number in range(1, 2001):
            emitter.emit(event(number))
            await anext(one)
            await anext(two)
        waits = asyncio.create_task(anext(one))
        await asyncio.sleep(0)
        kept = len(emitter._events)
        waits.cancel()
        await asyncio.gather(waits, return_exceptions=True)
        return kept

    assert asyncio.run(main()) <= event_emitter.TRIM


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("how", ["closed", "dropped", "canceled"])
def test_who_leaves_leaves_nothing(how: str, begun: bool) -> None:
    async def main() -> int:
        emitter = TaskEventEmitter("t")
        events = emitter.subscribe()
        if begun:
            emitter.emit(event(1))
            await anext(events)
        if how == "closed":
            await events.aclose()
        elif how == "canceled":
            listening = asyncio.create_task(numbers(events))
            del events
            await asyncio.sleep(0)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            del listening
        else:
            del events
        gc.collect()
        return emitter.listeners

    assert asyncio.run(main()) == 0


def test_silence_is_broken_by_a_sign_of_life() -> None:
    async def main() -> SSEEvent:
        emitter = TaskEventEmitter("t")
        return await anext(emitter.subscribe(keepalive=0.01))

    alive = asyncio.run(main())
    assert (alive.event_type, alive.id) == ("", "")


def test_the_specifications_methods() -> None:
    async def main() -> list[SSEEvent]:
        emitter = EventEmitterRegistry().get_or_create("t")
        events = emitter.subscribe()
        await emitter.emit_status("working")
        await emitter.emit_artifact("処理中...")
        await emitter.emit_status("failed", {"code": "X"})
        return [heard async for heard in events]

    working, artifact, failed = asyncio.run(main())
    assert (working.event_type, working.data["state"]) == ("status", "working")
    assert artifact.data["artifact"]["parts"] == [{"type": "text", "text": "処理中..."}]
    assert artifact.data["append"] is True
    assert failed.data["error"] == {"code": "X"}
    assert json.loads(working.to_sse_format().split("data: ")[1]) == working.data


def test_a_registry_has_one_emitter_a_task() -> None:
    registry = EventEmitterRegistry()
    one = registry.get_or_create("a")
    assert registry.get_or_create("a") is one and registry.get("a") is one
    registry.remove("a")
    registry.remove("a")
    assert registry.get("a") is None


def test_timestamps_are_utc_with_milliseconds() -> None:
    assert timestamp(0) == "1970-01-01T00:00:00.000Z"
