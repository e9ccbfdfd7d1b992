"""What the user calls addresses: `--name`, `--names` and `scan(names=...)`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping

from nagle_scan import _core
from nagle_scan.system import files
from nagle_scan.words.wording import printable

NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
"""As long as a label of DNS (RFC 1035, 2.3.4); no output has to escape it."""
HEX = r"(?<![0-9a-f])[0-9a-f]"
END = r"(?![0-9a-f])"
ADDRESS = re.compile(
    r"\d+([-._])\d+\1\d+\1\d+"  # ip-10-0-0-5
    rf"|{HEX}{{2}}([-._])[0-9a-f]{{2}}(\2[0-9a-f]{{2}}){{4}}{END}"  # domU-12-31-39-00-A1-B2
    rf"|{HEX}{{4}}(\.[0-9a-f]{{4}}){{2}}{END}"  # 1231.3900.a1b2
    rf"|{HEX}{{1,4}}([-._][0-9a-f]{{1,4}}){{7}}{END}"  # 2001-db8-0-0-0-0-0-5
    rf"|{HEX}{{1,4}}([-_][0-9a-f]{{1,4}})+(--|__)[0-9a-f]{{1,4}}"  # 2001-db8--5
    rf"|{HEX}{{12}}{END}|{HEX}{{32}}{END}",  # without signs between
    re.IGNORECASE,
)
"""An address of IPv4, IPv6 or a network card, as names spell it."""
MOST_BYTES = 16 << 20
"""More than any list of hosts."""


def parsed(text: str) -> tuple[str, str]:
    """Address and name of `10.0.0.5=payments`. Raises `ValueError`."""
    addr, equals, name = text.partition("=")
    if not equals:
        raise ValueError("expected ADDRESS=NAME: 10.0.0.5=payments")
    return _checked(addr, name)


def checked(names: Mapping[str, str]) -> dict[str, str]:
    """`names` by address as the engine writes it. Raises `ValueError`."""
    return dict(_checked(addr, name) for addr, name in names.items())


def without_addresses(names: Mapping[str, str]) -> dict[str, str]:
    """Those without an address in them, as in `ip-10-0-0-5`: what `--anonymize` may show."""
    return {addr: name for addr, name in names.items() if not ADDRESS.search(name)}


def read(path: str) -> dict[str, str]:
    """The names in a file of lines like those of /etc/hosts: the first of an address counts.

    Raises `NagleScanError` for a file or a line that cannot be used.
    """
    names: dict[str, str] = {}
    for number, line in enumerate(_content(path).splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        # fe80::1%lo0: frames do not tell the interface.
        addr = words[0].partition("%")[0]
        try:
            addr, name = _checked(addr, words[1] if len(words) > 1 else "")
        except ValueError as error:
            raise _core.NagleScanError(f"{path}: line {number}: {error}") from None
        names.setdefault(addr, name)
    return names


def _checked(addr: str, name: str) -> tuple[str, str]:
    try:
        known = ipaddress.ip_address(addr)
    except ValueError:
        raise ValueError(f"'{printable(addr)}' is no IP address") from None
    if NAME.fullmatch(name) is None:
        raise ValueError(
            f"'{printable(name)}' is no name: 1 to 63 letters, digits, '.', '-' and '_'"
        )
    return str(known), name


def _content(path: str) -> str:
    try:
        content = files.small(path, MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = files.reason_of(error)
        raise _core.NagleScanError(f"{path}: cannot read the names: {reason}") from None
    if len(content) > MOST_BYTES:
        raise _core.NagleScanError(f"{path}: too long for a list of names")
    return content.decode(errors="replace")
