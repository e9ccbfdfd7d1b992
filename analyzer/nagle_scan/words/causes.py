"""Everything Python knows about each cause, in one row; rows and order are those of the engine.

How a cause is recognised is documented in its Rust file, and by `nagle-scan --explain`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.words import colours


class Cause(NamedTuple):
    """One cause of waits."""

    name: str
    """In the engine, JSON, CSV and documentation alike."""
    happened: str
    """What happened, in one line of Markdown."""
    words: str
    """The same for a picture; `{by}` is who kept the other waiting."""
    meaning: Mapping[str, str]
    """What all its waits mean for their owner, by the side that kept the other waiting."""
    colour: str
    hatch: str = ""
    is_stall: bool = False
    ack_was_delayed: bool = False
    """The stall lasted until a delayed ACK came, so a faster ACK would have helped."""
    meaning_of_one: Mapping[str, str] | None = None
    """What a single wait means, where that is more specific."""
    meaning_midway: str = ""
    """What a wait means in the middle of what `{by}` sent."""
    meaning_unseen: str = ""
    """What it means if packets are missing that `{by}` sent: lost on their way to the capture."""


def _both(text: str) -> dict[str, str]:
    return {"client": text, "server": text}


CAUSES = (
    Cause(
        name="connect",
        happened="the connection took long to come about: a SYN was sent again, or answered late",
        words="connecting",
        meaning={
            "client": "a SYN or its answer was lost: look for loss, firewalls that drop and full "
            "accept queues",
            "server": "a SYN was answered late, or the answer was lost: look at the server's load "
            "and accept queue, and at what it connects to first",
        },
        colour=colours.DARK,
        hatch="..",
    ),
    Cause(
        name="retransmission",
        happened="bytes were lost and sent again",
        words="lost, sent again",
        meaning=_both("packets were lost: look at interface errors, queues and policers"),
        colour=colours.DARK,
        hatch="xx",
        meaning_unseen="lost before the capture point, between the {by} and where the capture was "
        "taken: look there for interface errors, queues and policers",
    ),
    Cause(
        name="zero_window",
        happened="the receiver had no room",
        words="receiver had no room",
        meaning=_both("the receiving program did not read, or its receive buffer is small"),
        colour=colours.CLIENT,
        hatch="\\\\",
    ),
    Cause(
        name="passed_on",
        happened="the program passed on what had just arrived on another of its connections: the "
        "time was lost there",
        words="the {by} passed on what had just arrived",
        meaning=_both(
            "a relay: it sent at once what arrived on another of its connections; look there"
        ),
        colour=colours.PALE,
        hatch="..",
    ),
    Cause(
        name="nagle_delack",
        happened="a small segment was held until a **delayed** ACK came: the timer is lost on any "
        "network",
        words="held until a delayed ACK came",
        meaning=_both("Nagle's algorithm held a small segment until a delayed ACK came"),
        colour=colours.HELD,
        is_stall=True,
        ack_was_delayed=True,
    ),
    Cause(
        name="slow_link",
        happened="a slow link took that long to send on what it was given at once",
        words="a slow link sent",
        meaning=_both(
            "a link or shaper on the path sends no faster: send fewer bytes, or have a faster link"
        ),
        colour=colours.DARK,
        hatch="--",
    ),
    Cause(
        name="nagle_rtt",
        happened="it was held until a prompt ACK came: a round trip is lost on each message",
        words="held for one round trip",
        meaning=_both("Nagle's algorithm held a small segment for one round trip"),
        colour=colours.HELD_ONE_ROUND_TRIP,
        hatch="//",
        is_stall=True,
    ),
    Cause(
        name="stop_and_wait",
        happened="the sender has one segment in flight at most, and waited for its ACK",
        words="one segment at a time",
        meaning=_both(
            "the sender waits for the ACK of each segment, full-sized ones too: enlarge its send "
            "buffer; TCP_NODELAY does not help"
        ),
        colour=colours.CLIENT,
        hatch="oo",
    ),
    Cause(
        name="congestion_window",
        happened="the sender waited for ACKs before it could send more",
        words="congestion window",
        meaning=_both("slow start: keep connections open, or send less at once"),
        colour=colours.CLIENT,
        hatch="++",
    ),
    Cause(
        name="delayed_ack",
        happened="an ACK came late, and no held segment waited for it",
        words="ACK delayed, nothing held",
        meaning=_both("harmless unless the sender waits for it (one segment in flight)"),
        colour=colours.ACK,
        hatch="--",
    ),
    Cause(
        name="cork",
        happened="`TCP_CORK` or `MSG_MORE` held a small segment for 200 ms",
        words="held by a cork",
        meaning=_both(
            "the kernel waited 200 ms for more data: clear TCP_CORK after each message, or leave "
            "out MSG_MORE with its last piece (a timer of the program could look the same)"
        ),
        colour=colours.ACK,
        hatch="..",
    ),
    Cause(
        name="sender_app",
        happened="the program had nothing to send: think time, queueing, a pause",
        words="the {by} had nothing to send",
        meaning={
            "client": "the client had nothing to send: idle between two requests, or paused",
            "server": "the server worked on a request, was too busy, or paused while it "
            "answered: look into the program, not at the network",
        },
        colour=colours.PALE,
        meaning_of_one={
            "client": "the client was idle between two requests",
            "server": "the server worked on the request, or was too busy: look there, not at "
            "the network",
        },
        meaning_midway="the {by} paused in the middle of what it sent",
    ),
    Cause(
        name="unknown",
        happened="the capture does not tell",
        words="cause unknown",
        meaning=_both("the capture does not tell: capture both directions, at the host that waits"),
        colour=colours.OTHER,
        hatch="||",
        meaning_unseen="lost before the capture, or the program: a packet of the {by} is missing; "
        "capture at the {by}",
    ),
)
"""In the order in which the engine asks."""

_BY_NAME = {cause.name: cause for cause in CAUSES}


def of(name: str) -> Cause:
    """The cause of this name."""
    return _BY_NAME[name]


def stalls_first() -> list[Cause]:
    """All causes, those that are stalls before the others."""
    return sorted(CAUSES, key=lambda cause: not cause.is_stall)


def meaning_of_all(row: _core.CauseRow) -> str:
    """What all waits of one cause and side mean for their owner."""
    return of(row.cause).meaning[row.by]


def meaning_of(wait: _core.WaitRow) -> str:
    """What one wait means for its owner."""
    cause = of(wait.cause)
    if cause.meaning_unseen and wait.lost_before_capture in (True, None):
        return cause.meaning_unseen.format(by=wait.by)
    if cause.meaning_midway and wait.own_data_before:
        return cause.meaning_midway.format(by=wait.by)
    return (cause.meaning_of_one or cause.meaning)[wait.by]
