"""Errors that reach a person.

SynapseError                 1  something failed
├── UsageError               2  the command, a file or an option is wrong
│   ├── ProfileError            a profile is missing or invalid
│   └── ConfigError             config.yaml or a SYNAPSE_* variable is invalid
├── TargetError              3  the agent has ended, or the name fits more than one
│   └── NoSuchAgent             no agent with that name is running
├── Refused                  1  an agent did not accept what it was sent
├── TaskFailed               1  a task has ended without a reply
├── AgentAsks                5  a task waits for an answer
├── StepFailed               1  a step of a run has no reply
│   └── OverBudget              the run may not ask any more
└── WaitTimeout              4  the reply did not come in time

Each carries one sentence to print, "<what is wrong>: <next step>.", and the exit status of the command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SynapseError(Exception):
    exit_status = 1


class UsageError(SynapseError):
    exit_status = 2


class ProfileError(UsageError):
    pass


class ConfigError(UsageError):
    pass


class TargetError(SynapseError):
    exit_status = 3


class NoSuchAgent(TargetError):
    pass


class Refused(SynapseError):
    """`code` is the error code that the agent gave."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


class TaskFailed(SynapseError):
    """`task` is an A2ATask that has failed or was canceled; `code` is the code of its error."""

    def __init__(self, sentence: str, task: Any, code: str = "") -> None:
        super().__init__(sentence)
        self.task = task
        self.code = code


class AgentAsks(SynapseError):
    """`task` is an A2ATask; its `prompt` is the question."""

    exit_status = 5

    def __init__(self, sentence: str, task: Any) -> None:
        super().__init__(sentence)
        self.task = task


class StepFailed(SynapseError):
    """`key` names the step. The error that it failed with is its cause."""

    def __init__(self, sentence: str, key: str = "") -> None:
        super().__init__(sentence)
        self.key = key


class OverBudget(StepFailed):
    pass


class WaitTimeout(SynapseError):
    exit_status = 4
