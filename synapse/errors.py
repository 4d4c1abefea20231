"""Errors that reach a person.

SynapseError                 1  something failed
├── UsageError               2  the command, a file or an option is wrong
│   ├── ProfileError            a profile is missing or invalid
│   └── ConfigError             config.yaml or a SYNAPSE_* variable is invalid
├── TargetError              3  the agent has ended, or the name fits more than one
│   └── NoSuchAgent             no agent with that name is running
├── Refused                  1  an agent did not accept what it was sent
└── WaitTimeout              4  the reply did not come in time

Each carries one sentence to print, "<what is wrong>: <next step>.", and the exit status of the command.
"""


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


class WaitTimeout(SynapseError):
    exit_status = 4
