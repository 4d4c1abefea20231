"""Errors that reach a person.

SynapseError                 1  something failed
├── UsageError               2  the command, a file or an option is wrong
│   ├── ProfileError            a profile is missing or invalid
│   └── ConfigError             config.yaml or a SYNAPSE_* variable is invalid
├── TargetError              3  an agent that is gone, or could be more than one
│   └── NoSuchAgent             nobody is running under that name
├── Refused                  1  an agent did not take what it was sent
└── WaitTimeout              4  waited long enough

Each carries the one sentence to print, next step included, and the exit status of a command it ends.
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
    """`code` names the kind, as the agent has it."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code


class WaitTimeout(SynapseError):
    exit_status = 4
