"""What the kit wants of an agent, by the beginning of a message's id: a directive of the reference agent.

No agent sees the id of a message; this table stands between, and knows nothing of who plays it.
"""

from __future__ import annotations

MESSAGE = "message"  # answered without a task: no agent in a terminal can do that
# Nor this: files and data that are no part of what it says, a refusal, a question that holds nothing.
STAND_INS = frozenset(("file", "link", "data", "reject", "park"))
PREFIXES = (  # the first that fits
    ("tck-complete-task", "say Hello from TCK"),
    ("tck-artifact-text", "say Generated text content"),
    ("tck-artifact-file-url", "link https://example.com/output.txt output.txt text/plain"),
    ("tck-artifact-file", "file output.txt text/plain Generated file content"),
    ("tck-artifact-data", 'data {"key": "value", "count": 42}'),
    ("tck-message-response", MESSAGE),
    ("tck-input-required", "park What next?"),
    ("tck-reject-task", "reject rejected"),
    ("tck-stream-001", "pause 0.3 Stream hello from TCK"),
    ("tck-stream-002", "say done"),
    ("tck-stream-003", "pause 0.3 Stream task lifecycle"),
    ("tck-stream-ordering-001", "pause 0.3 Ordered output"),
    ("tck-stream-artifact-text", "pause 0.3 Streamed text content"),
    ("tck-stream-artifact-file", "file output.txt text/plain Streamed file content"),
    ("tck-stream-artifact-chunked", "pause 0.3 chunk-1 chunk-2"),
    ("test-resubscribe-message-id", "silent 4 done"),
)
DEFAULT = {"1.0": "say Hello from TCK", "0.3": "park What next?"}


def directive(message_id: str, kit: str) -> str:
    return next((words for prefix, words in PREFIXES if message_id.startswith(prefix)), DEFAULT[kit])
