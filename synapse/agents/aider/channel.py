"""aider: its record of the requests to the model, made by a launch flag. Its screen shows that it is idle."""

import os
import re
from collections.abc import Sequence

from synapse.agents.aider.flags import EVENTS, HISTORY
from synapse.agents.base import TRANSCRIPT, Channel, Surroundings
from synapse.agents.facts import Fact, PromptAccepted, Said, StateSeen, tokens_used
from synapse.agents.requests import ToolRequest, tool_request
from synapse.agents.tail import JsonlTail
from synapse.registry import PROCESSING, STATUSES

KEPT = 4_000_000  # bytes: each request has the whole chat in it, so the file is begun again when it is larger
_HEAD = re.compile(r"(TO LLM|LLM RESPONSE) \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_MESSAGE = "-------"
_USER, _SAID = "USER ", "ASSISTANT "
_COMMAND = re.compile(r"/(?:ask|architect|code|context|help)\s+")  # ways to send a message in another mode
_SHELL = re.compile(r"(?ms)^```(?:bash|sh|shell|zsh|fish|console|cmd|batch|powershell|ps1)\n(.*?)^```")


class AiderChannel(Channel):
    """Each line of a message has its role before it, so nothing in a message can look like the next record.
    A record is complete when the next one begins or, for a response, when aider has done something else."""

    name = "aider"
    tells = tells_all = True

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self._record = _Records(surroundings.argument(HISTORY))
        self._events = JsonlTail(surroundings.argument(EVENTS))
        self._entered: list[str] = []  # what was submitted since the last request
        self._reminder = ""  # what aider puts behind a prompt
        self._sending = False
        self._count = 0
        self._calls: list[ToolRequest] = []

    def submitted(self, text: str | None = None) -> None:
        if text:
            self._entered.append(text)

    def poll(self) -> list[Fact]:
        facts: list[Fact] = []
        for kind, lines in self._record.read_new():
            facts += self._request(lines) if kind == "TO LLM" else self._response(lines)
        for event in self._events.read_new():
            if event.get("event") == "message_send":
                self._count += 1
                facts += tokens_used(
                    event.get("properties"), "prompt_tokens", "completion_tokens", str(self._count)
                )
        return facts

    def _request(self, lines: Sequence[str]) -> list[Fact]:
        self._sending = True
        self._calls = []
        working = StateSeen(TRANSCRIPT, (PROCESSING,), "it has sent a request to the model")
        accepted = self._prompt_in(_last_of_user(lines))
        self._entered.clear()
        return [accepted, working]

    def _prompt_in(self, asked: str) -> PromptAccepted:
        """aider puts its own reminder behind a prompt. What was not submitted here is a prompt only if no
        turn is running: aider adds files, the output of a command or the errors of a linter by itself."""
        for text in reversed(self._entered):
            words = _COMMAND.sub("", text, count=1).split()
            if words and asked.split()[: len(words)] == words:
                begin = asked.find("\n\n", len(" ".join(words)))
                self._reminder = asked[begin:] if begin >= 0 else ""
                return PromptAccepted(TRANSCRIPT, text)
        return PromptAccepted(TRANSCRIPT, asked.removesuffix(self._reminder).strip(), if_idle=True)

    def _response(self, lines: Sequence[str]) -> list[Fact]:
        self._sending = False
        text = "\n".join(line.removeprefix(_SAID).removeprefix(_SAID.rstrip()) for line in lines)
        self._count += 1
        requests = (
            tool_request("shell", {"command": block.strip()}) for block in _SHELL.findall(f"{text}\n")
        )
        self._calls = [request for request in requests if request is not None]
        facts: list[Fact] = [Said(TRANSCRIPT, text, str(self._count))] if text.strip() else []
        return [
            *facts,
            StateSeen(TRANSCRIPT, STATUSES, "the model has answered: its screen shows what it does"),
        ]

    def requests(self) -> Sequence[ToolRequest]:
        return self._calls

    def unfinished(self) -> bool:
        return self._sending

    def missing(self) -> list[str]:
        own = "the flag --llm-history-file is yours, so its replies are read from the screen"
        return [] if self._record.path else [own]


class _Records:
    """The records of the file, each as its kind and its lines."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._inode = 0
        self._offset = 0
        self._rest = b""
        self._kind = ""
        self._lines: list[str] = []

    def read_new(self) -> list[tuple[str, list[str]]]:
        data = self._read()
        found: list[tuple[str, list[str]]] = []
        if not data:
            return found
        *lines, self._rest = (self._rest + data).split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8", "replace")
            if head := _HEAD.fullmatch(line):
                self._flush(found)
                self._kind = head[1]
            else:
                self._lines.append(line)
        # aider writes a record with its last line at once.
        if not self._rest:
            self._flush(found)
        return found

    def _flush(self, found: list[tuple[str, list[str]]]) -> None:
        if self._kind:
            found.append((self._kind, self._lines))
        self._kind, self._lines = "", []

    def _read(self) -> bytes:
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._offset:  # it was begun again
                    self._inode, self._offset, self._rest = status.st_ino, 0, b""
                    self._kind, self._lines = "", []
                file.seek(self._offset)
                data = file.read()
            self._offset += len(data)
            if self._offset > KEPT and data and not self._rest and self._is_answered(data):
                os.truncate(self.path, 0)
                self._offset = 0
        except (OSError, ValueError):
            return b""
        return data

    @staticmethod
    def _is_answered(data: bytes) -> bool:
        return b"\nLLM RESPONSE " in data or data.startswith(b"LLM RESPONSE ")


def _last_of_user(lines: Sequence[str]) -> str:
    start = max((n for n, line in enumerate(lines) if line == _MESSAGE), default=-1)
    mine = [line.removeprefix(_USER) for line in lines[start + 1 :] if line.startswith(_USER.rstrip())]
    return "\n".join(mine).strip()


CHANNEL = AiderChannel
