"""The words for the state of a task."""

SUBMITTED, WORKING, INPUT_REQUIRED = "submitted", "working", "input_required"
COMPLETED, FAILED, CANCELED, REJECTED = "completed", "failed", "canceled", "rejected"
STATES = (SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELED, REJECTED)
END_STATES = frozenset((COMPLETED, FAILED, CANCELED, REJECTED))
