"""The integration tests that the Phase 2 specification names, against a real agent.

`synapse start` runs the reference agent in a PTY and serves it on loopback; the client is plain HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.dialect_server import Event, events
from tests.support.home import new_home
from tests.support.running import start

PATIENCE = 60.0  # seconds


@pytest.fixture(scope="module", params=["line", "tui"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the agent is served: once with the kernel editing its lines, once with a composer of its own."""
    with new_home() as home, start(home, *(["--tui"] if request.param == "tui" else [])) as agent:
        yield str(agent.http.base_url)


async def send_task(client: httpx.AsyncClient, text: str) -> dict[str, Any]:
    answer = await client.post("/tasks/send", json={"message": {"role": "user", "parts": [_text(text)]}})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["task"])


async def until(client: httpx.AsyncClient, task_id: str, state: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        while (task := (await client.get(f"/tasks/{task_id}")).json())["state"] != state:
            assert task["state"] not in ("failed", "canceled"), task
            await asyncio.sleep(0.1)
    return dict(task)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


class TestPhase2Integration:
    def test_sse_with_code_output(self, url: str) -> None:
        async def follow() -> list[Event]:
            async with (
                httpx.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False) as client,
                client.stream("POST", "/tasks/sendSubscribe", json={"message": "markdown"}) as response,
            ):
                assert response.headers["content-type"].startswith("text/event-stream")
                return [event async for event in events(response)]

        heard = asyncio.run(follow())
        states = [event.data["state"] for event in heard if event.type == "status"]
        assert states[0] == "submitted" and "working" in states and states[-1] == "completed"
        artifacts = [event.data["artifact"] for event in heard if event.type == "artifact"]
        code_artifacts = [artifact for artifact in artifacts if artifact["type"] == "code"]
        assert len(code_artifacts) > 0
        assert code_artifacts[0]["metadata"]["language"] == "python"
        assert "```" not in code_artifacts[0]["parts"][0]["text"]
        assert "```python" in "".join(a["data"] for a in artifacts if a["type"] == "text")

    def test_input_required_flow(self, url: str) -> None:
        async def flow() -> None:
            async with httpx.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False) as client:
                sent = await send_task(client, "confirm something")
                task = await until(client, sent["id"], "input_required")
                assert task["prompt"]["type"] == "confirmation" and "something" in task["prompt"]["prompt"]
                assert (await client.get("/status")).json()["status"] == "INPUT_REQUIRED"
                answer = await client.post(f"/tasks/{task['id']}/input", json={"input": "y"})
                assert answer.json() == {"status": "input_provided", "task_id": task["id"]}
                task = await until(client, task["id"], "completed")
                assert task["artifacts"][0]["data"].endswith("Confirmed.")
                again = await client.post(f"/tasks/{task['id']}/input", json={"input": "y"})
                assert again.status_code == 400
                assert (await client.post("/tasks/unknown/input", json={"input": "y"})).status_code == 404

        asyncio.run(flow())
