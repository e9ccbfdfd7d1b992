"""The protocol of a server: from what is sent on its connections, else from its port."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.messages.payloads import PayloadPair
from nagle_scan.messages.protocols import SERVICES

if TYPE_CHECKING:
    from nagle_scan.messages.framings import Split

MAX_BYTES = 1024
"""Enough for the head of a message; patterns need not be linear in more."""


class Sample(NamedTuple):
    """A few stalls of one sender, as examples of its protocol."""

    server_port: int
    by_client: bool
    pairs: Sequence[PayloadPair] = ()
    """The payloads, as far as they were captured."""
    first_reply: bytes = b""
    """The server's, or the end of it."""
    cut_at: int = 0
    """Captured bytes of frames too short to recognise their messages; 0 if none was cut."""

    @property
    def sent(self) -> list[bytes]:
        """First bytes of what the sender sent."""
        seen = [payload for pair in self.pairs for payload in (pair.unacked, pair.held)]
        seen += [] if self.by_client else [self.first_reply]
        return [payload[:MAX_BYTES] for payload in seen]


HTTP_START = r"HTTP/1\.[01] |[A-Z]{3,16} \S{1,900} HTTP/1\.[01]\r\n"


class Named(NamedTuple):
    """A protocol, how it is known, and whether its messages leave no doubt; empty if unknown."""

    name: str = ""
    known_by: str = ""
    is_sure: bool = False


def service_of(sample: Sample) -> Named:
    """The protocol of these connections."""
    spoken, by_port = _spoken(sample), _by_port(sample.server_port)
    # The port may say which protocol TLS hides.
    if spoken.name == "TLS" and by_port.name:
        return by_port._replace(known_by=f"{spoken.known_by} {by_port.known_by}", is_sure=True)
    return spoken if spoken.name else by_port


def _spoken(sample: Sample) -> Named:
    messages = [*sample.sent, sample.first_reply[:MAX_BYTES]]
    for service in SERVICES:
        if service.begins and any(map(service.begins, messages)):
            return _speaks(service.name)
    if any(map(is_http, messages)):
        return _speaks("HTTP")
    return _recognised(recognised(sample))


def recognised(sample: Sample) -> "list[Split | None]":
    """Where the messages of each pair were split."""
    return [recognise(pair) for pair in sample.pairs]


def recognise(pair: PayloadPair) -> "Split | None":
    """Where a message was split; `None` if unknown. What is sure comes first."""
    # Most calls of the command need none of them, and patterns take long to compile.
    from nagle_scan.messages import framings

    binary = framings.recognise(pair)
    is_text = b" " < pair.unacked[:1] <= b"~"
    if not is_text or (binary is not None and binary.is_sure):
        return binary
    from nagle_scan.messages import texts

    return texts.recognise(pair) or binary


def _recognised(splits: "Sequence[Split | None]") -> Named:
    """A likeness counts only where every pair has it."""
    names = {service.name for service in SERVICES}
    for one in splits:
        if one is not None and one.is_sure and one.protocol in names:
            return _speaks(one.protocol)
    protocols = {one.protocol if one else "" for one in splits}
    (name,) = protocols if len(protocols) == 1 else ("",)
    return Named(name, f"It looks like {name}.") if name in names else Named()


def _speaks(name: str) -> Named:
    return Named(name, f"It speaks {name}.", is_sure=True)


def _by_port(port: int) -> Named:
    for service in SERVICES:
        if port in service.ports:
            # 'Cassandra's default' names it already.
            known = f"{service.name} ({service.registry})"
            named = service.registry if service.name in service.registry else known
            return Named(service.name, f"Port {port} is {named}.")
    return Named()


def is_http(message: bytes) -> bool:
    """Does an HTTP/1 request or reply begin here? Its first line may be cut."""
    return message.startswith(b"HTTP/1.") or b" HTTP/1." in message.split(b"\r\n", 1)[0]


def ends_http_head(message: bytes) -> bool:
    """Does an HTTP head that begins here end with the segment?"""
    return is_http(message) and message.endswith(b"\r\n\r\n")


def http_heads(messages: Sequence[bytes]) -> list[str]:
    """The different heads of messages that begin with a whole first line of HTTP/1."""
    begun = {message.split(b"\r\n\r\n", 1)[0]: None for message in messages if is_http(message)}
    heads = [head.decode("latin-1") + "\r\n" for head in begun]
    return [head for head in heads if re.match(HTTP_START, head)]
