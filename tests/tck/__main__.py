"""Serve until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import logging

from synapse.task_store import TaskStore
from synapse.tasks import Limits
from tests.a2a_server import served
from tests.tck.handler import KitEngine, KitHandler


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.tck", description=__doc__)
    parser.add_argument("--kit", choices=("1.0", "0.3"), default="1.0", help="the kit's branch")
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument("--grpc", type=int, help="a port for gRPC too, declared in the card")
    said = parser.parse_args()
    logging.basicConfig(level=logging.ERROR)

    def engine(store: TaskStore, limits: Limits) -> KitEngine:
        made = KitEngine(store, limits)
        made.kit = said.kit
        return made

    async with served(
        strict=said.kit == "1.0",
        limits=Limits(queue=1000),
        make_engine=engine,
        make_handler=KitHandler,
        token_set=said.kit == "1.0",  # nobody asks for the token here, and the old kit looks
        port=said.port,
        grpc_port=said.grpc,
    ) as server:
        print(f"serving the kit {said.kit} at {server.url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
