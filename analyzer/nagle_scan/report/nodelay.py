"""Is `TCP_NODELAY` in effect on the wire, whatever the source code says?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nagle_scan import _core
from nagle_scan.words.wording import endpoint

NOT_KNOWN = "not known"
IN_EFFECT = {
    "on": "no",
    "off": "yes",
    "switched": "changed",
    "mixed": "in part",
    "unknown": NOT_KNOWN,
}
"""By what the capture shows of Nagle's algorithm on one socket or several."""
NO_PROOF = "neither a hold nor two small segments in flight prove it"


class Answer(NamedTuple):
    """Is `TCP_NODELAY` in effect on these sockets?"""

    answer: str
    sockets: str
    connections: int
    proof: str


def answers(parties: Sequence[_core.NagleRow]) -> Iterator[Answer]:
    """One per kind of socket and answer; clients of a port of which nothing is known share one."""
    mute = [row for row in parties if row.side == "client" and row.unknown == _connections(row)]
    hosts = Counter(row.server_port for row in mute)
    sums = Counter[int]()
    for row in mute:
        sums[row.server_port] += row.unknown
    for row in parties:
        if row in mute and hosts[row.server_port] > 1:
            if connections := sums.pop(row.server_port, 0):
                sockets = f"{hosts[row.server_port]:,} clients to port {row.server_port}"
                yield Answer(NOT_KNOWN, sockets, connections, NO_PROOF)
            continue
        sockets = f"client {row.addr} to port {row.server_port}"
        if row.side == "server":
            sockets = f"server {endpoint(row.addr, row.server_port)}"
        for answer, connections, proof in (
            ("no", row.on, row.on_proof),
            ("yes", row.off, row.off_proof),
            ("changed", row.switched, row.switched_proof),
            (NOT_KNOWN, row.unknown, None),
        ):
            if connections:
                variant = _variant(row.variant) if answer == "no" else ""
                yield Answer(answer, sockets, connections, _proof(answer, proof) + variant)


def _connections(row: _core.NagleRow) -> int:
    return row.on + row.off + row.switched + row.unknown


def _variant(proof: tuple[str, int, int, int] | None) -> str:
    """Which variant of Nagle's algorithm the sender runs, with the frames that prove it."""
    if proof is None:
        return ""
    variant, connection, full, small = proof
    if variant == "minshall":
        return (
            f"; Nagle as in Linux (Minshall's variant): small frame {small} left while full-sized "
            f"frame {full} was unacknowledged (tcp.stream {connection})"
        )
    return (
        f"; Nagle as in Windows and BSD (RFC 896): small frame {small} waited for the ACK of "
        f"full-sized frame {full} (tcp.stream {connection})"
    )


def _proof(answer: str, proof: tuple[int, int, int] | None) -> str:
    if proof is None:
        return NO_PROOF
    connection, first, second = proof
    if answer == "changed":
        return f"frame {first} was held, frame {second} no longer (tcp.stream {connection})"
    held = answer == "no"
    seen = "held data left the moment the ACK arrived" if held else "two small segments in flight"
    # Near the receiver, an ACK may be captured before the second segment, which left without it.
    between = "" if held or second <= first + 1 else "; no ACK had reached the sender in between"
    return f"{seen}: frames {first}, {second} (tcp.stream {connection}){between}"
