"""A host that does what a test says, and a relay that runs with it: `python relay_host.py relay FOLDER …`.

The host writes each frame it is given to `frames`, one JSON line each, and answers commands as `policy` says:
take, refuse, or nothing at all. A line written to `say` while it runs is sent as a frame.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

from synapse.relay import wire

SHOWN = (wire.HELLO, wire.COMMAND, wire.REFUSED)


def host(folder: Path, link: socket.socket) -> None:
    unpacker = wire.Unpacker()
    link.sendall(wire.pack(wire.READY))
    names = json.loads((folder / "names").read_text())
    link.sendall(wire.pack_json(wire.NAMES, names))
    with (folder / "frames").open("a") as frames:
        while data := link.recv(65536):
            for kind, payload in unpacker.feed(data):
                policy = (folder / "policy").read_text()
                if kind == wire.KEYS:
                    what, count, empty, draft, _ = wire.unpack_keys(payload)
                    said: object = {"what": what, "count": count, "empty": empty, "draft": draft}
                elif kind in SHOWN:
                    said = json.loads(payload)
                else:
                    if kind == wire.PING:
                        link.sendall(wire.pack(wire.PONG))
                    elif kind == wire.EXIT:
                        return
                    continue
                frames.write(json.dumps({"kind": kind, "said": said, "at": time.monotonic()}) + "\n")
                frames.flush()
                if kind == wire.COMMAND and policy != "silent":
                    told = {"id": json.loads(payload)["id"]}
                    if policy == "refuse":
                        told["refused"] = "no such agent"
                    link.sendall(wire.pack_json(wire.COMMAND_TAKEN, told))
                    if policy == "die":
                        os._exit(1)


def relay(folder: Path, profile_name: str, arguments: list[str]) -> int:
    from synapse.profiles.loader import clear_steps, load_profile
    from synapse.relay.console import Console
    from synapse.relay.link import HostLink
    from synapse.relay.loop import Relay
    from synapse.relay.pty import Pty

    profile = load_profile(profile_name)
    console = Console.of_this_process()
    pty = Pty.spawn([*profile.command, *arguments], dict(os.environ), console.winsize(), console.saved)
    command = [sys.executable, "-P", __file__, "host", str(folder)]
    log = (folder / "log").open("a")

    def clear(line: str, behind: int, normal_mode: bool) -> list[tuple[float, bytes]]:
        return clear_steps(profile, line, behind, normal_mode)

    def write_log(text: str) -> None:
        log.write(text + "\n")
        log.flush()

    link = HostLink(command, [], lambda: {"draft": made.keyboard.draft}, write_log, str(folder / "host.log"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "attach"))
    listener.listen()
    made = Relay(
        pty,
        link,
        listener,
        console,
        detach_keys=(b"\x1d", b"d"),
        overlay_keys=(b"\x1d", b"o"),
        clear=clear,
        on_ready=lambda: None,
        on_heartbeat=lambda: None,
        log=write_log,
    )
    status = made.run()
    link.say_goodbye()
    link.wait_drained(1.0)
    return status


if __name__ == "__main__":
    if sys.argv[1] == "host":
        host(Path(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
    else:
        sys.exit(relay(Path(sys.argv[2]), sys.argv[3], sys.argv[4:]))
