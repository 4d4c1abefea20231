"""The relay's end of the host, with a host that only listens."""

import socket
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
    link.say_goodbye()
    assert link.socket is not None
    link.socket.shutdown(socket.SHUT_WR)
    assert link.wait_drained(30.0)
    frames = heard(tmp_path / "heard")
    assert frames[0] == (wire.HELLO, b'{"a": 1}')
    assert output(frames) == said + b"after"

    (tmp_path / "heard").unlink()
    link.output(b"between")
    link.start()
    link.say_goodbye()
    assert link.socket is not None
    link.socket.shutdown(socket.SHUT_WR)
    assert link.wait_drained(30.0)
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
    link.say_goodbye()
    assert link.wait_drained(30.0)
    assert (tmp_path / "told").read_text() == "goodbye"


def test_a_key_comes_before_its_echo_and_goes_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", LISTENER, str(tmp_path / "heard")]
    link = HostLink(command, [], dict, lambda _: None, str(tmp_path / "log"))
    link.start()
    link.look()
    assert not link.waiting
    for count, key in ((1, "a"), (2, "ab")):
        link.key(1, count, False, key, None)
        assert link.waiting  # though nothing is written for it yet
        link.output(key[-1:].encode())
    link.key(1, 3, False, "abc", None)
    assert link.look() and not link.waiting
    link.key(1, 4, False, "abcd", None)
    link.send(wire.pack(wire.PING))
    link.say_goodbye()
    assert link.socket is not None
    link.socket.shutdown(socket.SHUT_WR)
    assert link.wait_drained(30.0)
    told = [(kind, payload) for kind, payload in heard(tmp_path / "heard") if kind != wire.HELLO]
    kinds = [kind for kind, _ in told]
    assert kinds == [*(wire.KEYS, wire.OUTPUT) * 2, *(wire.KEYS,) * 2, wire.PING]
    drafts = [wire.unpack_keys(payload)[3] for kind, payload in told if kind == wire.KEYS]
    assert drafts == ["a", "ab", "abc", "abcd"]


def test_a_key_of_before_is_not_told_to_the_next_host(tmp_path: Path) -> None:
    """Its hello says already how often a human has typed."""
    command = [sys.executable, "-I", "-S", "-c", LISTENER, str(tmp_path / "heard")]
    link = HostLink(command, [], dict, lambda _: None, str(tmp_path / "log"))
    link.start()
    link.key(1, 1, False, "a", None)
    link.drop("for a test")
    link.start()
    link.say_goodbye()
    assert link.socket is not None
    link.socket.shutdown(socket.SHUT_WR)
    assert link.wait_drained(30.0)
    assert wire.KEYS not in [kind for kind, _ in heard(tmp_path / "heard")]
