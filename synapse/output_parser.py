"""Parses an agent's reply into A2A artifacts: text, code, files and JSON, in the order of the text.

Code is a fenced code block of Markdown. JSON is an object or an array that fills whole lines. The text
between two such pieces is one TEXT piece, stripped; the files that it names follow it as FILE pieces, and the
text keeps the mention. The parser makes no ERROR pieces; callers do.
"""

import json
import math
import re
from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from synapse.agents.generic.screen import BLOCK_MARKS
from synapse.base.fences import Fence, FenceFinder

MIME_TYPES = {
    "python": "text/x-python", "javascript": "text/javascript", "typescript": "text/typescript",
    "json": "application/json", "yaml": "text/yaml", "html": "text/html", "css": "text/css",
    "sql": "text/x-sql", "bash": "text/x-shellscript", "shell": "text/x-shellscript",
}  # fmt: skip


class ArtifactType(Enum):
    TEXT = "text"
    CODE = "code"
    FILE = "file"
    JSON = "json"
    ERROR = "error"


@dataclass
class ParsedArtifact:
    type: ArtifactType
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)

    def to_a2a_artifact(self) -> dict[str, Any]:
        known = self.metadata
        text = [{"type": "text", "text": self.content}]
        match self.type:
            case ArtifactType.CODE:
                mime_type = MIME_TYPES.get(known.get("language", "").lower(), "text/plain")
                metadata = {"language": known.get("language", "text"), "mimeType": mime_type}
                name = known.get("filename", "code")
                return {"type": "code", "name": name, "parts": text, "metadata": metadata}
            case ArtifactType.FILE:
                metadata = {"path": known.get("path")}
                return {
                    "type": "file",
                    "name": known.get("path", "file"),
                    "parts": text,
                    "metadata": metadata,
                }
            case ArtifactType.JSON:
                data = [{"type": "data", "data": json.loads(self.content)}]
                return {"type": "data", "name": "json_output", "parts": data}
            case ArtifactType.ERROR:
                metadata = {"isError": True, "errorCode": known.get("code")}
                return {"type": "text", "name": "error", "parts": text, "metadata": metadata}
            case ArtifactType.TEXT:
                return {"type": "text", "name": "output", "parts": text}


@dataclass
class OutputParser:
    parse_code_blocks: bool = True
    parse_file_refs: bool = True
    parse_json: bool = True

    def parse(self, output: str) -> list[ParsedArtifact]:
        parser = StreamingOutputParser(self.parse_code_blocks, self.parse_file_refs, self.parse_json)
        return parser.feed(output) + parser.flush()


@dataclass
class StreamingOutputParser(OutputParser):
    """Takes the text in chunks and returns each artifact when it is complete, however the text is cut."""

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._unfinished: list[str] = []  # parts of the last line
        self._text: list[str] = []
        self._files: list[ParsedArtifact] = []
        self._fences = FenceFinder()
        self._fence: Fence | None = None
        self._code: list[str] = []
        self._json: _JsonScan | None = None
        self._ready: list[ParsedArtifact] = []

    def feed(self, chunk: str) -> list[ParsedArtifact]:
        first, *others = chunk.split("\n")
        self._unfinished.append(first)
        for line in others:
            self._line("".join(self._unfinished))
            self._unfinished = [line]
        ready, self._ready = self._ready, []
        return ready

    def flush(self) -> list[ParsedArtifact]:
        """The rest, at the end of the text. The parser can then take another text."""
        if last := "".join(self._unfinished):
            self._line(last)
        if self._json:
            self._end_json(self._json)
        if self._fence:
            self._end_code(self._fence, unclosed=True)
        self._end_text()
        ready = self._ready
        self._begin()
        return ready

    def _line(self, line: str) -> None:
        line = line.removesuffix("\r")
        if self._fence:
            if self._fence.is_closed_by(line):
                self._end_code(self._fence)
            else:
                self._code.append(line)
            return
        first = line.lstrip(" \t")[:1]
        if self._json and self._goes_on_in(self._json, line):
            return
        if first in _OPENING and self.parse_json and self._goes_on_in(_JsonScan(), line):
            return
        if first in _SPECIAL or self._fences.is_in_list:
            self._text_line(line)
        else:
            self._text.append(line)

    def _text_line(self, line: str) -> None:
        fence = self._fences.opening(line) if self.parse_code_blocks else None
        self._fence = fence
        if fence:
            line = fence.before
        self._text.append(line)
        if self.parse_file_refs and (path := _file_reference(line)):
            content = f"File reference: {path}"
            self._files.append(ParsedArtifact(ArtifactType.FILE, content, {"path": path}))

    def _end_text(self) -> None:
        if content := "\n".join(self._text).strip():
            self._ready.append(ParsedArtifact(ArtifactType.TEXT, content))
        self._ready += self._files
        self._text, self._files = [], []

    def _end_code(self, fence: Fence, unclosed: bool = False) -> None:
        metadata: dict[str, Any] = {"language": fence.language or "text"}
        if fence.info:
            metadata["info"] = fence.info
        if unclosed:
            metadata["unclosed"] = True
        self._end_text()
        code = self._code
        if fence.indent:
            code = [fence.content(line) for line in code]
        self._ready.append(ParsedArtifact(ArtifactType.CODE, "\n".join(code), metadata))
        self._fence, self._code = None, []

    def _goes_on_in(self, scan: "_JsonScan", line: str) -> bool:
        taken = scan.take(line)
        self._json = scan
        if not taken or scan.is_complete:
            self._end_json(scan)
        return taken

    def _end_json(self, scan: "_JsonScan") -> None:
        self._json = None
        done = 0
        for first, last in scan.found:
            for line in scan.lines[done:first]:
                self._text_line(line)
            done = last + 1
            self._end_text()
            self._fences.interrupt()
            content = "\n".join(scan.lines[first:done]).strip(_JSON_BLANK)
            self._ready.append(ParsedArtifact(ArtifactType.JSON, content))
        for line in scan.lines[done:]:
            self._text_line(line)


_REFERENCE = re.compile(
    r"""
    [ \t]*+ (?: (?: [-*+"""
    + BLOCK_MARKS
    + r"""] | [0-9]{1,9}[.)] ) [ \t]++ )?
    (?: \[File: (?P<inside> (?: [^\[\]]++ | \[ [^\[\]]*+ \] )++ ) \]
      | (?: Created | Wrote ): [ \t]*+
        (?: (?P<quote> ["'`] ) (?P<quoted> .+? ) (?P=quote) | (?P<word> \S++ ) (?P<more> .*\S )? )
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What a fence, a list item or a reference begins with.
_SPECIAL = frozenset("`~[cCwW-*+0123456789" + BLOCK_MARKS)
_QUOTES = "\"'`"
_PUNCTUATION = ".,;:!?…。、，；：！？" + _QUOTES
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<", "）": "（", "」": "「"}


def _file_reference(line: str) -> str:
    """The path in `[File: path]`, `Created: path` or `Wrote: path`; empty if there is none."""
    match = _REFERENCE.match(line)
    if not match:
        return ""
    if inside := match["inside"] or match["quoted"]:
        return inside.strip().strip(_QUOTES)
    path = _without_punctuation(match["word"].lstrip(_QUOTES))
    # "Created: a parser" is a sentence, so the word must look like a path.
    return path if not match["more"] or re.search(r"[./\\]", path) else ""


def _without_punctuation(word: str) -> str:
    """A bracket at the end belongs to the path if the path opens it: `app/[id]`, `copy(1)`."""
    unopened = {end: word.count(end) - word.count(start) for end, start in _BRACKETS.items()}
    length = len(word)
    while length and ((last := word[length - 1]) in _PUNCTUATION or unopened.get(last, 0) > 0):
        if last in unopened:
            unopened[last] -= 1
        length -= 1
    return word[:length]


_JSON_BLANK = " \t\r"
_TOKEN = re.compile(
    r"""[ \t\r]*+ (?:
      ([\[\]{},:])
    | ("(?: [^"\\\x00-\x1f]++ | \\(?: ["\\/bfnrt] | u[0-9a-fA-F]{4} ) )*+")
    | (-? (?: 0 | [1-9][0-9]*+ ) (?: \.[0-9]++ )?+ (?: [eE][-+]?[0-9]++ )?+)
    | (true | false | null)
    | \Z )""",
    re.VERBOSE,
).match
_MAX_DEPTH = 100  # json.loads recurses, and so does the code that writes the artifact

# The tokens allowed in each state, and the next state; for an opening bracket, the state after it is closed.
_KINDS = {2: "string", 3: "number", 4: "literal", None: "line end"}
_OPENING = {"[": "array", "{": "object"}
_VALUE = ("[", "{", "string", "number", "literal")
_GRAMMAR: dict[str, dict[str, str]] = {
    "start": {"[": "end", "{": "end"},
    "array": {**dict.fromkeys(_VALUE, "after item"), "]": "closed"},
    "item": dict.fromkeys(_VALUE, "after item"),
    "after item": {",": "item", "]": "closed"},
    "object": {"string": "after name", "}": "closed"},
    "name": {"string": "after name"},
    "after name": {":": "value"},
    "value": dict.fromkeys(_VALUE, "after value"),
    "after value": {",": "name", "}": "closed"},
    "end": {},
}


class _Open(NamedTuple):
    """An array or object that is not closed yet."""

    then: str  # the state when it is
    line: int | None  # the number of the line that it begins
    found: int  # how many values were found before it


class _JsonScan:
    """Finds the outermost values that fill whole lines, starting at a line that begins with a bracket.

    A string cannot cross the end of a line, so a value that begins a line is the same inside another value as
    alone. One pass is therefore enough: an error ends all open values, and complete ones remain.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.found: list[tuple[int, int]] = []  # first and last line
        self._state = "start"
        self._open: deque[_Open] = deque()

    @property
    def is_complete(self) -> bool:
        return self._state == "end"

    def take(self, line: str) -> bool:
        """Whether the line continues the value; only then it is added to `lines`."""
        state, position, closed = self._state, 0, None
        while token := _TOKEN(line, position):
            kind = token[1] or _KINDS[token.lastindex]
            if kind == "line end":
                break
            following = _GRAMMAR[state].get(kind)
            if following is None or (kind == "number" and math.isinf(float(token[3]))):
                return False
            closed = None
            if kind in _OPENING:
                self._open.append(_Open(following, None if position else len(self.lines), len(self.found)))
                following = _OPENING[kind]
                if len(self._open) > _MAX_DEPTH and not self._leave_outermost():
                    return False
            elif following == "closed":
                closed = self._open.pop()
                following = closed.then if self._open else "end"
            state, position = following, token.end()
        else:
            return False
        if closed and closed.line is not None:
            self.found[closed.found :] = [(closed.line, len(self.lines))]
        self.lines.append(line)
        self._state = state
        return True

    def _leave_outermost(self) -> bool:
        """Continue with the next inner value that begins a line, if there is one."""
        self._open.popleft()
        while self._open and self._open[0].line is None:
            self._open.popleft()
        return bool(self._open)
