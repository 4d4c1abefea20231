"""Runs a command that may not connect(), nor send to a socket, as in the sandboxes of some agents:
`python no_connect.py COMMAND …`. A seccomp filter, which the command cannot remove, answers EPERM."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
FORBIDDEN = {"x86_64": (42, 44), "aarch64": (203, 206)}  # connect, sendto
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2

AVAILABLE = sys.platform == "linux" and platform.machine() in FORBIDDEN


def forbid() -> None:
    machine = platform.machine()
    numbers = FORBIDDEN[machine]
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, AUDIT_ARCH[machine]), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    code += [(_EQUAL, len(numbers) - n, 0, number) for n, number in enumerate(numbers)]
    code += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]
    packed = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(packed)))
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value, more in ((_NO_NEW_PRIVILEGES, 1, None), (_SECCOMP, _FILTER, program)):
        if libc.prctl(option, ctypes.c_ulong(value), more, ctypes.c_ulong(0), ctypes.c_ulong(0)):
            raise OSError(ctypes.get_errno(), "the filter is refused")


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
