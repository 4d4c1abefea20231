"""`synapse attach`: hand this terminal to a background agent, and wait until it is detached."""

import json
import os
import signal
import socket

from synapse.cli.shared.agents import find_agent
from synapse.cli.shared.output import say
from synapse.cli.shared.parser import Parser
from synapse.errors import SynapseError, TargetError, UsageError
from synapse.peers import remote
from synapse.registry import Entry
from synapse.relay.console import Console
from synapse.terminal.modes import undo_all


def parser() -> Parser:
    from synapse.config import load_settings

    chord = load_settings().values["detach_keys"]
    return Parser(
        "synapse attach",
        "Take over the terminal of a background agent, as if it had been started here. "
        f"{chord} detaches, and the agent goes on. Another terminal that attaches takes it over.",
    ).add_agent()


def main(argv: list[str]) -> int:
    options = parser().parse_args(argv)
    if remote.is_remote(options.target):
        return _attach_there(options.target)
    entry = find_agent(options.target)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "standard input and output must be a terminal: "
            f"`synapse screen {entry['name']}` prints the screen without one."
        )
    if os.environ.get("SYNAPSE_AGENT_ID") == entry["agent_id"]:
        raise UsageError(f"this terminal belongs to {entry['name']} itself: attach from another terminal.")
    return _attach(entry)


def _attach_there(target: str) -> int:
    """The terminal itself cannot be handed over to another machine: `ssh` runs this command there."""
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(
            "standard input and output must be a terminal: "
            f"`synapse screen {target}` prints the screen without one."
        )
    source = remote.source_of(target.partition("@")[2])
    words = source.attach(source.entry(target))
    os.execvp(words[0], words)


def _attach(entry: Entry) -> int:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(entry["socket"]).removesuffix(".http") + ".tty")
    except OSError as error:
        raise TargetError(f"{entry['name']} has just ended: see `synapse logs {entry['name']}`.") from error
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)  # these are keys for the agent
    signal.signal(signal.SIGWINCH, lambda *_: _say(connection, {"op": "resized"}))
    # Opened again, so that the flags that the relay sets on it do not reach the shell.
    ours = Console.of_this_process()
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
                say(f"[detached from {name}{'' if why == 'detached' else ': ' + why}]")
                return 0
            if event == "exited":
                say(f"[{name} has ended with status {message['status']}]")
                return int(message["status"])
            if event == "stopped":
                ours.restore()
                os.kill(os.getpid(), signal.SIGSTOP)
                _until_in_front(ours)
                _say(connection, {"op": "continued"})
    ours.write(undo_all(shell_is_back=False))  # the relay was killed, and perhaps the host
    ours.drain()
    raise SynapseError(f"{name} has ended: see `synapse logs {name}`.")


def _until_in_front(ours: Console) -> None:
    """Stop, as every background program does that wants the terminal. The kernel would not stop the relay,
    which is outside of this session: it would take the terminal from the shell."""
    while not ours.in_foreground():
        os.kill(os.getpid(), signal.SIGSTOP)


def _say(connection: socket.socket, message: dict[str, str]) -> None:
    try:
        connection.send(json.dumps(message).encode() + b"\n")
    except OSError:
        pass  # the relay is gone: the wait ends too
