"""`python -m tests.ghostty_abi`: write synapse/terminal/ghostty_abi.py for the installed pyghostty."""

from __future__ import annotations

import binascii
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILE = Path(__file__).parent.parent / "synapse" / "terminal" / "ghostty_abi.py"
# In a process of its own, where pyghostty has not been imported yet.
_EMIT = """
import sys, cffi
texts = []
class Recording(cffi.FFI):
    def cdef(self, text):
        super().cdef(text)
        texts.append(text)
plain, cffi.FFI = cffi.FFI, Recording
import pyghostty._ffi
ffi = plain()
for text in texts:
    ffi.cdef(text)
ffi.set_source("ghostty_abi", None)
ffi.emit_python_code(sys.argv[1])
print("\\0".join(texts), end="")
"""


def generate() -> str:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "abi.py"
        done = subprocess.run([sys.executable, "-c", _EMIT, made], capture_output=True, text=True, check=True)
        texts = done.stdout.partition("\n")[2] if done.stdout.startswith("generating") else done.stdout
        emitted = made.read_text()
    fields = re.findall(r"^    (_\w+) = (.*?)[,)]\n", emitted, re.MULTILINE)
    sums = ", ".join(f"0x{binascii.crc32(text.encode()):08X}" for text in texts.split("\0"))
    return (
        '"""Written by `python -m tests.ghostty_abi`: pyghostty\'s declarations, as cffi reads them."""\n\n'
        f"TEXTS = frozenset(({sums}))\n\n"
        "PARSED: dict[str, object] = {\n"
        + "".join(f'    "{name}": {value},\n' for name, value in fields)
        + "}\n"
    )


if __name__ == "__main__":
    FILE.write_text(generate())
