"""docs/http.md names every endpoint of the TCP port, and its examples work as they stand."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from synapse.delivery.question import Question
from synapse.server.endpoints import private_endpoints, public_endpoints
from synapse.server.questions import question_routes
from synapse.tasks.engine import TaskEngine
from synapse.tasks.store import TaskStore
from synapse.watch.screen.questions import InputPrompt
from tests.support.dialect_server import SELF, FakeExternalAgents, Server, served


class OneQuestion:
    asked = Question("3f9c01ab", "claude", InputPrompt("Run it? (y/n)", "confirmation", ["y", "n"]), 0.0)

    def list(self) -> list[Question]:
        return [self.asked]

    async def answer(self, question_id: str, text: str, by: object) -> Question:
        assert (question_id, text) == (self.asked.id, "y")
        return self.asked


PAGE = Path(__file__).parents[2] / "docs" / "http.md"


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_every_curl_of_the_page_works() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S)
    commands = [line for block in blocks for line in re.split(r"\n(?=curl)", block.strip())]
    assert len(commands) > 14 and all(command.startswith("curl") for command in commands)

    async def test(server: Server) -> None:
        @server.app.get("/status")
        async def status() -> dict[str, str]:
            return {"status": "READY"}

        server.app.include_router(question_routes(cast(Any, OneQuestion())))
        for command in commands:
            task_id = await server.send("ask go on?" if "/input" in command else "hello")
            if "/input" in command:
                await server.until(task_id, "input_required")
            if "/cancel" in command:
                task_id = await server.send("hang")
            command = command.replace("localhost:8100", f"127.0.0.1:{server.client.base_url.port}")
            shell = await asyncio.create_subprocess_shell(
                command.replace("curl ", "curl --fail-with-body --noproxy '*' ", 1),
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "ID": task_id, "QUESTION": OneQuestion.asked.id},
            )
            output, _ = await shell.communicate()
            assert shell.returncode == 0 and output, f"{command}\n{output.decode()}"

    served(test, external=FakeExternalAgents())


def test_every_endpoint_is_on_the_page() -> None:
    nobody = cast(Any, None)  # the routes are only listed, not called
    engine = TaskEngine(TaskStore())
    public = public_endpoints(nobody, engine, nobody, SELF, nobody, FakeExternalAgents())
    app = private_endpoints(public, nobody, engine)
    page = PAGE.read_text()
    for path in app.openapi()["paths"]:
        named = re.sub(r"\\{\w+\\}", r"(\\$ID|\\$QUESTION|weather|\\{\\w+\\})", re.escape(path))
        assert re.search(rf"{named}(?![\w/-])", page), f"docs/http.md does not name {path}"
