"""The reference agent, which also writes each message that it is given to the file `$RECORD`."""

import os
import sys

from synapse.dummy_agent import script
from synapse.dummy_agent.__main__ import main
from synapse.dummy_agent.steps import Step

_steps = script.steps


def steps(message: str) -> list[Step]:
    with open(os.environ["RECORD"], "a") as file:
        file.write(message + "\n")
    return _steps(message)


if __name__ == "__main__":
    script.steps = steps
    sys.exit(main())
