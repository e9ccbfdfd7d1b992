"""Remedies: the change, its place and its price. They are data, one entry each."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.advice.setting import Setting
from nagle_scan.advice.settings import SNAP_LENGTH, likely
from nagle_scan.errors import CaptureError
from nagle_scan.messages import payloads
from nagle_scan.messages.payloads import Payload, pair_of
from nagle_scan.messages.protocols import ports_of
from nagle_scan.messages.services import Sample, ends_http_head, recognised, service_of
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import range_ms

__all__ = ["Remedy", "Setting", "for_groups", "how_to_test"]

MAX_FRAME = 500_000
"""Later frames are not looked up: a program's name is not worth re-reading that much."""


class Remedy(NamedTuple):
    """One way to remove a stall, with its price.

    `where` has placeholders `{sender}` and `{receiver}`. `known_by` says what in the capture
    points to the `settings`, the likeliest first.
    """

    where: str
    short: str
    """`how` in a few words."""
    how: str
    price: str
    known_by: str = ""
    settings: tuple[Setting, ...] = ()
    why: str = ""
    """The reason for the remedy, which comes before `how`."""

    @property
    def what(self) -> str:
        """Why and how."""
        return f"{self.why}: {self.how}" if self.why else self.how

    @property
    def as_above(self) -> "Remedy":
        """A short form, for where `how` and `price` stand above."""
        return self._replace(how=f"{self.short}, as above.", price="")


MERGE = Remedy(
    "the program on {sender}",
    "send the whole message in one write",
    "send the whole message in one write (one buffer, writev(), MSG_MORE or TCP_CORK, cleared at "
    "its end, or a buffered stream that is flushed once).",
    "Cost: a change in the program. It also saves packets, and Nagle may stay on.",
)
PARTS = MERGE._replace(
    how=f"if these are parts of one message, which the capture does not show, {MERGE.how}"
)
NODELAY = Remedy(
    "the socket on {sender}",
    "set TCP_NODELAY",
    "set TCP_NODELAY on the connected socket itself (the one from accept() or connect()), "
    "then scan again: this report proves whether it took effect.",
    "Cost: every small write becomes a packet, so leave Nagle on where many small writes follow "
    "one another and nobody waits for an answer.",
)
TAIL = Remedy(
    "the program on {sender}",
    "merge the writes, if there were several",
    "merging helps only if these were several writes: the unacknowledged segment is full-sized, so "
    "the held one may be the tail of one large write (RFC 896 senders such as Windows and BSD hold "
    "it, Linux does not).",
    "Cost: a change in the program.",
)
STREAM = Remedy(
    "the program on {sender}",
    "write each message in one call",
    "write each message in one call, and messages due at the same time together.",
    "Cost: a change in the program. Messages that follow one another still wait.",
)
KEY_EXCHANGE = Remedy(
    "the program on {sender}",
    "nothing to change (SSH before its session, once per connection)",
    "nothing to change: this is SSH before its session, once per connection. OpenSSH sets "
    "TCP_NODELAY itself when a session starts, and PuTTY from the beginning, unless that is "
    "switched off.",
    "",
)
RELAY = NODELAY._replace(
    where="the relay on {sender}",
    why="it passes on what it gets, so it has nothing to merge",
)
LEGS = {
    "server": "its downstream sockets, those it accepts,",
    "client": "its upstream sockets, those it opens,",
}
"""Sockets of a relay, by the side on which it holds."""
SEPARATE = "these are separate messages"
"""Why to set TCP_NODELAY before anything else, where there is nothing to merge."""
TYPED = "there is nothing to merge in messages this small"
"""Why to set it where a person types."""
TERMINAL_PORTS = ports_of("SSH") | {23}
"""Ports of SSH, and of Telnet (IANA)."""
NEAR_MS = 1.0
"""No network lies between the capture point and a host that is as near."""
OWN_END = "else your own end, {receiver}"
"""The place of a remedy at the receiver, where the sender may be out of reach."""
MOST_OF_A_KEY = 4
"""Bytes of a character (RFC 3629); parts of a message are usually longer."""
MOST_OF_A_CIPHERED_KEY = 100
"""Bytes of an SSH packet with a key: 36 to 100, by cipher and MAC (RFC 4253, 6)."""
NEW_KEYS_BYTES = 16
"""SSH's last packet in the clear (RFC 4253, 7.3): no packet with a key is as short."""
KEY_CODES = range(20, 50)
"""Messages that negotiate keys (RFC 4250, 4.1.2)."""
QUICKACK = Remedy(
    "the other end, {receiver}, as a last resort",
    "acknowledge at once",
    "acknowledge at once (Linux: TCP_QUICKACK after each read, or 'ip route change ... quickack "
    "1'; Windows: TcpAckFrequency = 1; macOS: net.inet.tcp.delayed_ack = 0).",
    "Cost: more ACKs; TCP_QUICKACK is not permanent, and each message still waits one round trip.",
)


class Advised(NamedTuple):
    """Remedies for the stalls of a group, in the order to try them."""

    remedies: list[Remedy]
    is_split: bool | None
    """Are parts of one message held, not messages of their own? `None` if that does not show."""


def for_groups(
    groups: Sequence[_core.HostPairRow], paths: Sequence[str] = (), scan: _core.Scan | None = None
) -> list[Advised]:
    """Remedies for the stalls of each group.

    With the `paths` of the `scan`'s captures, which are read once, the senders' first bytes may
    reveal their programs.
    """
    found = _payloads([frame for group in groups for frame in _frames(group)], paths, scan)
    advised = [_advised(group, _sample(group, found)) for group in groups]
    if scan is None or scan.summary().anonymized:
        return advised
    return [
        _of_stranger(advice) if _is_stranger(group, scan) else advice
        for group, advice in zip(groups, advised, strict=True)
    ]


def _is_stranger(group: _core.HostPairRow, scan: _core.Scan) -> bool:
    """Is the sender on the internet, and the receiver, beside the capture point, not?"""
    try:
        sender, receiver = map(ip_address, (group.sender_addr, group.receiver_addr))
    except ValueError:
        return False
    row = scan.connection(group.connection)
    rtt_ms = row and (row.server_rtt_ms if group.sender == "client" else row.client_rtt_ms)
    is_here = rtt_ms is not None and rtt_ms < NEAR_MS
    return is_here and sender.is_global and not receiver.is_global


def _of_stranger(advised: Advised) -> Advised:
    """Advice on a host that the reader may not be able to change."""
    remedies = [
        one._replace(where=f"{one.where}, if it is yours" if "{sender}" in one.where else OWN_END)
        for one in advised.remedies
    ]
    return advised._replace(remedies=remedies)


def of_relay(advised: Advised, side: str) -> Advised:
    """Advice for a relay of others' data, as the server or the client of a connection."""
    hints = next((one for one in advised.remedies if one.short == NODELAY.short), NODELAY)
    leg = f"set TCP_NODELAY on {LEGS[side]}"
    nodelay = RELAY._replace(
        short=leg.rstrip(","),
        how=f"{leg} then scan again: this report proves whether it took effect.",
        known_by=hints.known_by,
        settings=hints.settings,
    )
    others = [one for one in advised.remedies if one is QUICKACK]
    return advised._replace(remedies=[nodelay, *others])


def _advised(group: _core.HostPairRow, sample: Sample) -> Advised:
    is_split = _is_split(group, sample)
    return Advised(_remedies(group, sample, is_split), is_split)


def _remedies(group: _core.HostPairRow, sample: Sample, is_split: bool | None) -> list[Remedy]:
    if _is_key_exchange(group, sample):
        return [KEY_EXCHANGE]
    hints = likely(sample)
    nodelay = NODELAY._replace(known_by=hints.known_by, settings=hints.settings)
    # A faster ACK does not help where the ACK was not delayed.
    others = [QUICKACK] if _receiver_delays(group) else []
    if group.unacked_full_sized:
        return [nodelay, TAIL, *others]
    if is_typed(group):
        return [nodelay._replace(why=TYPED), *others]
    if is_split is False:
        why = f"{SEPARATE}{_where_cut(sample)}" if _by_bytes(sample) is False else ""
        return [nodelay._replace(why=why), STREAM, *others]
    pieces = _pieces(group, sample)
    if is_split is None:
        return [nodelay, PARTS._replace(why=pieces), *others]
    return [MERGE._replace(why=pieces), nodelay, *others]


def _is_split(group: _core.HostPairRow, sample: Sample) -> bool | None:
    """Are parts of one message held, by its bytes, else by lengths that alternate?"""
    if group.unacked_full_sized:
        return True
    if is_typed(group) or certainty.is_stream(group.exchanges, group.stalls):
        return False
    seen = _by_bytes(sample)
    return True if seen is None and group.alternate else seen


def _by_bytes(sample: Sample) -> bool | None:
    """Are parts of one message held, by its bytes? `None` unless all pairs show the same."""
    if _ends_head(sample):
        return True
    answers = {one.is_split if one else None for one in recognised(sample)}
    return answers.pop() if len(answers) == 1 else None


def _ends_head(sample: Sample) -> bool:
    """Does a whole segment end with an empty line, as an HTTP head does?"""
    return any(ends_http_head(pair.unacked) for pair in sample.pairs if not pair.unacked_cut)


def is_typed(group: _core.HostPairRow) -> bool:
    """Are the held segments keystrokes, which no program could have written at once?"""
    if group.server_port in TERMINAL_PORTS:
        return max(group.len_unacked, group.len) <= MOST_OF_A_CIPHERED_KEY
    return max(group.len_unacked, group.len) <= MOST_OF_A_KEY


def _is_key_exchange(group: _core.HostPairRow, sample: Sample) -> bool:
    """Is this SSH before its session, once per connection? By its messages, by a length of them, or
    because the session set TCP_NODELAY."""
    if service_of(sample).name != "SSH" or group.stalls > group.connections:
        return False
    if group.nagle == "switched":
        return True
    seen = [pair for pair in sample.pairs if pair.unacked]
    if not seen:
        return group.len_unacked == NEW_KEYS_BYTES
    return all(_negotiates(pair.unacked) or _negotiates(pair.held) for pair in seen)


def _negotiates(message: bytes) -> bool:
    """Is this SSH in the clear? The length field of a packet counts to whole blocks only there."""
    if len(message) < 6:
        return False
    is_whole = (int.from_bytes(message[:4]) + 4) % 8 == 0
    return message[:4] == b"SSH-" or (not message[0] and is_whole and message[5] in KEY_CODES)


def _receiver_delays(group: _core.HostPairRow) -> bool:
    """Did the receiver delay its ACKs, and not the path?"""
    return causes.of(group.cause).ack_was_delayed


def how_to_test(
    group: _core.HostPairRow,
    *,
    is_explained: bool = False,
    timer: bool = True,
) -> str:
    """Sentences on what hides this stall from a test; empty if nothing known does.

    `is_explained`: do not repeat that the first exchange is fast. Without `timer`, omit how late
    the ACKs were.
    """
    # Only Linux acknowledges at once when a connection begins, and after pauses.
    if (
        not (_receiver_delays(group) and group.quick_acks)
        or group.unacked_full_sized
        or certainty.is_stream(group.exchanges, group.stalls)
    ):
        return ""
    sentences = []
    if not is_explained:
        sentences.append(
            "The first exchange of a connection may be fast: Linux begins with quick ACKs."
        )
    if group.sender == "client":
        sentences.append("Test with several requests on one connection.")
    else:
        late = range_ms(group.ack_delay_min_ms, group.ack_delay_max_ms)
        here = f" ({late} here)" if timer and group.ack_delay_ms else ""
        sentences.append(
            f"Clients that pause longer than the ACK timer{here} between requests may not "
            "reproduce this. Test with several requests on one connection, back to back."
        )
    return " ".join(sentences)


def _pieces(group: _core.HostPairRow, sample: Sample) -> str:
    """How the sender cuts its messages."""
    typically = "typically " if group.stalls > 1 else ""
    first, second = f"{typically}{group.len_unacked:,}", f"{group.len:,}"
    if _ends_head(sample):
        return f"it sends an HTTP head ({first} bytes) and its body ({second} bytes) separately"
    unseen = not any(pair.unacked for pair in sample.pairs)
    guess = unseen and service_of(Sample(group.server_port, sample.by_client)).name == "HTTP"
    where = ", perhaps an HTTP head and its body" if guess else _where_cut(sample)
    return f"it sends segments of {first} and {second} bytes{where}"


def _where_cut(sample: Sample) -> str:
    """Where it cuts them, if always in the same place."""
    splits = set(recognised(sample))
    (only,) = splits if len(splits) == 1 else (None,)
    return f" ({only.sentence('the first', 'the second')})" if only else ""


def _frames(group: _core.HostPairRow) -> list[int]:
    """Frames that may reveal the sending program."""
    frames = [frame for pair in group.frames_split for frame in pair]
    return [*frames, group.frame_first_reply or 0]


def _sample(group: _core.HostPairRow, payloads_read: Mapping[int, Payload]) -> Sample:
    """Payload of a few of its stalls, as far as it was read again."""
    by_client = group.sender == "client"
    found = {frame: payloads_read[frame] for frame in _frames(group) if frame in payloads_read}
    pairs = [
        pair_of(found[unacked], found[held], group.server_port, by_client)
        for unacked, held in group.frames_split
        if unacked in found and held in found
    ]
    first_reply = found.pop(group.frame_first_reply or 0, payloads.NONE)
    own = [*found.values()] if by_client else [*found.values(), first_reply]
    short = [seen.frame_len for seen in own if seen.cut and seen.frame_len < SNAP_LENGTH]
    return Sample(group.server_port, by_client, pairs, first_reply.data, max(short, default=0))


def _payloads(
    frames: Sequence[int], paths: Sequence[str], scan: _core.Scan | None
) -> dict[int, Payload]:
    try:
        return payloads.read(paths, [frame for frame in frames if 0 < frame <= MAX_FRAME], scan)
    except CaptureError:
        return {}
