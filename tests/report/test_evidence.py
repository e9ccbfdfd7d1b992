"""`-o evidence.pcapng`: the frames that prove a stall, as Wireshark shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, Run, tshark, write_evidence
from conversation import Conversation, connected, interleaved, stalled, write
from scapy.utils import RawPcapNgReader

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


def test_a_long_connection_is_cut_down_and_says_so(tmp_path: Path) -> None:
    made = connected()
    for number in range(600):
        if number == 300:
            stalled_frame = made.stall().held
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


def test_the_capture_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    capture = tmp_path / "a.pcapng"
    capture.write_bytes((CAPTURES / "java-split.pcap").read_bytes())
    (tmp_path / "link.pcapng").symlink_to(capture)
    with pytest.raises(nagle_scan.OutputError, match="overwrite"):
        write_evidence(nagle_scan.scan(capture), tmp_path / "link.pcapng")
    assert run(capture, "-o", tmp_path / "link.pcapng").returncode == 2
    assert capture.read_bytes() == (CAPTURES / "java-split.pcap").read_bytes()


@pytest.mark.parametrize("name", STALLED)
def test_wireshark_shows_the_comments_the_right_lengths_and_no_new_fault(
    name: str, tmp_path: Path
) -> None:
    path, evidence = CAPTURES / f"{name}.pcap", tmp_path / "evidence.pcapng"
    scan = nagle_scan.scan(path)
    write_evidence(scan, evidence)
    comments = tshark(evidence, "-Y", "frame.comment", fields="frame.comment")
    assert sum("by Nagle" in comment for comment in comments) == len(scan.stalls)
    streams = " || ".join(
        f"tcp.stream == {row.connection}" for row in scan._result.core.affected(5)
    )
    names = "frame.time_epoch tcp.len tcp.seq_raw tcp.ack_raw frame.len"
    shown = tshark(evidence, "-Y", "tcp", fields=names)
    assert shown == tshark(path, "-Y", streams, fields=names) != []
    faults = "_ws.malformed || tcp.analysis.flags || _ws.expert.severity == error"
    before, after = (
        tshark(each, "-Y", faults, fields="_ws.expert.message") for each in (path, evidence)
    )
    assert before == after
