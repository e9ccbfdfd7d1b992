"""Captures that the lab disturbs afterwards, and truth that other recordings bring along."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from pathlib import Path

import cases
import derive
import known
import packets
import pytest
import recorded
import strace_log
from conftest import ROOT
from logs import Peer, read_drops, read_log
from packets import ACK, SYN, Direction, Options, Packet
from scoring import Score
from truth import MS, lost_before

CLIENT, SERVER = 40_000, 7_001
NO_OPTIONS = Options(536, None, timestamps=False)
SECOND = 1_000_000


def capture(folder: Path, times_us: list[int]) -> Path:
    """A file of empty frames at these times."""
    path = folder / "client.pcap"
    records = (struct.pack("<4I", *divmod(t, SECOND), 0, 0) for t in times_us)
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1) + b"".join(records))
    return path


def times_after(what: str, source: Path) -> list[int]:
    """The times, in microseconds, of what derive.py makes of a file."""
    target = source.with_name("target.pcap")
    derive.make(what, source, target)
    return [s * SECOND + us for s, us, _ in derive.records(target.read_bytes())]


def test_a_coarse_clock_shows_its_last_tick(tmp_path: Path) -> None:
    source = capture(tmp_path, [5 * SECOND + 3_999, 5 * SECOND + 4_000, 6 * SECOND])
    assert times_after("coarse:4", source) == [5 * SECOND, 5 * SECOND + 4_000, 6 * SECOND]


def test_an_uneven_clock_never_shows_the_future(tmp_path: Path) -> None:
    real = [7 * SECOND + 137 * n for n in range(300)]
    shown = times_after("uneven:2", capture(tmp_path, real))
    assert shown == sorted(shown)
    assert all(t % 1000 == 0 for t in shown)
    assert all(0 <= r - t < 5_000 for r, t in zip(real, shown, strict=True))
    assert len({b - a for a, b in pairwise(shown) if b > a}) > 1


def test_so_many_frames_are_missing(tmp_path: Path) -> None:
    source = capture(tmp_path, [n * 1000 for n in range(4_000)])
    for percent in (0.1, 1, 15):
        missing = 4_000 - len(times_after(f"thinned:{percent / 100}", source))
        assert 0.3 * percent < missing / 40 < 2 * percent + 0.1


def test_another_seed_draws_other_cases_of_the_same_kinds() -> None:
    one, two = cases.all_cases(1), cases.all_cases(2)
    assert [c.id for c in one] == [c.id for c in two]
    assert any(a != b for a, b in zip(one, two, strict=True))
    assert one == cases.all_cases(1)


def packet(time_ms: float, offset: int, length: int = 100) -> Packet:
    seq, time_ns = 1_001 + offset, int(time_ms * MS)
    return Packet(0, time_ns, 0, CLIENT, SERVER, seq, 1, length, ACK, 500, NO_OPTIONS)


def test_copies_lost_before_and_behind_the_capture_differ() -> None:
    at_sender = Direction([packet(0, 0), packet(5, 100), packet(240, 100)], CLIENT, SERVER)
    beyond = Direction([packet(10, 0), packet(250, 100)], CLIENT, SERVER)
    before = Direction([packet(10, 0), packet(15, 100), packet(250, 100)], CLIENT, SERVER)
    assert lost_before(at_sender, beyond, [6 * MS]) == [(100, 235.0)]
    assert lost_before(at_sender, before, [6 * MS]) == []
    assert lost_before(at_sender, beyond, []) == []


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
7 1.000100 setsockopt(5, SOL_TCP, TCP_NODELAY, [1], 4) = 0
7 1.000200 sendto(6, ""..., 60, 0, NULL, 0) = 60
7 1.000300 sendto(5, ""..., 60, 0, NULL, 0) = 60
7 1.000400 write(1, ""..., 90) = 90
7 1.050000 sendto(5, ""..., 40, 0, NULL, 0) = 40
"""


def test_descriptors_are_told_apart_by_when_their_bytes_left(tmp_path: Path) -> None:
    def sent(ms: float, port: int, offset: int, length: int, flags: int = ACK) -> Packet:
        time_ns, seq = int((1000 + ms) * MS), 501 + offset - (flags == SYN)
        return Packet(0, time_ns, 0, port, SERVER, seq, 1, length, flags, 500, NO_OPTIONS)

    packets = [sent(0, port, 0, 0, SYN) for port in (41_000, 42_000)]
    packets += [sent(0.21, 42_000, 0, 60), sent(0.31, 41_000, 0, 60), sent(50.1, 41_000, 60, 40)]
    trace, log = tmp_path / "client.strace", tmp_path / "client.log"
    trace.write_text(recorded.named(TRACE, packets, "client", SERVER))
    strace_log.convert(trace, log, SERVER)
    logged = read_log(log)
    assert [length for _, _, length in logged[41_000].writes] == [60, 40]
    assert [length for _, _, length in logged[42_000].writes] == [60]
    assert (logged[41_000].nagle, logged[42_000].nagle) == ("off", "on")


def test_the_truth_of_recordings_comes_again_from_their_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = next(r for r in recorded.RECORDINGS if r.id == "swoole-greeter-before")
    # What tshark says of it was kept, so that no tshark is needed.
    said = ROOT / "tests" / "tshark" / f"{recording.id}.txt"
    monkeypatch.setattr(packets, "decoded", lambda _: said.read_text())
    (made,) = recorded.take(recording, None, tmp_path)
    labelled = recorded.LABELLED / recording.id / "loopback.truth.json"
    shipped = {**json.loads(labelled.read_text()), "capture": "loopback.pcap"}
    assert json.loads(made.read_text()) == shipped
    assert len(shipped["stalls"]) == 36


def test_what_is_known_to_be_missed_is_shown_and_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known, "KNOWN", {"blurred": "no release to be seen", "mended": "was so"})
    score = {name: Score() for name in ("plain", "blurred", "mended")}
    for name, found in (("plain", 10), ("blurred", 2), ("mended", 10)):
        score[name].counts.update({"true": 10, "found": found})
    counted, missed = known.parted(score, shipped=True)
    assert (counted.counts["true"], counted.counts["found"]) == (10, 10)
    assert (missed.counts["true"], missed.counts["found"]) == (20, 12)
    elsewhere, _ = known.parted(score, shipped=False)
    assert elsewhere.counts["true"] == 30
    _, blurred, mended = known.text(score, missed)
    assert "no release" in blurred
    assert "no longer" not in blurred
    assert "no longer" in mended
    assert "2 cases known to be missed (12 of 20 stalls" in known.markdown(missed)
