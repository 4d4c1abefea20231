"""Starts an agent that a message is for, if the settings say so (`agents.NAME.auto_start`)."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Mapping

from synapse import paths
from synapse.config import AgentSettings
from synapse.errors import SynapseError

PATIENCE = 60.0  # seconds; `synapse start` itself gives up sooner


class Starter:
    """`umask` is the user's own: what starts an agent may have a stricter one."""

    def __init__(self, agents: Mapping[str, AgentSettings], working_dir: str, umask: int) -> None:
        self._agents = {name: agent for name, agent in agents.items() if agent.auto_start}
        self._working_dir = working_dir
        self._umask = umask

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._agents)

    async def start(self, name: str) -> None:
        """Returns when it answers. Raises SynapseError with what `synapse start` said."""
        agent = self._agents[name]
        words = [*paths.our_python(), "-m", "synapse", "start", agent.profile, "--name", name]
        words += ["--port", str(agent.port)] if agent.port is not None else []
        try:
            process = await asyncio.to_thread(
                self._run, words
            )  # uvloop's own leaves the child its pipe's end
        except subprocess.TimeoutExpired:
            raise SynapseError(f"{name} did not start within {PATIENCE:g} s.") from None
        except OSError as error:
            raise SynapseError(f"{name} cannot be started: {error.strerror}.") from error
        if process.returncode:
            why = process.stderr.decode("utf-8", "replace").strip().removeprefix("synapse: ")
            raise SynapseError(f"{name} could not be started: {why or process.returncode}")

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            words,
            cwd=self._working_dir,
            umask=self._umask,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )
