"""The relay's end of the host, with a host that only listens."""

import sys
from pathlib import Path

from synapse.relay import wire
from synapse.relay.link import HostLink
from synapse.relay.spool import RECENT_LIMIT
from tests.support.home import wait

LISTENER = """
import socket, sys
wire = socket.socket(fileno=int(sys.argv[2]))
with open(sys.argv[1], "ab") as file:
    while data := wire.recv(65536):
        file.write(data)
"""


def heard(path: Path) -> list[tuple[int, bytes]]:
    return list(wire.Unpacker().feed(path.read_bytes()))


def output(frames: list[tuple[int, bytes]]) -> bytes:
    return b"".join(payload for kind, payload in frames if kind == wire.OUTPUT)


def test_the_first_host_is_told_all_that_came_before_it_and_the_next_the_last_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", LISTENER, str(tmp_path / "heard")]
    link = HostLink(command, [], lambda: {"a": 1}, lambda _: None, str(tmp_path / "log"))
    said = b"".join(b"%07d\n" % number for number in range(50_000))
    for start in range(0, len(said), 4096):
        link.output(said[start : start + 4096])
    link.start()
    link.output(b"after")
    link.close(patience=20.0)
    frames = heard(tmp_path / "heard")
    assert frames[0] == (wire.HELLO, b'{"a": 1}')
    assert output(frames) == said + b"after"

    (tmp_path / "heard").unlink()
    link.output(b"between")
    link.start()
    link.close(patience=20.0)
    again = output(heard(tmp_path / "heard"))
    assert (said + b"afterbetween").endswith(again) and RECENT_LIMIT - 5000 < len(again) <= RECENT_LIMIT


DEAF = """
import signal, sys, time
def goodbye(*_):
    open(sys.argv[1], "w").write("goodbye")
    sys.exit()
signal.signal(signal.SIGUSR1, goodbye)
open(sys.argv[1] + ".ready", "w").close()
time.sleep(60)
"""


def test_a_host_that_does_not_read_is_told_that_the_end_is_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", DEAF, str(tmp_path / "told")]
    link = HostLink(command, [], dict, lambda _: None, str(tmp_path / "log"))
    link.start()
    wait((tmp_path / "told.ready").exists, "the host")
    link.output(b"x" * 4_000_000)
    link.close(patience=20.0)
    assert (tmp_path / "told").read_text() == "goodbye"
