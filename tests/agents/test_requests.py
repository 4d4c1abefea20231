"""What a tool would do, in a line and in full."""

from __future__ import annotations

import json

import pytest

from synapse.agents.requests import tool_request

PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Delete File: b.txt\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "given", "subject", "detail"),
    [
        ("Bash", {"command": "ls", "description": "List"}, "ls", "ls\n\nList"),
        ("exec_command", json.dumps({"cmd": "ls -l"}), "ls -l", "ls -l"),
        ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "ls | wc", "ls | wc"),
        ("shell", {"command": ["rm", "a b"]}, "rm 'a b'", "rm 'a b'"),
        ("apply_patch", PATCH, "apply_patch: add a.txt, delete b.txt", PATCH),
        (
            "exec_command",
            {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"},
            "apply_patch: add a.txt, delete b.txt",
            f"apply_patch <<'EOF'\n{PATCH}\nEOF",
        ),
        (
            "Edit",
            {"file_path": "/w/a", "old_string": "42", "new_string": "43"},
            "Edit /w/a",
            "Edit /w/a\n\n- 42\n+ 43",
        ),
        (
            "WebFetch",
            {"url": "https://example.com", "prompt": "what is it"},
            "WebFetch https://example.com",
            "WebFetch https://example.com\n\nwhat is it",
        ),
        ("mcp__git__push", {"force": True}, 'git: push {"force": true}', "git: push\n\nforce: true"),
        (  # whatever its arguments are called
            "mcp__box__start",
            {"command": "rm x", "path": "/w"},
            'box: start {"command": "rm x", "path": "/w"}',
            "box: start\n\ncommand: rm x\npath: /w",
        ),
        ("mcp__box__stop", None, "box: stop", "box: stop"),
        ("ExitPlanMode", {"plan": "# One\ntwo"}, "the plan: # One … (2 lines)", "# One\ntwo"),
    ],
)
def test_subject_and_detail(name: str, given: object, subject: str, detail: str) -> None:
    request = tool_request(name, given)
    assert request is not None and (request.subject, request.detail) == (subject, detail)


@pytest.mark.parametrize("given", [None, {}, [], "", "[" * 9999, {"command": 5}, {"file_path": None}])
def test_nothing_that_a_program_writes_makes_it_fail(given: object) -> None:
    tool_request("Bash", given)
    assert tool_request("AskUserQuestion", given) is None and tool_request("", given) is None
