"""pyghostty, whose C declarations cffi would read anew in each process: most of the time that a host starts.

They have been read beforehand, into `ghostty_abi.py`, which `python -m tests.ghostty_abi` writes anew. Where
these are not the declarations that are installed, cffi reads them after all.
"""

import binascii
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import _cffi_backend

from synapse.terminal.ghostty_abi import PARSED, TEXTS


class _OtherDeclarations(Exception):
    pass


class _Parsed(_cffi_backend.FFI):  # type: ignore[misc]
    """What pyghostty takes for cffi's FFI."""

    def cdef(self, text: str) -> None:
        if binascii.crc32(text.encode()) not in TEXTS:
            raise _OtherDeclarations


def _import_with(make: Callable[[], Any]) -> None:
    """Import pyghostty, which will find `make` where it looks for `cffi.FFI`."""
    ours, theirs = ModuleType("cffi"), sys.modules.get("cffi")
    ours.FFI = make  # type: ignore[attr-defined]
    sys.modules["cffi"] = ours
    try:
        import pyghostty  # noqa: F401
    finally:
        del sys.modules["cffi"]
        if theirs is not None:
            sys.modules["cffi"] = theirs


if "pyghostty" not in sys.modules:
    try:
        _import_with(lambda: _Parsed("synapse.terminal.ghostty_abi", **PARSED))
    except _OtherDeclarations:
        for name in ("pyghostty._ffi", "pyghostty._cdef", "pyghostty"):
            sys.modules.pop(name, None)

from pyghostty import Terminal  # noqa: E402
from pyghostty._ffi import check, ffi, lib  # noqa: E402
from pyghostty.core import init_sized, read_buf  # noqa: E402

__all__ = ["Terminal", "check", "ffi", "init_sized", "lib", "read_buf"]
