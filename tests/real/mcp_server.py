"""A small MCP server over stdio: one tool, which writes its arguments into a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SERVER, TOOL = "notebook", "append_line"
ARGUMENTS = {"path": "book.txt", "line": "bought milk"}
LONG_ARGUMENTS = {"path": "book.txt", "line": "\n".join(f"line {n} of a long note" for n in range(1, 61))}
TAKEN = "taken.json"  # what the tool was called with
RESULT = "appended"

_TOOL = {
    "name": TOOL,
    "description": "Append a line to a notebook.",
    "inputSchema": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ARGUMENTS},
        "required": list(ARGUMENTS),
    },
}


def answer(method: str, params: dict[str, Any], folder: Path) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": SERVER, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [_TOOL]}
    if method == "tools/call":
        (folder / TAKEN).write_text(json.dumps(params["arguments"]))
        return {"content": [{"type": "text", "text": RESULT}]}
    return {}


def main() -> None:
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params") or {}, folder)
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
