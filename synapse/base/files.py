"""Files that are replaced as a whole: a reader sees the old content or the new, never a part of it."""

import os


def replace(path: str, content: bytes, mode: int = 0o600) -> None:
    """Write a temporary file beside `path`, then rename it to `path`.

    Raises OSError; `path` is then as it was, and the temporary file is removed. Nothing is flushed to the
    disk: after a power failure the content may be the old one.
    """
    temporary = os.path.join(os.path.dirname(path), f".{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass  # the first error is the one to report
        raise
