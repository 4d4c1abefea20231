"""SHA-256 without OpenSSL: `hashlib` loads it, 2.5 MB of every relay's memory for two short strings."""

try:
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]  # CPython 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]  # CPython 3.11
    except ImportError:
        from hashlib import sha256


def sha256_hex(text: str) -> str:
    return str(sha256(text.encode("utf-8", "surrogateescape")).hexdigest())
