"""What /openapi.json says is what the server does, for anything that can be sent."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from tests.support.dialect_server import FakeExternalAgents, serving
from tests.support.patience import PATIENCE

AnyCase = schemathesis.Case[Any]
# A message of blanks is no message, whatever the schema can say; older ways to write a part are taken.
OURS: list[Any] = [positive_data_acceptance, negative_data_rejection]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server in a thread of its own, with its engine."""
    ready, found = threading.Event(), [""]
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with serving(external=FakeExternalAgents(), patience=None, queue=1_000_000) as server:
            found[0] = str(server.client.base_url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(PATIENCE)
    yield found[0]
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def test_the_server_does_as_its_documentation_says(url: str) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    tried = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        attempt(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        if operation.body or operation.query:  # else nothing can be wrong with it
            attempt(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
        tried += 1
    assert tried > 15


def attempt(cases: SearchStrategy[AnyCase]) -> None:
    @settings(max_examples=4, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(cases)
    def check(case: AnyCase) -> None:
        case.call_and_validate(timeout=PATIENCE, excluded_checks=OURS)

    check()
