"""A program's setting."""

import re
from typing import NamedTuple


class Setting(NamedTuple):
    """A program's setting for TCP_NODELAY, and the signs of that program in a capture.

    One of `service`, `server`, `agent` and `head` suffices.
    """

    program: str
    """Its usual name."""
    knob: str
    """The setting or call, as it is written."""
    source: str
    """Where this was read: an address, owner/repository#number or owner/repository:path."""
    note: str = ""
    """When it is not needed, or what to look for instead."""
    role: str = ""
    """Only if this end holds data: "client" or "server"."""
    service: str = ""
    """Only where this is spoken, by the messages or the port: the name of a `Service`."""
    server: tuple[str, ...] = ()
    """Beginnings of the value of an HTTP Server header."""
    agent: tuple[str, ...] = ()
    """Beginnings of the value of an HTTP User-Agent header."""
    head: str = ""
    """A regular expression for the first bytes of a message."""

    def __str__(self) -> str:
        """Program, setting, note and source in one line."""
        note = f"{self.note}; " if self.note else ""
        return f"{self.program}: {self.knob} ({note}{self.source})"

    @property
    def label(self) -> str:
        """The text of a link to the source: the host of the page, or the repository."""
        host = re.match(r"https://([^/]+)", self.source)
        return host[1] if host else re.split("[#:]", self.source)[0]

    @property
    def address(self) -> str:
        """Where the source can be read."""
        repository = re.fullmatch(r"([\w.-]+/[\w.-]+)([#:])(.+)", self.source)
        if repository is None:
            return self.source
        name, kind, rest = repository.groups()
        place = f"issues/{rest}" if kind == "#" else f"blob/HEAD/{rest}"
        return f"https://github.com/{name}/{place}"
