"""What the page may do with agents besides talking to them: interrupt, cancel, stop, start; and with runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import Any

from synapse.base import paths
from synapse.errors import SynapseError, UsageError
from synapse.launch import stopping
from synapse.peers.remote import peer_of
from synapse.profiles.files import profile_names
from synapse.registry import AgentRegistry, check_name
from synapse.view.agents import Agent

STARTING = 60.0  # seconds; `synapse start` gives up after 30

Json = dict[str, Any]


async def interrupt(agent: Agent) -> Json:
    answer = await agent.ask("POST", "/terminal/interrupt", {})
    return {"said": f"{agent.name} was interrupted." if answer["interrupted"] else f"{agent.name} is idle."}


async def cancel(agent: Agent, task_id: str) -> Json:
    task = await peer_of(agent.entry).cancel(task_id)
    done = task.status == "canceled"
    return {"said": "The task is canceled." if done else f"{agent.name} has not stopped yet."}


async def cancel_run(run_id: str) -> Json:
    """Returns when its process has ended, its tasks are canceled and its workers stopped."""
    from synapse.run.cancel import cancel_run

    await asyncio.to_thread(cancel_run, run_id)
    return {"said": f"The run {run_id} is canceled."}


async def stop(agent: Agent) -> Json:
    if machine := agent.entry.get("machine"):
        raise UsageError(f"{agent.name} runs on {machine}: stop it there with `synapse stop`.")
    left = await asyncio.to_thread(stopping.stop, AgentRegistry(), [agent.entry])
    if left:
        raise stopping.did_not_end(left)
    return {"said": f"{agent.name} has ended."}


async def start(profile: str, directory: str, name: str) -> Json:
    """Start an agent in the background; returns when it answers."""
    if profile not in profile_names():
        raise UsageError(f"there is no profile {profile!r}: `synapse profiles` lists them.")
    folder = os.path.expanduser(directory)
    if not os.path.isdir(folder):
        raise UsageError(f"there is no directory {directory}: choose one that exists.")
    if name:
        check_name(name)
    words = [*paths.our_python(), "-m", "synapse", "start", profile, *(["--name", name] if name else [])]
    return {"said": await asyncio.to_thread(_run, words, folder, profile)}


def _run(words: list[str], folder: str, profile: str) -> str:
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=STARTING,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise SynapseError(f"{profile} did not start within {STARTING:g} s: see `synapse logs`.") from None
    except OSError as error:
        raise SynapseError(
            f"{profile} cannot be started ({error.strerror}): see `synapse doctor`."
        ) from error
    if done.returncode:
        raise SynapseError(done.stderr.strip().removeprefix("synapse: ")[:2000])
    return done.stdout.strip()
