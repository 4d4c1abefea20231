"""The token that requests to an agent must carry: where it comes from."""

import os
import stat
import sys

from synapse.errors import UsageError

VARIABLE = "SYNAPSE_TOKEN"
LONGEST = 4096


def take_token(given: str | None, file: str | None) -> str | None:
    """From `--token`, `--token-file` or the environment, from which it is removed: no agent inherits it."""
    inherited = os.environ.pop(VARIABLE, None)
    if file is None:
        if given is not None:
            return _check(given, "--token")
        return _check(inherited, VARIABLE) if inherited else None
    if given is not None:
        raise UsageError("there are two tokens, from --token and from --token-file: leave one of them out.")
    return _check(_read(file), file)


def take_secret(source: str) -> str:
    """A secret that is never an argument: from a file of ours, from the variable NAME with `env:NAME`, or
    from the first line of standard input with `-`."""
    if source == "-":
        return _check(_typed(), "what standard input has")
    if source.startswith("env:"):
        return _check(os.environ.get(source[4:], "").strip(), source)
    return _check(_read(source), source)


def _typed() -> str:
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass("secret (not shown): ").strip()
    return sys.stdin.readline().strip()


def _read(path: str) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # do not wait for a writer of a FIFO
        try:
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
                raise UsageError(
                    f"{path} must be a file of yours that nobody else can read: "
                    f"run `chmod 600 {path}`, and make a new token if others may have seen it."
                )
            data = os.read(fd, LONGEST + 2)
        finally:
            os.close(fd)
    except OSError as error:
        raise UsageError(
            f"cannot read the token file {path} ({error.strerror}): name a file that you can read."
        ) from error
    return data.decode("latin-1").strip()


def _check(token: str, source: str) -> str:
    """The error never shows the token."""
    if not token:
        raise UsageError(f"{source} is empty: put a long random word there.")
    if len(token) > LONGEST or not all("!" <= character <= "~" for character in token):
        raise UsageError(
            f"{source} is not a token that a header can carry: "
            f"use up to {LONGEST} letters, digits and signs, without spaces."
        )
    return token
