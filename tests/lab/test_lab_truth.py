"""What the lab takes for held by Nagle, also for senders that have no TCP_INFO."""

from __future__ import annotations

import pytest
import sender_state
from logs import Peer
from packets import ACK, SYN, Direction, Options, Packet
from truth import Held, held_segments

MS = 1_000_000
CLIENT, SERVER = 50_000, 80
NEWER, OLDER = Options(1460, 7, timestamps=True), Options(1460, None, timestamps=False)
NO_OPTIONS = Options(536, None, timestamps=False)
FIRST = 2**32 - 101  # the sequence numbers wrap inside the first segment
IN_FLIGHT = 4


class Wire:
    """Packets as captured at the client."""

    def __init__(self, client: Options = NEWER, server: Options = NEWER) -> None:
        self.packets: list[Packet] = []
        self._add(0, CLIENT, FIRST, 0, SYN, options=client)
        self._add(1, SERVER, 500, FIRST + 1, SYN | ACK, options=server)

    def _add(
        self,
        time_ms: float,
        port: int,
        seq: int,
        ack: int,
        flags: int,
        length: int = 0,
        options: Options = NO_OPTIONS,
    ) -> None:
        target = SERVER if port == CLIENT else CLIENT
        number, time_ns = len(self.packets) + 1, int(time_ms * MS)
        window = 65535 if flags & SYN else 512  # unscaled in a SYN
        ends = (seq % 2**32, ack % 2**32, length, flags, window, options)
        self.packets.append(Packet(number, time_ns, 0, port, target, *ends))

    def data(self, time_ms: float, offset: int, length: int) -> None:
        """The client sends part of its stream."""
        self._add(time_ms, CLIENT, FIRST + 1 + offset, 501, ACK, length)

    def ack(self, time_ms: float, offset: int) -> None:
        """The server acknowledges up to an offset."""
        self._add(time_ms, SERVER, 501, FIRST + 1 + offset, ACK)

    def direction(self) -> Direction:
        """What the client sent."""
        return Direction(self.packets, CLIENT, SERVER)


def split_request(released_ms: float = 42) -> Wire:
    """120 bytes leave at 2 ms, 30 bytes when the server has acknowledged them."""
    wire = Wire()
    wire.data(2, 0, 120)
    wire.ack(released_ms, 120)
    wire.data(released_ms + 0.05, 120, 30)
    return wire


def writes(*rows: tuple[float, int, int]) -> Peer:
    """A log of writes: millisecond, offset, length."""
    return Peer(writes=[(int(ms * MS), offset, length) for ms, offset, length in rows])


def holds_ms(peer: Peer, wire: Wire) -> list[tuple[int, float]]:
    """Offsets that Nagle held, and for how long."""
    at_sender = wire.direction()
    peer.infos = sender_state.infos(peer, at_sender)
    held = held_segments("client", peer, at_sender, at_sender, [])
    return [(h.offset, round(h.nagle_ms, 2)) for h in held if h.nagle_ms > 0]


def test_a_small_write_behind_data_in_flight_is_held() -> None:
    peer = writes((1.99, 0, 120), (2.01, 120, 30))
    assert holds_ms(peer, split_request()) == [(120, 40.04)]


def test_a_write_after_the_acknowledgment_is_not_held() -> None:
    peer = writes((1.99, 0, 120), (42.01, 120, 30))
    assert holds_ms(peer, split_request()) == []


def test_a_write_while_the_held_segment_leaves_changes_nothing() -> None:
    wire = Wire()
    wire.data(2, 0, 120)
    wire.ack(42, 120)
    wire.data(42.05, 120, 40)
    peer = writes((1.99, 0, 120), (2.01, 120, 30), (42.02, 150, 10))
    assert holds_ms(peer, wire) == [(120, 40.04)]


@pytest.mark.parametrize("again", [False, True])
def test_a_retransmission_before_the_ack_is_told(again: bool) -> None:
    wire = Wire()
    wire.data(2, 0, 120)
    if again:
        wire.data(210, 0, 120)
    wire.ack(210.1, 120)
    wire.data(210.15, 120, 30)
    peer, at_sender = writes((1.99, 0, 120), (2.01, 120, 30)), wire.direction()
    peer.infos = sender_state.infos(peer, at_sender)
    (held,) = held_segments("client", peer, at_sender, at_sender, [])
    assert (held.release, round(held.nagle_ms)) == ("retransmission" if again else "ack", 208)


def test_no_delay_means_that_something_else_held_it() -> None:
    peer = writes((1.99, 0, 120), (2.01, 120, 30))
    peer.options.append((0, "nodelay", 1))
    assert holds_ms(peer, split_request()) == []


def test_the_tail_of_one_write_is_held_as_well() -> None:
    wire = Wire()
    wire.data(2, 0, 1448)
    wire.ack(42, 1448)
    wire.data(42.05, 1448, 552)
    assert holds_ms(writes((1.99, 0, 2000)), wire) == [(1448, 40.05)]


def test_a_full_segment_waits_for_something_else() -> None:
    wire = Wire()
    wire.data(2, 0, 120)
    wire.ack(42, 120)
    wire.data(42.05, 120, 1448)
    assert holds_ms(writes((1.99, 0, 120), (2.01, 120, 1448)), wire) == []


def test_segment_size_and_window_come_from_both_handshakes() -> None:
    peer = writes((2, 0, 10))
    for client, server, size, window in (
        (NEWER, NEWER, 1448, 512 << 7),
        (NEWER, OLDER, 1460, 512),
        (OLDER, NEWER, 1460, 512),
        (NEWER, Options(536, 7, timestamps=True), 524, 512 << 7),
    ):
        wire = Wire(client, server)
        wire.ack(1.5, 0)
        _, state = sender_state.infos(peer, wire.direction())[-1]
        assert (state[5], state[3]) == (size, window)


def test_an_acknowledged_fin_is_not_data() -> None:
    wire = split_request()
    wire.ack(50, 151)
    wire.data(60, 150, 10)
    states = sender_state.infos(writes((1.99, 0, 120), (2.01, 120, 30)), wire.direction())
    assert states[-1][1][IN_FLIGHT] == 10


@pytest.mark.parametrize(
    ("states", "nagle_ms"),
    [
        ([("nagle", 200), ("congestion+nagle", 14)], 214),  # a retransmission timer ran out
        ([("congestion+nagle", 20), ("nagle", 1)], 1),  # the window had held it anyhow
        ([("nagle", 5), ("window", 3), ("nagle", 2)], 2),
        ([("nagle", 5), ("kernel", 3)], 0),
    ],
)
def test_only_the_last_stretch_that_nagle_began_counts(
    states: list[tuple[str, float]], nagle_ms: float
) -> None:
    segment = split_request().packets[-1]
    held = Held("client", segment, 120, 50, states, "ack", segment.ack, None)
    assert held.nagle_ms == nagle_ms
