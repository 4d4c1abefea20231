"""A real sshd is run only when asked for: SYNAPSE_MESH=1 pytest -n 2 tests/machines."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.sshd import PROGRAM, Sshd, two_machines

if os.environ.get("SYNAPSE_MESH") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture
def sshd() -> Iterator[Sshd]:
    """Two machines; the second is `box`, and an agent `codex` runs there."""
    if PROGRAM is None:
        pytest.skip("THE TESTS WITH SSH DID NOT RUN: there is no sshd (make sshd)")
    with two_machines() as made:
        yield made
