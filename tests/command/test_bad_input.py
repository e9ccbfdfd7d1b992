"""Input as it really comes: one line and status 2, or a notice and what was readable."""

from __future__ import annotations

import errno
import gzip
import os
import random
import struct
import subprocess
import threading
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, COMMAND, Run, assert_refused
from conversation import (
    Conversation,
    ethernet,
    in_ethernet,
    interleaved,
    pcap,
    pcapng,
    records,
    stalled,
)
from nagle_scan import CaptureError
from nagle_scan.api import captures
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP

Done = subprocess.CompletedProcess[bytes]
SPLIT = CAPTURES / "java-split.pcap"


def printed(done: Done) -> str:
    """Both outputs, which must never hold a traceback or anything that steers a terminal."""
    both = (done.stdout + done.stderr).decode()
    assert not any(word in both for word in ("Traceback", "Exception", "panicked"))
    assert all(line.isprintable() for line in both.split("\n"))
    return both


def assert_noticed(done: Done, status: int, *words: str) -> None:
    """A report with the words in it; nothing on stderr."""
    report = " ".join(printed(done).split())
    assert (done.returncode, done.stderr) == (status, b"")
    assert [word for word in words if word not in report] == [], report


def saved(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_folder_one_may_not_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with monkeypatch.context() as context:
        context.setattr(os, "scandir", denied)
        with pytest.raises(CaptureError, match=": cannot read: permission denied"):
            captures.grouped([str(tmp_path)])


def test_a_folder_that_is_gone_under_the_command(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    call = ["sh", "-c", f"rmdir '{gone}' && exec '{COMMAND}' '{SPLIT}' -o x.json"]
    done = subprocess.run(call, cwd=gone, capture_output=True, check=False)
    assert_refused(done, "the current folder is gone")


def test_a_file_one_may_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path / "secret.pcap", SPLIT.read_bytes())
    path.chmod(0)
    # Root reads every file, unless it gives that up.
    rights = "--bounding-set=-dac_override,-dac_read_search"
    without = ["setpriv", rights, "--inh-caps=-all"] if os.geteuid() == 0 else []
    done = subprocess.run([*without, COMMAND, path], capture_output=True, check=False)
    assert_refused(done, "secret.pcap", "permission denied")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not a capture file: the file is empty"),
        (b"a text file, quite long enough for a header\n", "neither pcap nor pcapng"),
        (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "ends inside the file header"),
        (random.Random(1).randbytes(5000), "neither pcap nor pcapng"),
        (gzip.compress(b"", mtime=0), "capture file"),
        (gzip.compress(b"a text file, packed, and no capture", mtime=0), "neither pcap nor pcapng"),
        (b"\xfd7zXZ\0" + bytes(100), "unpack it first (unxz -k)"),
        (b"BZh91AY" + bytes(100), "unpack it first (bunzip2 -k)"),
        (pcap([], link_type=220), "link type 220 (USB_LINUX_MMAPPED) is not supported"),
    ],
)
def test_what_is_no_capture(content: bytes, reason: str, run: Run, tmp_path: Path) -> None:
    assert_refused(run(saved(tmp_path / "input", content)), "input: ", reason)
    assert_refused(run("-", stdin=content), "-: ", reason)


MADE = records(stalled().frames)
GOOD = pcap(MADE)
NOT_IP = bytes(ethernet() / ARP())
LEFT_OUT: list[tuple[bytes, int, list[str]]] = [
    (GOOD[:24], 4, ["holds no packets", "INCONCLUSIVE"]),
    (GOOD[:-20], 1, [f"cut off in the middle of a record after frame {len(MADE) - 1}", "3 times"]),
    (
        GOOD + struct.pack("<IIII", 1, 1, 2**31, 60) + GOOD,
        1,
        [f"damaged after frame {len(MADE)}", "impossible length", "3 times"],
    ),
    (
        pcap([(1000, in_ethernet(IP(dst="10.0.0.2") / UDP())), *[(1000, NOT_IP)] * 4]),
        4,
        ["5 of 5 frames not used: 4 not IP (ARP and the like), 1 IP but not TCP (", "INCONCLUSIVE"],
    ),
    (pcap(MADE, snap_length=40), 4, ["15 of 15 frames not used: captured too short"]),
    (
        pcapng([220], [(0, 1000, bytes(60))] * 3),
        4,
        ["3 of 3 frames not used: of a link type that is not supported", "INCONCLUSIVE"],
    ),
]
"""Captures, the exit status, and the notices on what they lack."""


@pytest.mark.parametrize(("content", "status", "notices"), LEFT_OUT)
def test_what_is_left_out_is_reported(
    content: bytes, status: int, notices: list[str], run: Run, tmp_path: Path
) -> None:
    assert_noticed(run(saved(tmp_path / "a.pcap", content)), status, *notices)


def test_a_filter_that_matches_nothing(run: Run) -> None:
    assert_noticed(
        run(SPLIT, "-f", "tcp port 1"),
        4,
        "57 of 57 frames not used: left out by the filter",
        "INCONCLUSIVE No TCP packet matches the filter.",
    )


@pytest.mark.parametrize("times", [("--from", "2040-01-01"), ("--to", "1980-01-01")])
def test_times_without_a_packet_are_not_called_a_filter(times: tuple[str, str], run: Run) -> None:
    assert_noticed(
        run(SPLIT, *times, "-f", "tcp"),
        4,
        "57 of 57 frames not used: outside the times that were asked for",
        "INCONCLUSIVE No TCP packet is within --from and --to.",
    )


def test_a_pcapng_keeps_the_stalls_of_every_interface(run: Run, tmp_path: Path) -> None:
    """A filter refuses none that it cannot read."""
    first, second = stalled(), stalled(Conversation(("10.0.0.9", 50000), now_ms=3.0))
    frames = interleaved(first, second)
    packets = [
        (0, frame.time_ns, in_ethernet(frame.packet))
        if frame in first.frames
        else (2, frame.time_ns, bytes(frame.packet))
        for frame in frames
    ]
    packets.append((1, frames[-1].time_ns, bytes(60)))
    path = saved(tmp_path / "several.pcapng", pcapng([1, 220, 101], packets))
    for options in ([], ["-f", "tcp port 8000"]):
        notice = "1 of 31 frames not used: of a link type that is not supported"
        assert_noticed(run(path, *options), 1, "2 TCP connections", "(2 of 2)", notice)


NASTY = ["\x1b[31mred.pcap", "two\nlines.pcap", "\x07bell\r.pcap", "\u202egnp.pcap", "tab\t.pcap"]


@pytest.mark.parametrize("name", NASTY)
def test_a_file_name_cannot_steer_the_terminal(name: str, run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / name, SPLIT.read_bytes())
    result = tmp_path / f"{name}.json"
    assert_noticed(run(path, "-o", result), 1, "9 times")
    assert result.exists()
    assert_noticed(
        run("--merge", path, saved(tmp_path / f"2{name}", pcap([]))), 1, "holds no packets"
    )
    assert_refused(run(tmp_path / f"no{name}"), "no such file")
    assert_refused(run(saved(path, b"")), "empty")


def test_a_file_name_that_is_not_utf_8(run: Run, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.pcap"
    Path(os.fsdecode(name)).write_bytes(SPLIT.read_bytes())
    assert_refused(run(name), "UTF-8")
    with pytest.raises(nagle_scan.CaptureError):
        nagle_scan.scan(os.fsdecode(name))
    with pytest.raises(nagle_scan.OutputError):
        nagle_scan.scan(SPLIT).write(os.fsdecode(name + b".json"))


def test_a_name_that_is_not_utf_8_costs_only_its_capture(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for name in (b"a.pcap", b"caf\xe9.pcap", b"z.pcap"):
        (folder / os.fsdecode(name)).write_bytes(SPLIT.read_bytes())
    done = run(folder, "-o", f"{tmp_path}/out/")
    assert "UTF-8" in printed(done)
    assert done.returncode == 1
    assert b"3 captures: 2 with stalls, 1 unusable" in done.stdout
    assert len(list((tmp_path / "out").iterdir())) == 8
    assert_refused(run(folder, "--merge"), "UTF-8")


def test_a_terminal_that_cannot_show_the_file_name(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "\u65e5\u672c.pcap", SPLIT.read_bytes())
    done = run(path, env={"PYTHONIOENCODING": "ascii"})
    assert_noticed(done, 1, "\\u65e5\\u672c.pcap", "9 times")


def test_no_standard_output_at_all() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$1" >&-', COMMAND, SPLIT], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_pipe_is_not_opened_a_second_time(run: Run, tmp_path: Path) -> None:
    """A user types `nagle-scan <(ssh host tcpdump -w -) -o page.html`: it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    feed = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(SPLIT.read_bytes()))
    feed.start()
    done = run(tmp_path / "pipe", "-o", tmp_path / "page.html", "-o", tmp_path / "sheet.png")
    feed.join()
    assert (done.returncode, done.stderr) == (1, b"")
