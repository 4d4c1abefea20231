"""When the host looks at the status again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from synapse.host.status import StatusWatch


def checks(*actions: Callable[[StatusWatch], float | None]) -> int:
    """How many checks there are if each does one of `actions`, the last one over and over."""
    done = 0

    async def main() -> None:
        nonlocal done
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)

        def check() -> float | None:
            nonlocal done
            done += 1
            return actions[min(done, len(actions)) - 1](watch)

        watch = StatusWatch(check)
        watch.soon()
        for _ in range(20):
            await asyncio.sleep(0.01)
        if done < len(actions):
            watch.soon()
            await asyncio.sleep(0.05)

    asyncio.run(main())
    return done


def fail(watch: StatusWatch) -> float | None:
    raise ValueError("a fault in a check")


def ask_again(watch: StatusWatch) -> float | None:
    watch.soon()
    return None


def rest(watch: StatusWatch) -> float | None:
    return None


def test_a_check_that_fails_is_not_the_last() -> None:
    assert checks(fail, rest) == 2


def test_what_a_check_asks_for_is_not_lost() -> None:
    assert checks(ask_again, rest) == 2


def test_nothing_is_looked_at_when_there_is_no_reason() -> None:
    assert checks(rest) == 1
