"""What a command prints: JSON, or lines of text."""

import json
from collections.abc import Iterable

from synapse.base.text import for_output


def question(prompt: dict[str, object] | None) -> str:
    text, options = (prompt or {}).get("prompt") or "", (prompt or {}).get("options")
    offered = f" [{', '.join(map(str, options))}]" if isinstance(options, list) and options else ""
    return for_output(f"{text}{offered}")


def print_json(document: object) -> None:
    print(json.dumps(document, ensure_ascii=False, indent=2))


def show(as_json: bool, document: object, lines: Iterable[str]) -> int:
    """Print the document, or the lines if JSON is not wanted. Returns the exit status of success."""
    if as_json:
        print_json(document)
    else:
        for line in lines:
            print(line)
    return 0
