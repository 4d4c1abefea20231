"""Slow imports, in a thread beside the event loop, one at a time: two threads must not import at once."""

from __future__ import annotations

import asyncio
import importlib
import threading

_turn = threading.Lock()  # not of one event loop: scripts may have several


async def load(*modules: str) -> None:
    """Have these imported; whoever imports them afterwards does not wait."""
    for module in modules:
        await asyncio.to_thread(_import, module)


def _import(module: str) -> None:
    with _turn:
        importlib.import_module(module)
