"""Imports pyghostty with a cache of its parsed C declarations.

cffi would parse them in each process, which takes most of a host's start-up time. The result is cached where
Python keeps bytecode, and made again when the declarations change. Without a writable cache, cffi parses them
each time.
"""

import binascii
import marshal
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import _cffi_backend

from synapse.base import files

_CACHE = os.path.join(os.path.dirname(__file__), "__pycache__", f"ghostty.{sys.implementation.cache_tag}.abi")
_FIELD = re.compile(r"^    (_\w+) = (.*?)[,)]\n", re.MULTILINE)


class _OtherDeclarations(Exception):
    pass


def _import_with(make: Callable[[], Any]) -> None:
    ours, theirs = ModuleType("cffi"), sys.modules.get("cffi")
    ours.FFI = make  # type: ignore[attr-defined]
    sys.modules["cffi"] = ours
    try:
        import pyghostty  # noqa: F401
    finally:
        del sys.modules["cffi"]
        if theirs is not None:
            sys.modules["cffi"] = theirs


def _import_parsed() -> bool:
    try:
        with open(_CACHE, "rb") as file:
            sums, parsed = marshal.loads(file.read())  # checksums of the declarations, and their parsed form
    except (OSError, ValueError, EOFError, TypeError):
        return False

    class Parsed(_cffi_backend.FFI):  # type: ignore[misc]
        def cdef(self, text: str) -> None:
            if binascii.crc32(text.encode()) not in sums:
                raise _OtherDeclarations

    try:
        _import_with(lambda: Parsed("ghostty", **parsed))
    except _OtherDeclarations:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pyghostty"]:
            del sys.modules[name]
        return False
    return True


def _import_and_keep() -> None:
    """Let cffi parse the declarations, and cache the result."""
    import ast
    import contextlib
    import io

    import cffi

    texts: list[str] = []

    class Recording(cffi.FFI):  # type: ignore[misc]
        def cdef(self, text: str, *more: Any, **named: Any) -> None:
            super().cdef(text, *more, **named)
            texts.append(text)

    plain, cffi.FFI = cffi.FFI, Recording
    try:
        import pyghostty  # noqa: F401
    finally:
        cffi.FFI = plain
    if not os.access(os.path.dirname(_CACHE), os.W_OK):
        return
    made = f"{_CACHE}.{os.getpid()}.py"
    try:
        again = cffi.FFI()
        for text in texts:
            again.cdef(text)
        again.set_source("ghostty", None)
        with contextlib.redirect_stdout(io.StringIO()):  # cffi reports each step
            again.emit_python_code(made)
        with open(made) as source:
            parsed = {name: ast.literal_eval(value) for name, value in _FIELD.findall(source.read())}
        checksums = [binascii.crc32(text.encode()) for text in texts]
        files.replace(_CACHE, marshal.dumps((checksums, parsed)), mode=0o644)  # other users read it too
    except (OSError, ValueError):
        pass  # read-only, or cffi's output has another form
    finally:
        if os.path.exists(made):
            os.unlink(made)


if "pyghostty" not in sys.modules and not _import_parsed():
    _import_and_keep()

from pyghostty import Terminal  # noqa: E402
from pyghostty._ffi import check, ffi, lib  # noqa: E402
from pyghostty.core import init_sized, read_buf  # noqa: E402

__all__ = ["Terminal", "check", "ffi", "init_sized", "lib", "read_buf"]
