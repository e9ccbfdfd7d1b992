"""What the lab takes for true: what Nagle held, who waited for what, and whose logs say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sender_state
import strace_log
import tools
from chains import renumbered
from logs import Peer, read_drops, read_log
from packets import ACK, SYN, Direction, Options, Packet
from real import settle
from truth import Held, held_segments, late_writes, lost_before, states
from write_log import LINE, logs, read

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


def test_what_the_kernel_says_after_the_release_is_not_the_wait() -> None:
    held, sending = (12, 1, 10, 65536, 90, 1448), (0, 1, 10, 65536, 12, 1448)
    peer = Peer(infos=[(1 * MS, held), (41 * MS, sending)])
    assert states(peer, 0, 42 * MS, released=40 * MS) == [("nagle", 42.0)]


def packet(time_ms: float, source: int, seq: int, length: int = 100, flags: int = ACK) -> Packet:
    """Of a connection between a client's and a server's port; the server's are below 10,000."""
    target, time_ns = (CLIENT if source < 10_000 else SERVER), int(time_ms * MS)
    return Packet(1, time_ns, 0, source, target, seq, 1, length, flags, 500, NO_OPTIONS)


def test_a_write_is_late_only_if_nothing_else_happened_for_10_ms() -> None:
    peer = Peer(writes=[(50 * MS, 0, 10), (55 * MS, 10, 10), (90 * MS, 20, 10)])
    frames = [
        packet(20, CLIENT, 0),
        packet(50.1, SERVER, 0, 10),
        packet(55.1, SERVER, 10, 10),
        packet(84, CLIENT, 100),
        packet(90.1, SERVER, 20, 10),
    ]
    assert late_writes(peer, Direction(frames, SERVER, CLIENT)) == [(0, 30.0)]
    without_request = [f for f in frames if f.time_ns != 84 * MS]
    found = late_writes(peer, Direction(without_request, SERVER, CLIENT))
    assert [offset for offset, _ in found] == [0, 20]


def test_copies_lost_before_and_behind_the_capture_differ() -> None:
    def sent(*rows: tuple[float, int]) -> Direction:
        return Direction([packet(ms, CLIENT, 1 + at) for ms, at in rows], CLIENT, SERVER)

    at_sender = sent((0, 0), (5, 100), (240, 100))
    beyond, before = sent((10, 0), (250, 100)), sent((10, 0), (15, 100), (250, 100))
    assert lost_before(at_sender, beyond, [6 * MS]) == [(100, 235.0)]
    assert lost_before(at_sender, before, [6 * MS]) == []
    assert lost_before(at_sender, beyond, []) == []


def test_a_leg_alone_has_the_stream_numbers_of_its_own_capture() -> None:
    def of_stream(number: int) -> Packet:
        return replace(packet(0, CLIENT, 0), stream=number)

    second, fourth = frozenset((1, 2)), frozenset((3, 4))
    alone = renumbered({fourth: [of_stream(3), of_stream(3)], second: [of_stream(1)]})
    assert [p.stream for p in alone[second]] == [0]
    assert [p.stream for p in alone[fourth]] == [1, 1]


# -- logs -----------------------------------------------------------------------------------------


def test_a_loss_belongs_to_the_connection_whose_ports_it_names(tmp_path: Path) -> None:
    log = tmp_path / "wire.log"
    log.write_text(
        "client-side drop 5 there 100 40000 7001\nclient-side drop 9 there 100 41000 7002\n"
    )
    assert read_drops(log, "client", 40_000) == [5]
    assert read_drops(log, "client", 41_000) == [9]


def test_a_program_that_waits_for_acks_is_not_one_that_sleeps(tmp_path: Path) -> None:
    log = tmp_path / "client.log"
    log.write_text("1 9 write 0 100\n2 9 wait-ack\n8 9 acked\n9 9 pause 5\n10 9 resume\n")
    (peer,) = read_log(log).values()
    assert isinstance(peer, Peer)
    assert (peer.ack_waits, peer.pauses) == ([(2, 8, 100)], [(9, 10, 100)])


TRACE = """\
7 1.000100 setsockopt(5<TCP:[127.0.0.1:51000->127.0.0.1:80]>, SOL_TCP, TCP_NODELAY, [1], 4) = 0
7 1.000200 sendto(6<TCP:[127.0.0.1:52000->127.0.0.1:80]>, ""..., 60, 0, NULL, 0 <unfinished ...>
8 1.000250 write(1</dev/null>, ""..., 90) = 90
7 1.000300 <... sendto resumed>) = 60
8 1.000400 sendto(5<TCP:[127.0.0.1:51000->127.0.0.1:80]>, ""..., 60, 0, NULL, 0) = 60
8 1.050000 sendto(5<TCP:[127.0.0.1:51000->127.0.0.1:80]>, ""..., 40, 0, NULL, 0) = 40
"""


def test_what_strace_saw_becomes_a_log(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(TRACE)
    strace_log.convert(tmp_path / "trace", tmp_path / "client.log", SERVER)
    logged = read_log(tmp_path / "client.log")
    assert logged[51_000].writes == [(1_000_400_000, 0, 60), (1_050_000_000, 60, 40)]
    assert logged[52_000].writes == [(1_000_200_000, 0, 60)]
    assert (logged[51_000].nagle, logged[52_000].nagle) == ("off", "on")


TWO_WRITES = """
import socket
from socket import IPPROTO_TCP, TCP_NODELAY, TCP_QUICKACK
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
accepted, _ = server.accept()
accepted.setsockopt(IPPROTO_TCP, TCP_QUICKACK, 0)
for half in (b"first", b"second"):
    client.send(half)
client.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
print(client.getsockopt(IPPROTO_TCP, TCP_NODELAY))
"""


def noted(*lines: str) -> bytes:
    """A file as write_log.c leaves it, with room for more."""
    rows = [line.encode().ljust(LINE, b"\0") for line in lines]
    return len(rows).to_bytes(8, "little").ljust(LINE, b"\0") + b"".join(rows) + bytes(3 * LINE)


def test_what_was_noted_becomes_a_log_for_each_side(tmp_path: Path) -> None:
    (tmp_path / "noted").write_bytes(
        noted(
            f"30 31 {SERVER} {CLIENT} 8 0 0 8 20 1 10 65000 1448",
            f"10 12 {SERVER} {CLIENT} 12 0 0 0 12 1 10 65000 1448",  # another thread, noted late
            f"40 41 {SERVER} {CLIENT} 0 1 0 0 0 0 10 65000 1448",  # setsockopt
            "20 21 50000 53 5 0 0 0 5 1 10 65000 1448",  # of another server
        )
    )
    for side, log in logs(read(tmp_path / "noted"), SERVER).items():
        (tmp_path / f"{side}.log").write_text(log)
    server = read_log(tmp_path / "server.log")[CLIENT]
    assert server.writes == [(10, 0, 12), (30, 12, 8)]
    assert server.infos == [(12, (0, 1, 10, 65000, 12, 1448)), (31, (8, 1, 10, 65000, 12, 1448))]
    assert server.options == [(40, "nodelay", 1)]
    assert server.nagle == "switched"
    silent = read_log(tmp_path / "client.log")[CLIENT]
    assert silent.server_port == SERVER
    assert not silent.writes


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="Linux and gcc"
)
@pytest.mark.parametrize("refuse", [False, True])
def test_the_kernel_says_what_it_held_and_setting_nodelay_may_be_refused(
    tmp_path: Path, refuse: bool
) -> None:
    log = tmp_path / "noted"
    log.touch()
    watching = {"LD_PRELOAD": str(tools.tool("write_log.so")), "WRITE_LOG": str(log)}
    refusing = {"REFUSE_NODELAY": "1"} if refuse else {}
    done = subprocess.run(
        [sys.executable, "-c", TWO_WRITES],
        env=os.environ | watching | refusing,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (int(done.stdout) == 0) is refuse
    first, second, option = read(log)
    assert (first.length, first.not_sent, first.queued) == (5, 0, 5)
    assert (second.length, second.not_sent, second.queued) == (6, 6, 11)
    assert (option.length, option.nodelay) == (0, int(not refuse))
    assert option.not_sent == (6 if refuse else 0)  # TCP_NODELAY sends what was held


def settled(cause: str, not_sent: int, nodelay: int = 0, stalls: int = 0) -> dict[str, Any]:
    """The truth of one write of 100 bytes that waited, by what the kernel had of it."""
    info = (not_sent, 1, 10, 65000, 100 - not_sent, 1448)
    peer = Peer(writes=[(10, 0, 100)], infos=[(11, info)], options=[(1, "nodelay", nodelay)])
    truth = {
        "connections": [{"connection": 0, "client": {"port": CLIENT}}],
        "stalls": [{"connection": 0, "sender": "server", "rel_seq": 0}] * stalls,
        "short_holds": [],
        "other_waits": [{"connection": 0, "by": "server", "from_rel": 0, "cause": cause}],
    }
    settle(truth, {"server": {CLIENT: peer}})
    return truth


def is_undecidable(truth: dict[str, Any]) -> bool:
    return bool(truth["other_waits"][0].get("undecidable"))


def test_a_wait_in_the_kernel_with_nagle_on_is_undecidable() -> None:
    assert is_undecidable(settled("congestion_window", not_sent=100))
    assert is_undecidable(settled("kernel", not_sent=0))
    assert not is_undecidable(settled("retransmission", not_sent=0))
    assert not is_undecidable(settled("retransmission", not_sent=100, nodelay=1))
    assert not is_undecidable(settled("sender_app", not_sent=100))


def test_a_stall_whose_first_copy_was_lost_is_undecidable() -> None:
    truth = settled("retransmission", not_sent=0, stalls=1)
    assert is_undecidable(truth)
    assert not truth["stalls"]
    paused_first = settled("sender_app", not_sent=100, stalls=1)
    assert paused_first["stalls"]
    assert not is_undecidable(paused_first)
