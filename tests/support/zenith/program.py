"""Zenith, a fictional CLI: the composer of the reference agent, with a model behind it.

Its flags are the ways in which a release can break what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPResponse
from typing import Any, NamedTuple
from urllib.error import URLError

from synapse.dummy_agent import __main__ as dummy
from synapse.dummy_agent import script
from synapse.dummy_agent.keys import Event
from synapse.dummy_agent.painter import Cursor
from synapse.dummy_agent.steps import Question, Step, Text, Wait
from synapse.dummy_agent.tui import TuiAgent

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {"properties": {"command": {}}}}}
CLEARING = (("key", "ctrl-u"), ("key", "ctrl-k"), ("key", "delete"), ("key", "backspace"))


class Permission(NamedTuple):
    command: str


class Zenith(TuiAgent):
    def __init__(self, options: argparse.Namespace, flags: argparse.Namespace) -> None:
        super().__init__(options, "Zenith")
        self._flags = flags
        self._result = ""
        script.steps = self._steps  # type: ignore[assignment]

    def _steps(self, message: str) -> Iterator[Step | Permission]:
        messages: list[dict[str, str]] = [{"role": "user", "content": message}]
        while True:
            command = ""
            for piece in ask(messages):
                if isinstance(piece, Permission):
                    command = piece.command
                else:
                    yield piece
            if not command:
                return
            yield Permission(command)
            messages.append({"role": "tool", "content": self._result})

    def _perform(self, step: Any) -> None:
        if not isinstance(step, Permission):
            super()._perform(step)
        elif (
            self._flags.yolo
            or self._ask(
                Question("confirm", f"run: {step.command}\nDo you want to proceed?", ("Yes", "Always", "No"))
            )
            == "1"
        ):
            self._result = subprocess.run(
                step.command, shell=True, capture_output=True, text=True, check=False
            ).stdout

    def _live(self, columns: int, growing: list[str], hint: str) -> tuple[list[str], Cursor]:
        rows, cursor = super()._live(columns, growing, hint)
        return [row.replace("❯", self._flags.glyph, 1) for row in rows], cursor

    def _on_event(self, event: Event) -> None:
        if not (self._flags.keep and event in CLEARING):
            super()._on_event(event)

    def _on_escape(self) -> None:
        if not self._flags.no_escape or self._question:
            super()._on_escape()


def ask(messages: list[dict[str, str]]) -> Iterator[Step | Permission]:
    """Stream from the model; the human's keys are looked at in between."""
    body = json.dumps({"model": "m", "stream": True, "messages": messages, "tools": [TOOL]}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{os.environ['ZENITH_MODEL']}/v1/chat/completions", body, headers)
    try:
        response: HTTPResponse = urllib.request.urlopen(request)
    except URLError as error:
        yield Text(f"API Error: {error.reason}")
        return
    sock: socket.socket = response.fp.raw._sock  # type: ignore[attr-defined]
    events: queue.Queue[dict[str, Any] | None] = queue.Queue()
    threading.Thread(target=read, args=(response, events), daemon=True).start()
    try:
        while True:
            try:
                delta = events.get_nowait()
            except queue.Empty:
                yield Wait(0.02)
                continue
            if delta is None:
                return
            if delta.get("content"):
                yield Text(delta["content"])
            for call in delta.get("tool_calls", ()):
                yield Permission(json.loads(call["function"]["arguments"])["command"])
    finally:
        with suppress(OSError):  # closed by the model, at the end of its answer
            sock.shutdown(socket.SHUT_RDWR)


def read(response: HTTPResponse, events: queue.Queue[dict[str, Any] | None]) -> None:
    try:
        for line in response:
            data = line.removeprefix(b"data: ").strip()
            if data and data != b"[DONE]":
                events.put(json.loads(data)["choices"][0]["delta"])
    except (OSError, ValueError):
        pass
    events.put(None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="zenith")
    parser.add_argument("--glyph", default="❯", help="before what is typed")
    parser.add_argument("--keep", action="store_true", help="nothing clears the composer")
    parser.add_argument("--no-escape", action="store_true", help="only Ctrl-C interrupts")
    parser.add_argument("--yolo", action="store_true", help="ask for no permission")
    parser.add_argument("--elsewhere", action="store_true", help="ask another model")
    parser.add_argument("--version", action="version", version="zenith 7.0")
    flags, rest = parser.parse_known_args()
    if flags.elsewhere:
        os.environ["ZENITH_MODEL"] = "http://127.0.0.1:9"
    return Zenith(dummy.parser().parse_args(rest), flags).run()


sys.exit(main())
