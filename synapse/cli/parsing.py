"""A parser whose complaints are one sentence, as all of Synapse's are."""

from __future__ import annotations

import argparse
from typing import NoReturn

from synapse.errors import UsageError


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")
