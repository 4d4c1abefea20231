"""The standard as clients see it that we did not write: npm's @a2a-js/sdk (1.0) and a2a-sdk 0.3."""

from __future__ import annotations

import asyncio
import json

import pytest

from synapse.tasks.task import Json
from tests.real.clients import Clients, install_clients
from tests.real.install import NotInstalled
from tests.support.a2a_server import served

BINDINGS = ("JSONRPC", "HTTP+JSON")


@pytest.fixture(scope="session")
def clients(pytestconfig: pytest.Config) -> Clients:
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return install_clients()
    except NotInstalled as error:
        pytest.exit(f"the tests with real A2A clients DID NOT RUN: {error}", returncode=1)


def play(command: list[str], port: int) -> Json:
    """What the client found, talking to a scripted agent."""

    async def inside() -> Json:
        async with served(port=port):
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
            out, err = await asyncio.wait_for(process.communicate(), 60)
            assert process.returncode == 0, err.decode()
            return dict(json.loads(out))

    return asyncio.run(inside())


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_client_of_version_1_0(clients: Clients, binding: str, unused_port: int) -> None:
    found = play(clients.newest(f"http://127.0.0.1:{unused_port}", binding), unused_port)
    assert found.pop("unknown").endswith("TaskNotFoundError")
    assert found == {
        "version": "1.0",
        "said": "hello",
        "kinds": ["task", "statusUpdate", *["artifactUpdate"] * 4, "statusUpdate"],
        "streamed": "abc",
        "question": "Run ls?",
        "options": ["y", "n"],
        "asking": "TASK_STATE_INPUT_REQUIRED",
        "answered": "y",
        "canceled": "TASK_STATE_CANCELED",
        "listed": [2, 4, True],
    }


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_client_of_version_0_3(clients: Clients, binding: str, unused_port: int) -> None:
    found = play(clients.old(f"http://127.0.0.1:{unused_port}", binding), unused_port)
    assert "not found" in found.pop("unknown").lower()
    assert found == {
        "version": "0.3.0",
        "said": "hello",
        "streamed": "abc",
        "finals": [False, True],
        "kept": "abc",
        "asking": "input-required",
        "question": "Run ls?",
        "options": ["y", "n"],
        "answered": "y",
        "canceled": "canceled",
    }


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
