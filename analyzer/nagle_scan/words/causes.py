"""Everything Python knows about each cause, in one row; rows and order are those of the engine.

How a cause is recognised is documented in its Rust file, and by `nagle-scan --explain`.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from nagle_scan import _core
from nagle_scan.words import colours
from nagle_scan.words.acks import DELAYED, ON_DATA, PROMPT, UNMEASURED, Acks
from nagle_scan.words.wording import count, duration


class Cause(NamedTuple):
    """One cause of waits."""

    name: str
    """In the engine, JSON, CSV and documentation alike."""
    words: str
    """The event, for a picture; `{by}` is the side that kept the other waiting."""
    colour: str
    meaning: Mapping[str, str] = {}
    """Meaning of all its waits, by the side that kept the other waiting; none of a stall."""
    hatch: str = ""
    acks: Acks | None = None
    """The ACK that ended it, if it is a stall."""
    meaning_of_one: Mapping[str, str] = {}
    """Meaning of a single wait, by the same side, where that is more specific."""
    by_turn: Mapping[str, Mapping[str, str]] = {}
    """Meaning by turn, in the engine's words, and by the same side: `midway` between two
    sends of it, `idle` where no request was open, `first` before the first request of the
    capture, `open` if the capture ended first."""
    meaning_unseen: str = ""
    """Meaning if packets from `{by}` are missing: lost before the capture point."""

    @property
    def is_stall(self) -> bool:
        """Did Nagle's algorithm hold a segment?"""
        return self.acks is not None

    @property
    def ack_was_delayed(self) -> bool:
        """Did the stall end with a delayed ACK, so that a faster one would have helped?"""
        return self.acks is DELAYED


EXPLAINED_ONE_BY_ONE = {"connect", "passed_on", "unanswered"}
"""Causes of waits with different remedies: the longest wait stands for them."""
RELAYED = "{} forwarded at once what had arrived in tcp.stream {} ({}): look there"
IDLE = ("sender_app", "client")
"""Cause and sender of a wait that keeps nobody waiting: a client between two requests."""
HARMLESS = {IDLE, ("delayed_ack", "client"), ("delayed_ack", "server")}
"""Waits that delay nobody: an idle client, an ACK that nothing waited for."""


def _both(text: str) -> dict[str, str]:
    return {"client": text, "server": text}


ENDINGS = {
    "capture": "when the capture ended",
    "client_fin": "when the client closed the connection in frame {frame}",
    "server_fin": "when the server closed the connection in frame {frame}",
    "client_reset": "when the client reset the connection in frame {frame}",
    "server_reset": "when the server reset the connection in frame {frame}",
    "asked_again": "when the client asked again in frame {frame}",
    "ports_reused": "when its ports were used again in frame {frame}",
}
"""The end of a wait for something that never came, by the engine's name."""
DROPPED = (
    "what was sent arrives at the {by}'s host, which drops it (checksum, firewall, full buffer)"
)
SILENT = (
    "what was sent arrives at the {by}'s host, of which nothing is heard since: it hangs, or drops "
    "it (checksum, firewall, full buffer)"
)
GONE = "lost on its way, or the host is gone"
ALIVE = (
    "the {by}'s host was heard of since, and did not take it (a full accept queue, a firewall, "
    "checksums), or all of it was lost on its way"
)
SYN_AGAIN = (
    "the server sent its SYN-ACK again, though the client had acknowledged it: the ACK was lost, "
    "or the server's accept queue is full; look whether its program accepts connections"
)
FORGOTTEN = (
    "its host is gone, or a firewall or NAT forgot the connection; send keep-alives more often"
)
OWED = {
    "no_ack_at_all": "{len:,} bytes in flight, the last of them sent in frame {frame}, were still "
    "not acknowledged by the {by} {end}: {why}",
    "no_handshake": "the handshake was still not complete {end}: the {by} had not answered frame "
    "{frame}; look for firewalls that drop packets, and whether the host is up",
    "no_first_word": "neither end had sent data {end}, though the connection was opened in frame "
    "{frame}: a spare connection, or each waits for the other",
    "no_close": "the {by} had still not closed the connection {end}, though the other end had: its "
    "program still works on something, or forgot the connection",
    "no_answer_to_probes": "the {by} had still not answered keep-alives {end}, the first of them "
    "in frame {frame}: {why}",
}
"""Words for a debt at the end of a connection or the capture, by the row of the ledger.
The rest of a message has its own."""
TURNED_DOWN = {
    "refused": "the SYN was refused with RST, and sent again; look whether the program listens "
    "there",
    "old_connection": "the server answered the SYN for an older connection that it still had "
    "between these ports (a challenge ACK), and the client reset that first; nothing was lost",
    "answer_lost": "the SYN was sent again though its answer had passed the capture point: the "
    "SYN-ACK was lost on its way to the client, or took longer than that waits",
}
"""Why a SYN was sent again though the other end had heard it."""
UNANSWERED_SYNS = {
    "client": "the SYN was sent {times} and never answered; look for firewalls that drop packets, "
    "and whether the host is up",
    "server": "the answer to the SYN was sent {times} and never acknowledged; look for what drops "
    "it on its way to the client, or for SYNs with made-up addresses",
}
"""Facts about a connection that was never established, by who sent its SYN again."""
ELIDED = "rows of the text are missing around it: paste all rows of the connection"
RESENT_REMEDY = "look at interface errors, queues and policers"
BY_ROW = {
    "resent_again": "sent again, and not for the first time: more than one packet is lost on the "
    f"way, or nothing comes back; {RESENT_REMEDY}",
    "resent_by_timer": "sent again when a timer ran out: the data or its ACK was lost, with "
    f"nothing behind it that told so sooner; {RESENT_REMEDY}",
    "resent_early": "sent again sooner than a retransmission timer runs out, by duplicate ACKs, "
    f"SACK or a probe for lost tails; {RESENT_REMEDY}",
    "late_ack_of_full_segment": "a full-sized segment waited for this late ACK, by the window or "
    "the program: acknowledge sooner there, or keep more in flight here",
    "corked": "the {by}'s program said that more was to come (MSG_MORE, TCP_CORK), and the kernel "
    "waited for that: take it away from the last piece",
    "update_lost": "room was announced again, and the {by} went on probing a closed window: the "
    "update was lost on its way, or not taken",
    "missing_bytes": "bytes are missing from the capture around it: capture again without drops, "
    "with a larger buffer or a filter",
    "unseen_acks": "the ACKs of the other side were not captured: capture both directions",
    "late_or_clock": "by the {by}'s own clock (TCP timestamps) it had left long before: it was "
    "held up on its way, or the capture's clock was set",
    "two_clocks": "segments appear after their ACKs: capture both directions on one interface, "
    "with one clock",
    "no_ack": "more could have been sent: the {by}'s program, its pacing or a slow link; a capture "
    "on the {by} would tell",
}
"""Meaning of a wait by its row of the ledger, where that says more than its cause."""
MAY_BE_HELD = "held by Nagle's algorithm, or the {by} paused: the capture cannot tell"
FORGOTTEN_AFTER_MS = 60_000.0
"""NAT and firewalls forget connections without packets, many of them after minutes (RFC 5382,
section 5, asks for two hours)."""

CAUSES = (
    Cause(
        name="connect",
        words="connecting",
        meaning={
            "client": "a SYN was sent again: it or its answer was lost, nobody answered, or the "
            "port refused it",
            "server": "a SYN was answered late, or the answer was lost; look at the server's load "
            "and accept queue, and at any upstream it connects to first",
        },
        meaning_of_one={
            "client": "a SYN was sent again before its SYN-ACK came: one was lost; look for "
            "loss, firewalls that drop packets, and full accept queues",
        },
        colour=colours.DARK,
        hatch="..",
    ),
    Cause(
        name="unanswered",
        words="never answered",
        meaning=_both(
            "a request was never answered: the server's program has it, or it was lost; the "
            "longest of these waits tells"
        ),
        by_turn={
            "open": _both(
                "the server had not answered when the capture ended: it takes long, hangs, or owed "
                "no answer"
            )
        },
        colour=colours.DARK,
        hatch="//",
    ),
    Cause(
        name="retransmission",
        words="retransmission",
        meaning=_both(
            f"sent again: the data was lost, or its ACK was lost or late; {RESENT_REMEDY}"
        ),
        colour=colours.DARK,
        hatch="xx",
        meaning_unseen="lost before the capture point, between the {by} and where the capture was "
        "taken: look there for interface errors, queues and policers",
    ),
    Cause(
        name="zero_window",
        words="receive window full",
        meaning=_both("the receiving program did not read, or its receive buffer is small"),
        by_turn={
            "open": _both("the receiver's window had no more room: its program does not read")
        },
        colour=colours.CLIENT,
        hatch="\\\\",
    ),
    Cause(
        name="passed_on",
        words="the {by} forwarded what had just arrived",
        meaning=_both("a relay forwarded at once what arrived on another connection; look there"),
        colour=colours.PALE,
        hatch="..",
    ),
    Cause(
        name="nagle_delack",
        words="held until a delayed ACK arrived",
        colour=colours.HELD,
        acks=DELAYED,
    ),
    Cause(
        name="nagle_reply",
        words="held until the other side's data arrived",
        colour=colours.HELD_UNTIL_DATA,
        hatch="\\\\",
        acks=ON_DATA,
    ),
    Cause(
        name="slow_link",
        words="slow link",
        meaning=_both(
            "data sent in time was delayed by a slow link, a shaper or a queue: send fewer bytes, "
            "or get a faster link"
        ),
        colour=colours.DARK,
        hatch="--",
    ),
    Cause(
        name="nagle_rtt",
        words="held until the ACK arrived",
        colour=colours.HELD_ONE_ROUND_TRIP,
        hatch="//",
        acks=PROMPT,
    ),
    Cause(
        name="stop_and_wait",
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
        words="congestion window",
        meaning=_both("slow start: keep connections open, or send less at once"),
        colour=colours.CLIENT,
        hatch="++",
    ),
    Cause(
        name="delayed_ack",
        words="ACK delayed, nothing held",
        meaning=_both("harmless unless the sender waits for it (one segment in flight)"),
        colour=colours.ACK,
        hatch="--",
    ),
    Cause(
        name="cork",
        words="held by a cork",
        meaning=_both(
            "the kernel waited 200 ms for more data: clear TCP_CORK after each message, or omit "
            "MSG_MORE on its last write (a 200 ms timer in the program would look the same)"
        ),
        colour=colours.ACK,
        hatch="..",
    ),
    Cause(
        name="sender_app",
        words="the {by} had no data ready",
        meaning={
            "client": "the client was idle between two requests",
            "server": "request open, no reply yet: the server was busy, was waiting for a backend, "
            "or no reply was due",
        },
        colour=colours.PALE,
        by_turn={
            "midway": {
                "client": "the client's program sent nothing, in the middle of a message or "
                "between messages, or waited for an answer that did not come",
                "server": "the server's program sent nothing, in the middle of a message or "
                "between messages",
            },
            "unmeasured": _both(
                "request open, no reply yet: the server, or the way to it, whose round trip this "
                "capture does not show; capture with the handshake, or on the server"
            ),
            "leave": _both(
                "the client asked for leave to send the rest of its request (Expect: 100-continue) "
                "and waited for it in vain: let the server answer that, or the client not ask"
            ),
            "idle": _both("no request was open: the {by} had nothing to send"),
            "first": {
                "client": "the client was idle before its first request in this capture",
                "server": "the server, which speaks first, greeted late: look for what it asks "
                "before that (reverse DNS, ident), and for its load",
            },
        },
    ),
    Cause(
        name="unknown",
        words="cause unknown",
        meaning=_both("cause not visible from this capture point"),
        colour=colours.OTHER,
        hatch="||",
        by_turn={"midway": _both(MAY_BE_HELD)},
        meaning_unseen="either a loss before the capture point or the program: a packet from the "
        "{by} is missing; capture on the {by}",
    ),
)
"""In the order in which the engine asks."""

_BY_NAME = {cause.name: cause for cause in CAUSES}


class Stall(Protocol):
    """The ACK of a stall, as far as it is known."""

    @property
    def cause(self) -> str:
        """Its name."""

    @property
    def ack_delay_ms(self) -> float:
        """How late the ACK came."""

    @property
    def is_measured(self) -> bool:
        """Is the round trip to its sender known?"""


def of(name: str) -> Cause:
    """The cause of this name."""
    return _BY_NAME[name]


def acks_of(name: str, is_measured: bool) -> Acks:
    """The ACKs that end stalls of this cause. `is_measured`: the receiver's round trip is known."""
    acks = of(name).acks
    assert acks is not None
    return UNMEASURED if acks is PROMPT and not is_measured else acks


def in_few_words(wait: _core.WaitRow) -> str:
    """The event, for a picture."""
    return of(wait.cause).words.format(by=wait.sender)


def ack(stall: Stall) -> str:
    """Words for the ACK of the segment before the held one."""
    late = f"{'' if stall.is_measured else 'up to '}{stall.ack_delay_ms:.1f} ms"
    return acks_of(stall.cause, stall.is_measured).one.format(late=late)


def meaning_of_all(row: _core.CauseRow | _core.WaitRow) -> str:
    """The meaning of all waits of one cause, side and turn."""
    cause = of(row.cause)
    return cause.by_turn.get(row.turn, cause.meaning)[row.sender].format(by=row.sender)


def keeps_nobody_waiting(row: _core.CauseRow | _core.WaitRow) -> bool:
    """Was no request open? So it is until an idle connection is closed."""
    is_idle = (row.cause, row.sender) == IDLE and row.turn not in ("midway", "leave")
    return row.turn == "idle" or is_idle


def meaning_of(wait: _core.WaitRow, is_elided: bool = False) -> str:
    """The meaning of one wait, maybe in a text that people left rows out of."""
    cause = of(wait.cause)
    if is_elided and wait.row == "missing_bytes":
        return ELIDED
    if wait.unanswered_syns:
        return UNANSWERED_SYNS[wait.sender].format(times=count(wait.unanswered_syns, "time"))
    if wait.is_syn_again and not wait.ending:
        return SYN_AGAIN
    if wait.ending in TURNED_DOWN:
        return TURNED_DOWN[wait.ending]
    if wait.ending:
        return _in_vain(wait)
    if wait.upstream:
        relay = wait.sender_end.rpartition(":")[0]
        return RELAYED.format(relay, *wait.upstream)
    if cause.meaning_unseen and wait.lost_before_capture in (True, None):
        return cause.meaning_unseen.format(by=wait.sender)
    if wait.may_be_held and wait.cause in ("unknown", "sender_app"):
        return MAY_BE_HELD.format(by=wait.sender)
    if wait.row in BY_ROW:
        return BY_ROW[wait.row].format(by=wait.sender)
    return cause.meaning_of_one.get(wait.sender) or meaning_of_all(wait)


def _in_vain(wait: _core.WaitRow) -> str:
    """Words for what was owed and never came, and what was tried."""
    return f"{_owed(wait)}{_tried(wait)}"


def _owed(wait: _core.WaitRow) -> str:
    by, end = wait.sender, ENDINGS[wait.ending].format(frame=wait.frame_to)
    if wait.cause == "zero_window":
        return meaning_of_all(wait)
    if wait.row == "no_rest":
        return _rest(wait, end)
    if wait.row == "no_close" and wait.len_unacked:
        return f"the {by} had still not acknowledged a FIN, sent again, {end}: {_lost(wait)}"
    if wait.row in OWED:
        why = FORGOTTEN if wait.row == "no_answer_to_probes" else _lost(wait)
        return OWED[wait.row].format(
            by=by, frame=wait.frame_from, len=wait.len_unacked, end=end, why=why
        )
    if wait.len_unacked:
        return _unacknowledged(wait, end)
    acknowledged = f" and acknowledged in frame {wait.frame_ack}" if wait.frame_ack else ""
    request = f"a request sent in frame {wait.frame_from}{acknowledged} was still unanswered {end}"
    if wait.is_mute:
        return f"{request}; the server sent no data at all: its program hangs, or it owes no answer"
    return f"{request}: look into the server's program, which has it, unless it owed no answer"


def _rest(wait: _core.WaitRow, end: str) -> str:
    """Words for a message whose rest is missing."""
    by, missing, frame = wait.sender, wait.len_unacked, wait.frame_from
    last = f"frame {frame} was still its last {end}"
    if wait.is_reopened:
        last = f"nothing had followed {end}, though frame {frame} announced room again"
    of_it = "what it sent looks cut from a longer message"
    if missing:
        of_it = f"{missing:,} of the announced bytes never came"
    look = f"look into the {by}'s program"
    if wait.is_reopened and wait.tries[0]:
        look = "the update was lost on its way, or not taken"
    elif not wait.has_arrived and wait.heard_ns <= wait.from_ns:
        look += ", unless the rest was lost on its way, or the host is gone"
    return f"the {by} stopped in the middle of a message: {last}; {of_it}; {look}"


def _lost(wait: _core.WaitRow) -> str:
    """Words for what became of bytes that were not acknowledged."""
    if not wait.has_arrived:
        return GONE
    drops = DROPPED if wait.heard_ns > wait.from_ns else SILENT
    return drops.format(by=wait.sender)


def _tried(wait: _core.WaitRow) -> str:
    many, longest_ms = wait.tries
    if not many:
        return ""
    apart = f", up to {duration(longest_ms)} apart" if longest_ms and many > 1 else ""
    return f"; tried {'once' if many == 1 else count(many, 'time')}{apart}"


def _unacknowledged(wait: _core.WaitRow, end: str) -> str:
    again = (
        f"a request sent in frame {wait.frame_from}, and again, was still not acknowledged {end}"
    )
    silent_ms = (wait.from_ns - wait.heard_ns) / 1e6
    if wait.is_syn_again:
        return f"{again}: {SYN_AGAIN}"
    if not wait.has_arrived and silent_ms < 0:
        return f"{again}: {ALIVE.format(by=wait.sender)}"
    if not wait.has_arrived and silent_ms >= FORGOTTEN_AFTER_MS:
        return (
            f"{again}, after {duration(silent_ms)} without a packet: a firewall or NAT forgot the "
            "connection, or the host is gone; send keep-alives more often"
        )
    return f"{again}: {_lost(wait)}"
