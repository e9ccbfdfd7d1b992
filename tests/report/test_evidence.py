"""`-o evidence.pcapng`: the frames that prove a stall, as Wireshark shows them."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pyarrow as pa
import pytest
from conftest import CAPTURES, Run, write_evidence
from conversation import (
    ETHERNET,
    Conversation,
    Side,
    in_ethernet,
    interleaved,
    over_ipv6,
    pcap,
    pcapng,
    records,
    stalled,
    write,
)
from scapy.utils import RawPcapNgReader

RAW = 101
STALLED = ["java-split", "jdk-httpserver", "epoll-fd0"]


def frames(path: Path) -> list[tuple[bytes, int, int, list[str], int]]:
    """Bytes, time in ns, length on the wire, comments and link type of each frame."""
    found = []
    with RawPcapNgReader(str(path)) as reader:
        for data, metadata in reader:
            meta: Any = metadata
            ticks = meta.tshigh << 32 | meta.tslow
            assert meta.tsresol == 10**9
            comments = [comment.decode() for comment in meta.comments or []]
            found.append((data, ticks, meta.wirelen, comments, meta.linktype))
    return found


def stalls(path: Path) -> list[tuple[int, int, float, str, str]]:
    """Stalls without their numbers, which differ between a capture and its evidence."""
    table: pd.DataFrame = nagle_scan.scan(path).stalls
    columns = ["time_ns", "len", "wait_ms", "cause", "sender"]
    return sorted(tuple(row) for row in table[columns].itertuples(index=False, name=None))


@pytest.mark.parametrize("name", STALLED)
def test_the_evidence_holds_the_same_stalls(name: str, tmp_path: Path) -> None:
    path = CAPTURES / f"{name}.pcap"
    write_evidence(nagle_scan.scan(path), tmp_path / "evidence.pcapng")
    assert stalls(tmp_path / "evidence.pcapng") == stalls(path) != []


def test_a_stall_is_explained_at_its_three_frames(tmp_path: Path) -> None:
    made = stalled(rounds=1)
    other = Conversation(("10.0.0.9", 40000))
    other.open()
    scan = nagle_scan.scan(write(tmp_path / "a.pcap", interleaved(other, made)))
    write_evidence(scan, tmp_path / "evidence.pcapng")
    said = [" / ".join(comments) for *_, comments, _ in frames(tmp_path / "evidence.pcapng")]
    stall = scan.stalls.iloc[0]
    a, k, b = stall["frame_unacked"], stall["frame_ack"], stall["frame_held"]
    assert said[0].startswith("tcp.stream 1 of the capture: client 10.0.0.1:40000, server 10.0.0.2")
    assert said[3:6] == [
        f"[frame {a} (here 4)] unacknowledged: the next small segment waits for its ACK",
        f"[frame {k} (here 5)] pure ACK, {stall['ack_delay_ms']:.1f} ms late; "
        f"it releases frame {b} (here 6)",
        f"[frame {b} (here 6)] probably held {stall['wait_ms']:.1f} ms by Nagle; "
        f"released by frame {k} (here 5)",
    ]
    assert not any(said[1:3] + said[6:])


def test_times_lengths_and_headers_are_those_of_the_capture(tmp_path: Path) -> None:
    made = stalled()
    rows = [(time_ns + index, data) for index, (time_ns, data) in enumerate(records(made.frames))]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(rows, nanoseconds=True))
    write_evidence(nagle_scan.scan(path), tmp_path / "whole.pcapng", payload=True)
    write_evidence(nagle_scan.scan(path), tmp_path / "cut.pcapng")
    whole, cut = frames(tmp_path / "whole.pcapng"), frames(tmp_path / "cut.pcapng")
    assert [(time, data) for data, time, *_ in whole] == rows
    assert [time for _, time, *_ in cut] == [time for time, _ in rows]
    assert [length for _, _, length, *_ in cut] == [len(data) for _, data in rows]
    for (data, *_), (_, original) in zip(cut, rows, strict=True):
        # Ethernet, IP and TCP headers; the checksum is that of zeros, as the payload here is.
        assert data == original[: len(data)]
        assert len(data) in (54, 58)


def test_each_link_type_gets_an_interface(tmp_path: Path) -> None:
    isn: dict[Side, int] = {"client": 7_000, "server": 9_000}
    one, two = stalled(), stalled(Conversation(("10.0.0.3", 40000), isn=isn, now_ms=0.3))
    rows = [(0, time_ns, data) for time_ns, data in records(one.frames)]
    rows += [(1, time_ns, data) for time_ns, data in records(two.frames, bytes)]
    path = tmp_path / "two.pcapng"
    path.write_bytes(pcapng([ETHERNET, RAW], sorted(rows, key=lambda row: row[1])))
    write_evidence(nagle_scan.scan(path), tmp_path / "evidence.pcapng")
    kinds = [link_type for *_, link_type in frames(tmp_path / "evidence.pcapng")]
    assert kinds.count(ETHERNET) == len(one.frames)
    assert kinds.count(RAW) == len(two.frames)
    assert stalls(tmp_path / "evidence.pcapng") == stalls(path)


def test_a_long_connection_is_cut_down_and_says_so(tmp_path: Path) -> None:
    made = Conversation()
    made.open()
    for _ in range(300):
        made.data("client", 10)
        made.answer()
        made.wait(1.0)
        made.ack("client")
    stalled_frame = made.stall().held
    for _ in range(300):
        made.data("client", 10)
        made.answer()
        made.wait(1.0)
        made.ack("client")
    path = write(tmp_path / "long.pcap", made.frames)
    assert len(nagle_scan.scan(path).stalls) == 1
    write_evidence(nagle_scan.scan(path), tmp_path / "evidence.pcapng")
    found = frames(tmp_path / "evidence.pcapng")
    assert len(found) < 250 < len(made.frames)
    assert any(time == stalled_frame.time_ns for _, time, *_ in found)
    notes = [note for *_, comments, _ in found for note in comments if "not in this file" in note]
    assert len(notes) == 1
    assert f"{len(found)} of its {len(made.frames):,} frames" in found[0][3][0]


@pytest.mark.parametrize("packed", ["gzip", "zstd"])
def test_packed_captures_are_read_again_too(packed: str, tmp_path: Path) -> None:
    path = CAPTURES / "java-split.pcap"
    made = tmp_path / "packed"
    made.write_bytes(pa.compress(path.read_bytes(), packed, asbytes=True))
    for source, name in ((path, "plain"), (made, "packed")):
        write_evidence(nagle_scan.scan(source), tmp_path / f"{name}.pcapng")
    plain, unpacked = (frames(tmp_path / f"{name}.pcapng") for name in ("plain", "packed"))
    assert [row[:3] for row in plain] == [row[:3] for row in unpacked]


def test_frames_of_a_rotated_set_keep_their_numbers(tmp_path: Path) -> None:
    rows = records(stalled(rounds=2).frames)
    whole, first, second = (tmp_path / name for name in ("whole", "first", "second"))
    whole.write_bytes(pcap(rows))
    first.write_bytes(pcap(rows[:6]))
    second.write_bytes(pcap(rows[6:]))
    write_evidence(nagle_scan.scan(whole), tmp_path / "a.pcapng")
    write_evidence(nagle_scan.scan([second, first]), tmp_path / "b.pcapng")
    assert frames(tmp_path / "a.pcapng") == frames(tmp_path / "b.pcapng")


def test_without_a_stall_the_file_is_empty_and_says_so(tmp_path: Path) -> None:
    write_evidence(nagle_scan.scan(CAPTURES / "epoll-fixed.pcap"), tmp_path / "evidence.pcapng")
    content = (tmp_path / "evidence.pcapng").read_bytes()
    assert b"No stall was found" in content
    scan = nagle_scan.scan(tmp_path / "evidence.pcapng")
    assert scan.verdict == "inconclusive"
    assert "no packets" in str(scan.warnings)


def test_the_names_of_a_large_rotated_set_fit_into_the_comment(run: Run, tmp_path: Path) -> None:
    # Together longer than an option can be.
    (tmp_path / "0.pcap").write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    paths = [tmp_path / f"{'traffic-of-a-host-' * 13}{number:03}.pcap" for number in range(300)]
    for path in paths:
        path.hardlink_to(tmp_path / "0.pcap")
    page, evidence = tmp_path / "page.html", tmp_path / "evidence.pcapng"
    done = run(*paths, "--merge", "-o", evidence, "-o", page, "--exit-zero")
    assert (done.returncode, done.stderr) == (0, b"")
    assert page.exists()
    content = evidence.read_bytes()
    assert b" and 280 more (" in content
    assert frames(evidence)


def test_frames_cut_within_the_options_are_taken_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "snapped.pcap"
    path.write_bytes(pcap(records(stalled().frames), snap_length=54))
    write_evidence(nagle_scan.scan(path), tmp_path / "evidence.pcapng")
    assert {len(data) for data, *_ in frames(tmp_path / "evidence.pcapng")} == {54}
    assert stalls(tmp_path / "evidence.pcapng") == stalls(path)


def test_times_before_1970_are_1970_and_tell_nothing(tmp_path: Path) -> None:
    # pcapng counts from the epoch, without a sign; an interface's offset can go below it.
    rows = [(0, time_ns, data) for time_ns, data in records(stalled().frames)]
    content = pcapng([ETHERNET], rows)
    offset = struct.pack("<HHqHH", 14, 8, -4_000_000_000, 0, 0)
    described = struct.pack("<IIHHI", 1, 20 + len(offset), ETHERNET, 0, 0) + offset
    described += struct.pack("<I", 20 + len(offset))
    path = tmp_path / "old.pcapng"
    path.write_bytes(content[:28] + described + content[48:])
    scan = nagle_scan.scan(path)
    assert set(scan.connections["last_ns"]) == {0}
    assert scan.verdict == "inconclusive"


# What cannot be done.


def test_standard_input_cannot_be_read_again(run: Run, tmp_path: Path) -> None:
    content = (CAPTURES / "java-split.pcap").read_bytes()
    done = run("-", "-o", tmp_path / "evidence.pcapng", stdin=content)
    assert done.returncode == 2
    assert b"save the capture to a file" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "evidence.pcapng").exists()


def test_a_pipe_cannot_be_read_again(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", CAPTURES / "java-split.pcap"], stdout=-1) as cat:
        scan = nagle_scan.scan(f"/dev/fd/{cat.stdout.fileno()}")  # type: ignore[union-attr]
        with pytest.raises(nagle_scan.OutputError, match="second time"):
            write_evidence(scan, tmp_path / "evidence.pcapng")


def test_the_capture_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    capture.write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    (tmp_path / "link.pcapng").symlink_to(capture)
    with pytest.raises(nagle_scan.OutputError, match="overwrite"):
        write_evidence(nagle_scan.scan(capture), tmp_path / "link.pcapng")
    assert run(capture, "-o", tmp_path / "link.pcapng").returncode == 2
    assert capture.read_bytes() == (CAPTURES / "java-split.pcap").read_bytes()


def test_a_capture_that_is_gone_is_an_error(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    scan = nagle_scan.scan(capture)
    capture.unlink()
    with pytest.raises(nagle_scan.NagleScanError):
        write_evidence(scan, tmp_path / "evidence.pcapng")


# What Wireshark makes of it.


def tshark(path: Path, *arguments: str) -> list[str]:
    program = shutil.which("tshark")
    if program is None:
        pytest.skip("tshark is not installed: nobody to ask")
    command = [program, "-r", str(path), "-n", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def fields(path: Path, wanted: str, *names: str) -> list[str]:
    return tshark(path, "-Y", wanted, "-T", "fields", *(f"-e{name}" for name in names))


@pytest.mark.parametrize("name", STALLED)
def test_wireshark_shows_the_comments_and_the_right_lengths(name: str, tmp_path: Path) -> None:
    path, evidence = CAPTURES / f"{name}.pcap", tmp_path / "evidence.pcapng"
    scan = nagle_scan.scan(path)
    write_evidence(scan, evidence)
    comments = fields(evidence, "frame.comment", "frame.comment")
    assert sum("by Nagle" in comment for comment in comments) == len(scan.stalls)
    streams = " || ".join(f"tcp.stream == {row.connection}" for row in scan.core.affected(5))
    names = ("frame.time_epoch", "tcp.len", "tcp.seq_raw", "tcp.ack_raw", "frame.len")
    assert fields(evidence, "tcp", *names) == fields(path, streams, *names)


@pytest.mark.parametrize("name", STALLED)
def test_wireshark_finds_no_new_fault(name: str, tmp_path: Path) -> None:
    path, evidence = CAPTURES / f"{name}.pcap", tmp_path / "evidence.pcapng"
    write_evidence(nagle_scan.scan(path), evidence)
    faults = "_ws.malformed || tcp.analysis.flags || _ws.expert.severity == error"
    assert fields(evidence, faults, "_ws.expert.message") == fields(
        path, faults, "_ws.expert.message"
    )


def test_wireshark_reads_every_kind_of_frame(tmp_path: Path) -> None:
    other = over_ipv6(now_ms=0.5)
    other.isn = {"client": 7_000, "server": 9_000}
    made = interleaved(stalled(), stalled(other))
    rows = [(0, frame.time_ns, in_ethernet(frame.packet)) for frame in made[::2]]
    rows += [(1, frame.time_ns, bytes(frame.packet)) for frame in made[1::2]]
    path = tmp_path / "mixed.pcapng"
    path.write_bytes(pcapng([ETHERNET, RAW], sorted(rows, key=lambda row: row[1])))
    write_evidence(nagle_scan.scan(path), tmp_path / "evidence.pcapng")
    names = ("tcp.stream", "tcp.len", "frame.len")
    assert fields(tmp_path / "evidence.pcapng", "tcp", *names) == fields(path, "tcp", *names)
