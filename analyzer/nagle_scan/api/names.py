"""Names that the user gives addresses: `--names` and `scan(names=...)`."""

from __future__ import annotations

import csv
import io
import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from nagle_scan import _core
from nagle_scan.system import files
from nagle_scan.words.wording import endpoint, printable

NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
"""A name is no longer than a label of DNS (RFC 1035, 2.3.4); no output has to escape it."""
HEX = r"(?<![0-9a-f])[0-9a-f]"
END = r"(?![0-9a-f])"
ADDRESS = re.compile(
    r"\d+([-._])\d+\1\d+\1\d+"  # ip-10-0-0-5
    rf"|{HEX}{{2}}([-._:])[0-9a-f]{{2}}(\2[0-9a-f]{{2}}){{4}}{END}"  # domU-12-31-39-00-A1-B2
    rf"|{HEX}{{4}}(\.[0-9a-f]{{4}}){{2}}{END}"  # 1231.3900.a1b2
    rf"|{HEX}{{1,4}}([-._:][0-9a-f]{{1,4}}){{7}}{END}"  # 2001-db8-0-0-0-0-0-5
    rf"|{HEX}{{1,4}}([-_][0-9a-f]{{1,4}})+(--|__)[0-9a-f]{{1,4}}"  # 2001-db8--5
    r"|::"  # fe80::5
    rf"|{HEX}{{12}}{END}|{HEX}{{32}}{END}",  # without signs between
    re.IGNORECASE,
)
"""An address of IPv4, IPv6 or a network card, as names spell it."""
MOST_BYTES = 16 << 20
"""More than any list of hosts."""
MOST_LEN = 100
"""Characters of an owner or a pod."""
WITH_PORT = re.compile(r"(\[(?P<v6>[^][]*)\]|(?P<v4>[^:]*)):(?P<port>[0-9]{1,5})", re.ASCII)
MOST_PORT = 65_535
Row: TypeAlias = tuple[str, Any, Mapping[str, Any]]
"""Its place in the file, an address, and texts by the names of `Label`."""


class Label(NamedTuple):
    """The user's names for an address, or for an address with its port."""

    service: str = ""
    owner: str = ""
    pod: str = ""

    @property
    def without_addresses(self) -> Label:
        """The parts that `--anonymize` may show."""
        return Label(*("" if ADDRESS.search(text) else text for text in self))


HEADS = ("address", *Label._fields)


def is_pair(text: str) -> bool:
    """Does it begin as `10.0.0.5=payments`? Else it is a file."""
    return re.match(r"[0-9a-fA-F.:]+=", text) is not None


def parsed(text: str) -> tuple[str, str]:
    """Address and name of `10.0.0.5=payments`. Raises `ValueError`."""
    addr, _, name = text.partition("=")
    return _checked(addr, name)


def checked(names: Mapping[str, str]) -> dict[str, str]:
    """`names` by address as the engine writes it. Raises `ValueError`."""
    return dict(_checked(addr, name) for addr, name in names.items())


def checked_labels(labels: Mapping[str, Label]) -> dict[str, Label]:
    """`labels` by address as fleets write it. Raises `ValueError`, and `TypeError` for no label."""
    if not all(isinstance(label, Label) for label in labels.values()):
        raise TypeError("labels is a mapping of addresses to Label")
    return dict(_labelled("labels", addr, label._asdict()) for addr, label in labels.items())


def without_addresses(names: Mapping[str, str]) -> dict[str, str]:
    """Names that `--anonymize` may show: without an address in them, unlike `ip-10-0-0-5`."""
    return {addr: name for addr, name in names.items() if not ADDRESS.search(name)}


def services(labels: Mapping[str, Label]) -> dict[str, str]:
    """The names of addresses without a port."""
    # IPv6 has more colons than one, and no brackets.
    return {
        addr: label.service
        for addr, label in labels.items()
        if label.service and addr.count(":") != 1 and addr[0] != "["
    }


def read(path: str) -> dict[str, str]:
    """The services in a file of `labels` of addresses without a port."""
    return services(labels(path))


def labels(path: str) -> dict[str, Label]:
    """Labels of addresses in a file, with or without a port (`[fe80::1]:80`): the first counts.

    `.csv` has the columns address, service, owner, pod; any other file has lines like /etc/hosts.

    Raises `NagleScanError` for a file or a line that cannot be used.
    """
    content = _content(path).removeprefix("\ufeff")
    rows = (_of_csv if path.lower().endswith(".csv") else _of_hosts)(content)
    found: dict[str, Label] = {}
    try:
        for place, addr, texts in rows:
            found.setdefault(*_labelled(place, addr, texts))
    except (ValueError, csv.Error) as error:
        raise _core.NagleScanError(f"{path}: {printable(str(error))}") from None
    return found


def _of_hosts(content: str) -> Iterator[Row]:
    for number, line in enumerate(content.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            # fe80::1%lo0: frames do not tell the interface.
            addr = words[0].partition("%")[0]
            yield f"line {number}", addr, dict(zip(["service"], words[1:], strict=False))


def _of_csv(content: str) -> Iterator[Row]:
    rows = csv.DictReader(io.StringIO(content, newline=""))
    if "address" not in (rows.fieldnames or ()):
        raise ValueError(f"line 1: no column 'address' ({', '.join(HEADS)})")
    for row in rows:
        yield f"line {rows.line_num}", row["address"], row


def _labelled(place: str, addr: object, texts: Mapping[str, object]) -> tuple[str, Label]:
    """Address and label of a row. Raises `ValueError` with its place."""
    try:
        label = Label(*(_text(name, texts.get(name)) for name in Label._fields))
        if label.service or not any(label):
            _check_name(label.service)
        return _endpoint(_text("address", addr)), label
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def _text(name: str, value: object) -> str:
    if not isinstance(value, str | None):
        raise ValueError(f"{name} is no text")
    text = (value or "").strip()
    if len(text) > MOST_LEN or not text.isprintable():
        raise ValueError(f"{name} is longer than {MOST_LEN} characters, or not printable")
    return text


def _endpoint(text: str) -> str:
    """`10.0.0.5`, `10.0.0.5:8443` or `[fe80::1]:80`, as fleets write them."""
    found = WITH_PORT.fullmatch(text)
    if found is None:
        return _ip(text)
    port = int(found["port"])
    if port > MOST_PORT:
        raise ValueError(f"{port} is no port")
    return endpoint(_ip(found["v6"] or found["v4"]), port)


def _checked(addr: str, name: str) -> tuple[str, str]:
    known = _ip(addr)
    _check_name(name)
    return known, name


def _ip(addr: str) -> str:
    try:
        return str(ipaddress.ip_address(addr))
    except ValueError:
        raise ValueError(f"'{printable(addr)}' is no IP address") from None


def _check_name(name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise ValueError(
            f"'{printable(name)}' is no name: 1 to 63 letters, digits, '.', '-' and '_'"
        )


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = files.reason_of(error)
        raise _core.NagleScanError(f"{path}: cannot read the names: {reason}") from None
    if len(content) > MOST_BYTES:
        raise _core.NagleScanError(f"{path}: too long for a list of names")
    return content.decode(errors="replace")
