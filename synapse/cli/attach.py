"""`synapse attach`: hand this terminal to a background agent, and wait."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket

from synapse.cli.target import find_agent
from synapse.errors import SynapseError, TargetError, UsageError
from synapse.registry import Entry
from synapse.relay.console import Console


def main(argv: list[str]) -> int:
    from synapse.config import load_settings

    chord = load_settings().values["detach_keys"]
    parser = argparse.ArgumentParser(
        prog="synapse attach",
        description="Take over the terminal of a background agent, as if it had been started here. "
        f"{chord} detaches; the agent goes on. Another terminal that attaches takes it over.",
    )
    parser.add_argument("target", help="a name, a type, type-port, or the beginning of an id")
    options = parser.parse_args(argv)
    entry = find_agent(options.target)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "standard input and output must be a terminal; "
            f"`synapse screen {entry['name']}` prints the screen anywhere."
        )
    if os.environ.get("SYNAPSE_AGENT_ID") == entry["agent_id"]:
        raise UsageError(f"this terminal is inside {entry['name']} itself.")
    return _attach(entry)


def _attach(entry: Entry) -> int:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(entry["socket"]).removesuffix(".http") + ".tty")
    except OSError as error:
        raise TargetError(f"{entry['name']} has just ended: see `synapse logs {entry['name']}`.") from error
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)  # these are keys for the agent
    signal.signal(signal.SIGWINCH, lambda *_: _say(connection, {"op": "resized"}))
    ours = Console.of_this_process()  # opened afresh: what the relay does to it stays off the shell's
    _until_in_front(ours)
    hello = {"op": "attach", "paths": list(ours.paths)}
    socket.send_fds(connection, [json.dumps(hello).encode() + b"\n"], [ours.in_fd, ours.out_fd])
    try:
        return _wait(connection, entry, ours)
    finally:
        ours.restore()
        ours.close()


def _wait(connection: socket.socket, entry: Entry, ours: Console) -> int:
    name = entry["name"]
    with connection.makefile("rb") as lines:
        for line in lines:
            message = json.loads(line)
            event = message["event"]
            if event == "refused":
                raise SynapseError(f"cannot attach to {name}: {message['why']}.")
            if event == "detached":
                why = message["why"]
                print(f"[detached from {name}{'' if why == 'detached' else ': ' + why}]")
                return 0
            if event == "exited":
                print(f"[{name} has ended with status {message['status']}]")
                return int(message["status"])
            if event == "stopped":
                ours.restore()
                os.kill(os.getpid(), signal.SIGSTOP)
                _until_in_front(ours)
                _say(connection, {"op": "continued"})
    raise SynapseError(f"{name} is gone: see `synapse logs {name}`.")


def _until_in_front(ours: Console) -> None:
    """In the background a program that wants the terminal stops. The relay, outside of this session, would
    not: it would take the shell's own terminal from it."""
    while not ours.in_foreground():
        os.kill(os.getpid(), signal.SIGSTOP)


def _say(connection: socket.socket, message: dict[str, str]) -> None:
    try:
        connection.send(json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # the relay is gone: the wait ends too
