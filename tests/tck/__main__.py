"""Serve until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from synapse.launch import run as launch
from synapse.profiles.loader import load_profile
from synapse.tasks.engine import Limits
from synapse.tasks.store import TaskStore
from tests.tck.handler import LIMITS, KitEngine, KitHandler
from tests.tck.host import KIT

ROOT = str(Path(__file__).parents[2])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tck", description=__doc__)
    parser.add_argument("--kit", choices=("1.0", "0.3"), default="1.0", help="the kit's branch")
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument(
        "--agent",
        choices=("dummy", "scripted"),
        default="dummy",
        help="who plays the tasks (scripted: nobody)",
    )
    parser.add_argument("--grpc", type=int, help="a port for gRPC too, declared in the card (scripted only)")
    said = parser.parse_args()
    if said.agent == "dummy" and said.grpc:
        parser.error("--grpc needs --agent scripted: an agent's host has no gRPC")
    if said.agent == "dummy":
        return play(said.kit, said.port)
    try:
        asyncio.run(script(said.kit, said.port, said.grpc))
    except KeyboardInterrupt:
        pass
    return 0


def play(kit: str, port: int) -> int:
    """The reference agent in its terminal, its relay and its host, in a home of their own."""
    with tempfile.TemporaryDirectory(prefix="synk-") as home:
        os.environ.update(
            {
                "SYNAPSE_HOME": f"{home}/synapse",
                "A2A_HOME": f"{home}/a2a",
                "SYNAPSE_LIMITS__RATE": "0",
                "PYTHONPATH": ROOT,
                KIT: kit,
            }
        )

        def report(word: dict[str, object]) -> None:
            if "ready" in word:
                print(f"serving the kit {kit} at http://127.0.0.1:{port}", flush=True)

        with patch.object(launch, "HOST", "tests.tck.host"):
            return launch.run_agent(load_profile("dummy"), ["--tui"], port=port, report=report)


async def script(kit: str, port: int, grpc: int | None) -> None:
    """The endpoints without an agent."""
    from tests.support.a2a_server import served

    logging.basicConfig(level=logging.ERROR)

    def engine(store: TaskStore, limits: Limits) -> KitEngine:
        made = KitEngine(store, limits)
        made.kit = kit
        return made

    async with served(
        strict=kit == "1.0",
        limits=LIMITS,
        make_engine=engine,
        make_handler=KitHandler,
        token_set=kit == "1.0",  # nobody asks for the token here, and the old kit looks
        port=port,
        grpc_port=grpc,
    ) as server:
        print(f"serving the kit {kit} at {server.url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
