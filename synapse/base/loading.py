"""Slow imports in a thread beside the event loop, one at a time: two threads must not import at once."""

import asyncio
import importlib
import threading

_turn = threading.Lock()  # not an asyncio lock: scripts may have several event loops


async def load(*modules: str) -> None:
    """Import these modules, so that a later import of them takes no time."""
    for module in modules:
        await asyncio.to_thread(_import, module)


def _import(module: str) -> None:
    with _turn:
        importlib.import_module(module)
