"""`-o nagle.lua` and `-o annotated.pcapng`: tshark shows the stalls of the JSON, no others."""

from __future__ import annotations

from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, stalls_in, tshark, written
from conversation import Conversation, interleaved, over_ipv6, pcap, records, stalled, write

LABELLED = CAPTURES / "labelled"
SHIPPED = [
    *sorted(CAPTURES.glob("*.pcap")),
    *sorted((LABELLED / "formats-rtt2").glob("*.pcap*")),
    *sorted((LABELLED / "both-split-ipv6").glob("*.pcap*")),
]


def shown(path: Path, script: Path, filter: str = "nagle.stall", fields: str = "") -> list[str]:
    words = f"lua_script:{script}"
    return tshark(path, "-X", words, "-Y", filter, fields=fields or "frame.number")


def script_of(path: Path) -> Path:
    script = path.with_suffix(".lua")
    nagle_scan.scan(path).write(script)
    return script


def frames_of_stalls(path: Path, folder: Path) -> list[int]:
    """Frames of the stalls that the JSON lists."""
    stalls = stalls_in(written(nagle_scan.scan(path), folder))
    names = ("frame_unacked", "frame_ack", "frame_held")
    return sorted({stall[name] for stall in stalls for name in names})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_frames_shown_are_those_of_the_json(path: Path, tmp_path: Path) -> None:
    nagle_scan.scan(path).write(tmp_path / "nagle.lua")
    expected = frames_of_stalls(path, tmp_path)
    assert list(map(int, shown(path, tmp_path / "nagle.lua"))) == expected


def test_each_frame_has_its_role_its_numbers_and_links_to_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", stalled(rounds=1).frames)
    stall = nagle_scan.scan(path).stalls.iloc[0]
    a, k, b = (str(stall[f"frame_{name}"]) for name in ("unacked", "ack", "held"))
    names = "frame.number role wait_ms cause confidence nodelay frame_unacked frame_ack frame_held"
    fields = " ".join(name if "number" in name else f"nagle.{name}" for name in names.split())
    same = [str(stall["wait_ms"]), stall["cause"], stall["confidence"], "no"]
    assert [line.split("\t") for line in shown(path, script_of(path), fields=fields)] == [
        [a, "unacknowledged", *same, "", k, b],
        [k, "ACK", *same, a, "", b],
        [b, "held", *same, a, k, ""],
    ]
    ms = stall["wait_ms"]
    assert shown(path, script_of(path), f"nagle.wait_ms > {ms - 1} && nagle.role == held") == [b]
    assert shown(path, script_of(path), f"nagle.wait_ms > {ms + 1}") == []


def test_nothing_is_shown_where_frames_are_numbered_anew(tmp_path: Path) -> None:
    frames = stalled(over_ipv6()).frames
    path = write(tmp_path / "a.pcap", frames)
    assert len(shown(path, script_of(path))) > 3
    assert shown(write(tmp_path / "b.pcap", frames[1:]), script_of(path)) == []


def test_nothing_is_shown_of_another_capture(tmp_path: Path) -> None:
    """Ports and sequence numbers are equal, between other hosts."""
    path = write(tmp_path / "a.pcap", stalled().frames)
    other = write(tmp_path / "b.pcap", stalled(Conversation(("10.0.0.9", 40000))).frames)
    assert shown(other, script_of(other)) != [] == shown(other, script_of(path))


def test_the_annotated_capture_has_every_frame_and_comments_on_every_stall(tmp_path: Path) -> None:
    made = records(interleaved(stalled(), stalled(over_ipv6(now_ms=0.5))))
    rows = [row for frame in made for row in ((frame[0], b"secret of no TCP" * 4), frame)]
    path, annotated = tmp_path / "a.pcap", tmp_path / "annotated.pcapng"
    path.write_bytes(pcap(rows))
    scan = nagle_scan.scan(path)
    scan.write(annotated)
    assert frames_of_stalls(annotated, tmp_path) == frames_of_stalls(path, tmp_path)
    numbers = "frame.number frame.len tcp.stream"
    assert tshark(annotated, fields=numbers) == tshark(path, fields=numbers)
    commented = map(int, tshark(annotated, "-Y", "frame.comment"))
    assert list(commented) == frames_of_stalls(path, tmp_path)
    assert b"secret" not in annotated.read_bytes()
    assert shown(annotated, script_of(path)) == shown(path, script_of(path))


def test_a_script_of_replaced_addresses_is_for_the_annotated_capture(tmp_path: Path) -> None:
    path, annotated = tmp_path / "a.pcap", tmp_path / "annotated.pcapng"
    write(path, stalled().frames)
    scan = nagle_scan.scan(path, anonymize=bytes(range(32)))
    scan.write(annotated)
    scan.write(tmp_path / "nagle.lua")
    assert shown(annotated, tmp_path / "nagle.lua") == shown(path, script_of(path))
    assert shown(path, tmp_path / "nagle.lua") == []
    head = (tmp_path / "nagle.lua").read_text().partition("\nlocal")[0]
    assert "only the annotated.pcapng of the same call" in head
    assert "traffic.pcap" not in head
