"""Words for the ACK that a held segment waited for, in all reports and pictures."""

from typing import NamedTuple


class Acks(NamedTuple):
    """One kind of acknowledgements; `{other}` sends them, `{late}` is how late they came."""

    kind: str
    """Name in a table."""
    one: str
    """Words for a single one."""
    a: str
    """A single one, among words."""
    several: str
    """Words for those that many senders waited for."""
    reason: str
    """The reason why a sender waited: `{acks}`, one or several; `{timer}` explains their delay, and
    `{after}` is how long after the data they came."""
    until: str
    """The end of the wait that a picture shows."""
    plainly: str
    """The rest of '... until what came before is acknowledged', in plain words."""


DELAYED = Acks(
    kind="delayed",
    one="pure ACK, {late} late",
    a="a delayed ACK",
    several="delayed ACKs",
    reason="waiting for {acks} from {other} ({timer}).",
    until="until the {other}'s delayed ACK came",
    plainly=". The receiver, meanwhile, delays that ACK, hoping to send it along with a reply "
    "(delayed ACK). Both sides wait until the receiver's ACK timer fires.",
)
PROMPT = Acks(
    kind="not delayed",
    one="pure ACK, not delayed",
    a="a prompt ACK",
    several="prompt ACKs",
    reason="waiting a network round trip for {acks} from {other}.",
    until="for one round trip, until the {other}'s ACK came",
    plainly=": each such {message} costs an extra network round trip.",
)
UNMEASURED = Acks(
    kind="delayed, or a slow path",
    one="pure ACK, delayed or over a slow path",
    a="an ACK",
    several="ACKs",
    reason="waiting for {acks} from {other} after {after} (delayed, or a slow path: the round trip "
    "is not in this capture).",
    until="until the {other}'s ACK came",
    plainly=". Either the receiver delays that ACK, or the path to it is slow: the round trip is "
    "not in this capture.",
)
"""ACKs of a receiver with an unknown round trip."""
ON_DATA = Acks(
    kind="came with data",
    one="data that acknowledges it",
    a="data",
    several="ACKs that came with data",
    reason="waiting for data from {other} that acknowledged what came before.",
    until="until the {other}'s data acknowledged what came before",
    plainly=", and that comes only with the next data of the other side: what was meant to be sent "
    "ahead waits until the other side has answered.",
)
