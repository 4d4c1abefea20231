"""Requests that name the agent they are for."""

from __future__ import annotations

import pytest

from synapse.server.access.addressee import Addressee
from tests.support.serving import ask, echo, serving


@pytest.mark.parametrize(("named", "status"), [(None, 200), ("abc", 200), ("abd", 421), ("", 421)])
def test_what_is_for_another_agent_is_refused(named: str | None, status: int) -> None:
    with serving(Addressee(echo, "abc")) as port:
        headers = {} if named is None else {"X-Synapse-Agent": named}
        answer = ask(port, "/", "POST", b"{}", headers)
    assert answer[0] == status
    if status == 421:
        assert "synapse list" in answer[2]["detail"]
