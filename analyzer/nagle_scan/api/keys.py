"""The key of `--anonymize`: from the environment, where `ps` does not show it."""

from __future__ import annotations

import os

from nagle_scan import _core

KEY_LEN = 32
VARIABLE = "NAGLE_SCAN_KEY"


def checked(key: bytes) -> bytes:
    """`key`, if the scheme accepts it. Raises `ValueError`, `TypeError`."""
    if not isinstance(key, bytes):
        raise TypeError(f"anonymize is a key of {KEY_LEN} bytes, not {type(key).__name__}")
    if len(key) != KEY_LEN:
        raise ValueError(f"the key must have {KEY_LEN} bytes, not {len(key)}")
    if key[: KEY_LEN // 2] == key[KEY_LEN // 2 :]:
        raise ValueError("the two halves of the key must differ")
    return key


def find() -> bytes | None:
    """The key in `NAGLE_SCAN_KEY`; `None` without one.

    Raises `NagleScanError` for one that cannot be used; the message does not show it.
    """
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    try:
        return checked(bytes.fromhex(text))
    except ValueError:
        raise _core.NagleScanError(
            f"the variable {VARIABLE}: a key is {2 * KEY_LEN} hexadecimal digits (openssl rand "
            f"-hex {KEY_LEN}) whose halves differ"
        ) from None


def random() -> bytes:
    """A key that nobody keeps: no other run gives the same replacements."""
    return os.urandom(KEY_LEN)
