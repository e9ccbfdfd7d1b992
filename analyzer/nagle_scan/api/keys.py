"""The key of `--anonymize`: from a file or the environment, where `ps` does not show it."""

from __future__ import annotations

import os

from nagle_scan import _core
from nagle_scan.system import files

KEY_LEN = 32
VARIABLE = "NAGLE_SCAN_KEY"
MOST_BYTES = 1024
"""More than any key."""


def checked(key: bytes) -> bytes:
    """`key`, if the scheme accepts it. Raises `ValueError`."""
    if len(key) != KEY_LEN:
        raise ValueError(f"the key must have {KEY_LEN} bytes, not {len(key)}")
    if key[: KEY_LEN // 2] == key[KEY_LEN // 2 :]:
        raise ValueError("the two halves of the key must differ")
    return key


def find(path: str | None) -> bytes | None:
    """The key in `path`, else the one in `NAGLE_SCAN_KEY`; `None` if neither is given.

    Raises `NagleScanError` for one that cannot be used; the message does not show it.
    """
    if path is not None:
        return _parsed(_content(path), path)
    if text := os.environ.get(VARIABLE):
        return _parsed(text.encode(errors="surrogateescape"), f"the variable {VARIABLE}")
    return None


def random() -> bytes:
    """A key that nobody keeps: no other run gives the same replacements."""
    return os.urandom(KEY_LEN)


def _content(path: str) -> bytes:
    try:
        return files.small(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = files.reason_of(error)
        raise _core.NagleScanError(f"{path}: cannot read the key: {reason}") from None


def _parsed(content: bytes, where: str) -> bytes:
    try:
        return checked(bytes.fromhex(content.decode()))
    except ValueError:
        raise _core.NagleScanError(
            f"{where}: a key is {2 * KEY_LEN} hexadecimal digits (openssl rand -hex {KEY_LEN}) "
            "whose halves differ"
        ) from None
