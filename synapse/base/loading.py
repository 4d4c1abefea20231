"""Slow imports, in a thread beside the event loop, one at a time: two threads must not import at once."""

from __future__ import annotations

import asyncio
import importlib

_turn = asyncio.Lock()


async def load(*modules: str) -> None:
    """Import these modules, so that a later import of them is immediate."""
    async with _turn:
        for module in modules:
            await asyncio.to_thread(importlib.import_module, module)
