"""Slow imports in a thread beside the event loop, one at a time: two threads must not import at once."""

import asyncio
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_turn = threading.Lock()  # not an asyncio lock: scripts may have several event loops
_loaded: set[str] = set()  # not `sys.modules`, where a module is while it is being imported


# Modules that others import if they are there, and that nobody needs: `httpx` has a command of its own,
# Starlette parses forms, FastAPI looks for models of pydantic 1.
NEVER = ("rich", "pygments", "python_multipart", "multipart", "pydantic.v1")
# uvicorn's package imports its command line: click and multiprocessing, 1.5 MB. Its functions are None here.
COMMAND_LINE, ITS_FUNCTIONS = "uvicorn.main", ("main", "run")


async def load(*modules: str, without: str = "") -> None:
    """Import these modules, so that a later import of them takes no time. `without` is a further package that
    they would import if it is installed, and that nobody needs."""
    for module in modules:
        if module not in _loaded:
            await asyncio.to_thread(_import, module, (*NEVER, without) if without else NEVER)


def _import(module: str, without: tuple[str, ...]) -> None:
    with _turn, leave_out(*without), _no_command_line():
        importlib.import_module(module)
    _loaded.add(module)


@contextmanager
def leave_out(*modules: str) -> Iterator[None]:
    """Meanwhile, the import of these modules fails, unless they are loaded already."""
    hidden = [module for module in modules if module not in sys.modules]
    for module in hidden:
        sys.modules[module] = None  # type: ignore[assignment]  # importing it is an ImportError
    try:
        yield
    finally:
        for module in hidden:
            del sys.modules[module]


@contextmanager
def _no_command_line() -> Iterator[None]:
    if COMMAND_LINE in sys.modules:
        yield
        return
    stand_in = sys.modules[COMMAND_LINE] = ModuleType(COMMAND_LINE)
    vars(stand_in).update(dict.fromkeys(ITS_FUNCTIONS), __getattr__=_of_command_line)
    try:
        yield
    finally:
        del sys.modules[COMMAND_LINE]


def _of_command_line(name: str) -> object:
    """The server itself, which others import from there too: sse-starlette sets a method of it."""
    if name != "Server":
        raise AttributeError(name)
    server: object = importlib.import_module("uvicorn.server").Server
    return server
