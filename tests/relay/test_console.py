import os
import select
import threading

from synapse.relay.console import Console, restore_terminal


def test_a_busy_terminal_is_restored_when_it_takes_bytes_again() -> None:
    master, slave = os.openpty()
    console = Console(slave, os.dup(slave), (os.ttyname(slave), os.ttyname(slave)))
    console.enter_raw()
    try:
        while True:
            os.write(slave, b"x" * 1024)
    except BlockingIOError:
        pass
    restoring = threading.Thread(target=restore_terminal, args=(console.describe(), lambda _: b"\x1b[?2004l"))
    restoring.start()
    seen = b""
    while b"\x1b[?2004l" not in seen:
        assert select.select([master], [], [], 5)[0], "the terminal was not restored"
        seen = seen[-16:] + os.read(master, 65536)
    restoring.join()
    assert console.saved == Console(slave, os.dup(slave)).saved
