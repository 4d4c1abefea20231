"""TerminalController: runs a command as an agent from a script, under the specifications' names.

    controller = TerminalController("claude")       # a profile, or any command
    status = controller.run_interactive()           # in this terminal, until the agent ends

    controller = TerminalController("./my-agent --fast", idle_regex=r"^> $")
    controller.start()                              # in the background
    controller.write("hello", "\\r")
    print(controller.status, controller.get_context())
    controller.stop()

Both start what `synapse <profile>` and `synapse start` start: a relay process that owns the PTY, and a host
process with the status, the tasks and the HTTP server. They take the place of the specifications' threads.
The methods call the host over the agent's private socket, and raise SynapseError if the agent does not run.
"""

import base64
import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from synapse.a2a_client import A2AClient
from synapse.base import paths, processes
from synapse.errors import SynapseError, TargetError
from synapse.input_detector import InputRequiredDetector
from synapse.input_router import InputRouter
from synapse.keys.commands import Command
from synapse.launch.detach import first_report
from synapse.launch.run import run_agent
from synapse.launch.tokens import take_token
from synapse.peers import control
from synapse.profiles.files import profile_names
from synapse.profiles.loader import clear_steps, pack_fields, pack_profile, unpack_profile
from synapse.registry import PROCESSING, AgentRegistry, Entry
from synapse.relay.console import Console

logger = logging.getLogger(__name__)

CONTEXT_LENGTH = 2000  # characters
STOP_PATIENCE = 10.0  # seconds

OutputCallback = Callable[[str], object]


class TerminalController:
    """`command` is the name of a profile or a command line. `idle_regex` matches the screen of an idle agent;
    without it a command is idle after two seconds without output. `name` is what other agents call it. The
    HTTP server asks for the token in SYNAPSE_TOKEN, if that is set."""

    def __init__(
        self,
        command: str | Sequence[str],
        idle_regex: str | None = None,
        *,
        name: str | None = None,
        port: int | None = None,
        env: Mapping[str, str] | None = None,
        registry: AgentRegistry | None = None,
        a2a_client: A2AClient | None = None,
    ) -> None:
        self.command = command if isinstance(command, str) else shlex.join(command)
        self.idle_regex = re.compile(idle_regex) if idle_regex else None
        self.registry = registry or AgentRegistry()
        self.input_router = InputRouter(self.registry, a2a_client)
        self.input_detector = InputRequiredDetector()
        self.process: subprocess.Popen[bytes] | None = None  # the relay of a background agent
        self.entry: Entry | None = None  # in the registry, while the agent runs
        self._name = name
        self._port = port
        self._packed = _packed_profile(self.command, idle_regex, env or {})
        self._output_callbacks: list[OutputCallback] = []
        self._monitor: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self.entry is not None and self.registry.is_alive(str(self.entry["agent_id"]))

    def start(self) -> None:
        """Start the agent in the background; returns when it answers. It goes on when the script ends."""
        self._refuse_twice()
        name = self._name or str(self._packed["name"])
        # Not a fork: a script may have threads.
        self.process = subprocess.Popen(
            [*paths.our_python(), "-m", "synapse.launch.detach"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        with self.process.stdin as pipe:
            pipe.write(json.dumps({"profile": self._packed, "name": self._name, "port": self._port}).encode())
        try:
            with self.process.stdout as pipe:
                report = first_report(pipe.fileno(), name)
            if "ready" not in report:
                raise SynapseError(
                    f"{name} ended at once with status {report['ended']}: see `synapse logs {name}`."
                )
        except SynapseError:
            self.process.terminate()
            self.process.wait()
            raise
        self._on_report(report)

    def run_interactive(self) -> int:
        """Run the agent in this terminal until it ends, and return its exit status.

        If standard input or output is no terminal, it runs without one; `synapse attach` shows it. Call this
        from the main thread, before the script starts other threads: this process becomes the relay.
        """
        self._refuse_twice()
        console = Console.of_this_process() if os.isatty(0) and os.isatty(1) else None
        handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
        wakeup = signal.set_wakeup_fd(-1)
        try:
            status = run_agent(
                unpack_profile(self._packed),
                (),
                self._name,
                self._port,
                console=console,
                report=self._on_report,
                token=take_token(None, None),
                packed=self._packed,
            )
            return processes.shell_status(status)
        finally:
            self.entry = None
            signal.set_wakeup_fd(wakeup)
            for number, handler in handlers.items():
                if handler is not None and signal.getsignal(number) != handler:
                    signal.signal(number, handler)
            if console is not None:
                console.close()

    def stop(self) -> None:
        if not self.running:
            return
        assert self.entry is not None
        for number in (signal.SIGTERM, signal.SIGCONT):  # the relay may be stopped in its terminal
            os.kill(int(str(self.entry["pid"])), number)
        deadline = time.monotonic() + STOP_PATIENCE
        while self.running:
            if time.monotonic() > deadline:
                raise SynapseError(
                    f"{self.entry['name']} did not end within {STOP_PATIENCE:g} s: `synapse stop` kills it."
                )
            time.sleep(0.02)
        if self.process is not None:
            self.process.wait(STOP_PATIENCE)

    @property
    def status(self) -> str:
        """READY, PROCESSING or INPUT_REQUIRED; PROCESSING if the agent does not run."""
        return str(self._call("GET", "/status")["status"]) if self.running else PROCESSING

    @property
    def output_buffer(self) -> str:
        """What the agent has written, as text: the screen and the lines above it."""
        lines = self._call("GET", "/terminal/contents")["lines"]
        assert isinstance(lines, list)
        return "\n".join(lines)

    def get_context(self, length: int = CONTEXT_LENGTH) -> str:
        return self.output_buffer[-length:]

    def write(self, data: str, submit_seq: str | None = None) -> None:
        self._type((data + (submit_seq or "")).encode())

    def interrupt(self) -> None:
        self._call("POST", "/terminal/interrupt")

    def add_output_callback(self, callback: OutputCallback) -> None:
        """Call it, in a thread of the controller, with everything that the agent writes from now on."""
        self._output_callbacks.append(callback)
        self._watch_output()

    def remove_output_callback(self, callback: OutputCallback) -> None:
        if callback in self._output_callbacks:
            self._output_callbacks.remove(callback)

    def handle_stdin(self, data: bytes) -> None:
        """Give the agent what a human has typed. A line such as `@codex review this` goes to that agent
        instead: it is taken out of the composer, sent, and its reply is written as feedback.

        `run_interactive` does this by itself.
        """
        for action in self.input_router.feed(data):
            if action[0] == "pass":
                self._type(action[1])
            elif action[0] == "refusal":
                self.write_feedback(f"[✗ {action[1].name}: {action[1].reason}]\n")
            else:
                self._route(action[1])

    def send_to_agent(self, agent: str, message: str, want_response: bool = False) -> bool:
        """Whether the message was sent. With `want_response` the reply is in `input_router.last_response`."""
        return self.input_router.send_to_agent(agent, message, want_response)

    def write_feedback(self, text: str) -> None:
        """Write to the script's standard output."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def _route(self, command: Command) -> None:
        for delay, keys in clear_steps(unpack_profile(self._packed), command.line):
            time.sleep(delay)
            if keys:
                self._type(keys)
        sent = self.send_to_agent(command.name, command.message, command.wait)
        self.write_feedback(self.input_router.get_feedback_message(command.name, sent) + "\n")
        if self.input_router.last_response is not None:
            self.write_feedback(f"[← {command.name}] {self.input_router.last_response}\n")

    def _on_report(self, report: dict[str, object]) -> None:
        if isinstance(entry := report.get("ready"), dict):
            self.entry = entry
            self._watch_output()

    def _refuse_twice(self) -> None:
        if self.running:
            raise SynapseError(f"{self.command} runs already: call stop() first.")

    def _call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        return control.call(self._running_entry(), method, path, body)

    def _running_entry(self) -> Entry:
        if self.entry is None:
            raise TargetError(f"{self.command} does not run: call start() or run_interactive() first.")
        return self.entry

    def _type(self, data: bytes) -> None:
        self._call("POST", "/terminal/raw", {"data": base64.b64encode(data).decode()})

    def _watch_output(self) -> None:
        if self._output_callbacks and self.running and not (self._monitor and self._monitor.is_alive()):
            opened = threading.Event()
            self._monitor = threading.Thread(
                target=self._monitor_output, args=(self._running_entry(), opened), daemon=True
            )
            self._monitor.start()
            opened.wait(STOP_PATIENCE)

    def _monitor_output(self, entry: Entry, opened: threading.Event) -> None:
        """Read the recording that the host makes: a header, the screen as it was, then the output."""
        try:
            for number, line in enumerate(control.stream(entry, "/terminal/recording")):
                opened.set()
                event: list[Any] = json.loads(line)
                if number > 1 and event[1] == "o":
                    self._tell(event[2])
        except SynapseError:
            pass  # the agent has ended
        finally:
            opened.set()

    def _tell(self, text: str) -> None:
        for callback in list(self._output_callbacks):
            try:
                callback(text)
            except Exception:
                logger.exception("an output callback failed")


def _packed_profile(command: str, idle_regex: str | None, env: Mapping[str, str]) -> dict[str, Any]:
    if command in profile_names() and not idle_regex and not env:
        return pack_profile(command)
    words = shlex.split(command)
    if not words:
        raise SynapseError("there is no command to run: give one, or the name of a profile.")
    fields: dict[str, Any] = {"command": words, "env": dict(env)}
    if idle_regex:
        fields["idle_detection"] = {"strategy": "pattern", "pattern": idle_regex}
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", os.path.basename(words[0])).strip("-") or "agent"
    return pack_fields(name, fields)
