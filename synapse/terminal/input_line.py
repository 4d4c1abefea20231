"""A line that the human types at the terminal of a command. A thread would go on reading after Ctrl-C."""

import asyncio
import os
import sys


async def read_line() -> str:
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(0, typed.set)
    try:
        await typed.wait()
        return os.read(0, 65536).decode("utf-8", "replace").strip()
    finally:
        loop.remove_reader(0)


async def read_hidden_line() -> str:
    """Nothing of it is shown."""
    import termios

    saved = termios.tcgetattr(0)
    termios.tcsetattr(0, termios.TCSAFLUSH, [*saved[:3], saved[3] & ~termios.ECHO, *saved[4:]])
    try:
        return await read_line()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)
        sys.stderr.write("\n")
