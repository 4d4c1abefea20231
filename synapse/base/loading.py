"""Imports that take long, beside the event loop, one after the other: two threads must not import at once."""

from __future__ import annotations

import asyncio
import importlib

_turn = asyncio.Lock()


async def load(*modules: str) -> None:
    """Have these imported; whoever imports them afterwards does not wait."""
    async with _turn:
        for module in modules:
            await asyncio.to_thread(importlib.import_module, module)
