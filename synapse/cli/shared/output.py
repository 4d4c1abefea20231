"""What a command prints: JSON, or lines of text."""

import json
from collections.abc import Iterable


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
