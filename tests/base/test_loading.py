"""What a host does not load, because it takes memory in every one of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROBE = """
import asyncio, sys
from synapse.base.loading import load
asyncio.run(load(*{modules}))
print([name for name in {heavy} if name in sys.modules])
"""
SERVER = ("synapse.server.app", "synapse.server.http_server", "synapse.server.access.connections")


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ((*SERVER, "synapse.server.standard.routes"), ("fastapi", "pydantic", "click", "multiprocessing")),
        ((*SERVER, "synapse.server.standard.v03"), ("multiprocessing",)),
        (("sse_starlette",), ("click", "multiprocessing")),
        ((*SERVER, "synapse.server.endpoints"), ("pydantic.v1", "python_multipart", "click", "httpx")),
    ],
    ids=["the A2A standard", "its old version", "what uses uvicorn", "the specifications' endpoints"],
)
def test_what_serves_is_light(modules: tuple[str, ...], heavy: tuple[str, ...]) -> None:
    probe = PROBE.format(modules=modules, heavy=heavy)
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_what_was_left_out_can_be_imported_later() -> None:
    probe = PROBE.format(modules=SERVER, heavy=()) + "import uvicorn.main; print(uvicorn.main.run.__name__)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stdout.split() == ["[]", "run"], done.stdout + done.stderr
