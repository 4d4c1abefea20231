"""A remote agent that does as the test says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_agent import FakeAgent, fake_agent


@pytest.fixture
def fake() -> Iterator[FakeAgent]:
    with fake_agent() as agent:
        agent.card()
        yield agent
