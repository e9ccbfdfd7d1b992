"""Input as it really comes: one line and status 2, or a notice and what was readable."""

from __future__ import annotations

import errno
import gzip
import os
import random
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, COMMAND, Run, needs_full
from conversation import (
    Conversation,
    Side,
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
from nagle_scan.report import formats
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP
from scapy.packet import Raw

Done = subprocess.CompletedProcess[bytes]
SPLIT = CAPTURES / "java-split.pcap"
CLEAN = CAPTURES / "java-single-write.pcap"


def printed(done: Done) -> str:
    """Both outputs, which must never hold a traceback or anything that steers a terminal."""
    both = (done.stdout + done.stderr).decode()
    assert "Traceback" not in both
    assert "Exception" not in both
    assert "panicked" not in both
    assert [
        character for character in both if not (character.isprintable() or character == "\n")
    ] == []
    return both


def assert_refused(done: Done, *words: str) -> None:
    """One line on stderr that holds the words, status 2, nothing on stdout."""
    assert done.stdout == b""
    assert_failed(done, *words)


def assert_not_written(done: Done, *words: str) -> None:
    """The report, and one line on stderr that holds the words: status 2."""
    assert b"9 times" in done.stdout
    assert_failed(done, *words)


def assert_failed(done: Done, *words: str) -> None:
    """One line on stderr that holds the words, and status 2."""
    printed(done)
    line = done.stderr.decode()
    assert done.returncode == 2
    assert line.startswith("nagle-scan: ")
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert [word for word in words if word not in line] == [], line


def assert_noticed(done: Done, status: int, *words: str) -> None:
    """A report with the words in it; nothing on stderr."""
    report = " ".join(printed(done).split())
    assert (done.returncode, done.stderr) == (status, b"")
    assert [word for word in words if word not in report] == [], report


def saved(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_file_that_is_not_there(run: Run) -> None:
    assert_refused(run("/no/such.pcap"), "/no/such.pcap", "no such file")


def test_one_missing_file_among_several(run: Run) -> None:
    assert_refused(run(SPLIT, "/no/such.pcap", CLEAN), "/no/such.pcap")


def test_a_folder(run: Run, tmp_path: Path) -> None:
    assert_refused(run(tmp_path), "a folder without captures")


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
    as_nobody: list[str] = []
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("root reads every file, and setpriv is not installed")
        as_nobody = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
        check = [*as_nobody, str(COMMAND), "--version"]
        if subprocess.run(check, capture_output=True, check=False).returncode != 0:
            pytest.skip("root reads every file, and user 'nobody' cannot run this environment")
    done = subprocess.run([*as_nobody, COMMAND, path], capture_output=True, check=False)
    assert_refused(done, "secret.pcap", "permission denied")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n", "not a capture file"),
        (b"a text file, quite long enough for a header\n", "neither pcap nor pcapng"),
        (b'{"schema": "nagle-scan/1", "captures": []}', "neither pcap nor pcapng"),
        (b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "ends inside the file header"),
        (random.Random(1).randbytes(5000), "neither pcap nor pcapng"),
        (gzip.compress(b"a text file that somebody packed, long enough", mtime=0), "capture file"),
        (gzip.compress(b"", mtime=0), "capture file"),
    ],
)
def test_what_is_no_capture(content: bytes, reason: str, run: Run, tmp_path: Path) -> None:
    assert_refused(run(saved(tmp_path / "input", content)), "input: not a capture", reason)
    assert_refused(run("-", stdin=content), "-: not a capture", reason)


def test_a_link_type_nobody_can_read(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "usb.pcap", pcap([], link_type=220))
    assert_refused(run(path), "link type 220 (USB_LINUX_MMAPPED) is not supported", "Ethernet")


def test_a_pcapng_of_a_link_type_nobody_can_read(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "usb.pcapng", pcapng([220], [(0, 1000, bytes(60))] * 3))
    assert_noticed(
        run(path), 4, "3 of 3 frames not used: of a link type that is not supported", "INCONCLUSIVE"
    )


@pytest.mark.parametrize(
    "expression", ["tcp prot 80", "port", "\x1b[31m", "host \x00", "(", "a\nb"]
)
def test_a_filter_that_makes_no_sense(expression: str, run: Run) -> None:
    if "\x00" in expression:
        with pytest.raises(nagle_scan.FilterError):
            nagle_scan.scan(SPLIT, filter=expression)
        return
    assert_refused(run(SPLIT, "-f", expression), "filter")


def test_a_filter_that_matches_nothing(run: Run) -> None:
    assert_noticed(
        run(SPLIT, "-f", "tcp port 1"),
        4,
        "57 of 57 frames not used: left out by the filter",
        "INCONCLUSIVE No TCP packet matches the filter.",
    )


@pytest.mark.parametrize("missing", [1, 20, 59])
def test_a_capture_cut_in_the_middle_of_a_record(missing: int, run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "cut.pcap", SPLIT.read_bytes()[:-missing])
    assert_noticed(run(path), 1, "cut off in the middle of a record after frame 56", "9 times")


def test_a_capture_damaged_in_the_middle(run: Run, tmp_path: Path) -> None:
    made = stalled()
    good = pcap(records(made.frames))
    path = saved(tmp_path / "damaged.pcap", good + struct.pack("<IIII", 1, 1, 2**31, 60) + good)
    assert_noticed(
        run(path), 1, f"damaged after frame {len(made.frames)}", "impossible length", "3 times"
    )


def test_nothing_but_udp(run: Run, tmp_path: Path) -> None:
    datagram = in_ethernet(IP(dst="10.0.0.2") / UDP() / Raw(b"x" * 30))
    path = saved(tmp_path / "udp.pcap", pcap([(1000, datagram)] * 5))
    assert_noticed(run(path), 4, "5 of 5 frames not used: IP but not TCP", "INCONCLUSIVE")


def test_nothing_but_arp(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "arp.pcap", pcap([(1000, bytes(ethernet() / ARP()))] * 4))
    assert_noticed(run(path), 4, "4 of 4 frames not used: not IP", "INCONCLUSIVE")


def test_no_packet_at_all(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "none.pcap", pcap([]))
    assert_noticed(run(path), 4, "holds no packets", "INCONCLUSIVE")


def test_frames_cut_before_the_tcp_header(run: Run, tmp_path: Path) -> None:
    made = stalled()
    path = saved(tmp_path / "short.pcap", pcap(records(made.frames), snap_length=40))
    count = len(made.frames)
    assert_noticed(run(path), 4, f"{count} of {count} frames not used: captured too short")


def test_a_pcapng_keeps_the_stalls_of_every_interface(run: Run, tmp_path: Path) -> None:
    # Of other sequence numbers: else it would be the same connection, captured twice.
    isn: dict[Side, int] = {"client": 7_000, "server": 9_000}
    first, second = stalled(), stalled(Conversation(("10.0.0.9", 50000), isn=isn, now_ms=3.0))
    frames = interleaved(first, second)
    mine = {id(frame) for frame in first.frames}
    packets = [
        (0, frame.time_ns, in_ethernet(frame.packet))
        if id(frame) in mine
        else (2, frame.time_ns, bytes(frame.packet))
        for frame in frames
    ]
    path = saved(tmp_path / "several.pcapng", pcapng([1, 220, 101], packets))
    assert_noticed(run(path), 1, "2 TCP connections", "(2 of 2)")


of_each_format = pytest.mark.parametrize(
    "suffix", [format.suffixes[0] for format in formats.FORMATS]
)


@of_each_format
def test_an_output_in_a_folder_that_is_not_there(suffix: str, run: Run, tmp_path: Path) -> None:
    name = f"no/such/folder/x{suffix}"
    done = run(SPLIT, "-o", tmp_path / name)
    assert_not_written(done, name, "cannot write", "no such file or directory")


def test_an_output_that_is_a_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").mkdir()
    assert_not_written(run(SPLIT, "-o", tmp_path / "x.json"), "x.json", "is a directory")


@needs_full
@of_each_format
def test_an_output_on_a_full_disk(suffix: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / f"full{suffix}").symlink_to("/dev/full")
    done = run(SPLIT, "-o", tmp_path / f"full{suffix}")
    assert_not_written(done, "cannot write", "no space left")


@pytest.mark.parametrize("name", ["x.txt", "x", "json", "x.json.bak", "\x1b[2J.xls", ""])
def test_an_output_of_an_unknown_kind_is_refused_before_any_work(name: str, run: Run) -> None:
    assert_refused(run("/no/such.pcap", "-o", name), "suffix", ".json", ".csv")


@pytest.mark.parametrize(
    "value", ["", "soon", "0", "-5", "nan", "inf", "1e99", "\x1b[31m10", "10ms"]
)
def test_a_nonsense_min_wait(value: str, run: Run) -> None:
    assert_refused(run(SPLIT, f"--min-wait={value}"), "--min-wait", "milliseconds")


@pytest.mark.parametrize("option", ["--no-such-option", "--\x1b[31mred", "--\nnew", b"--\xff"])
def test_an_unknown_option(option: str | bytes, run: Run) -> None:
    assert_refused(run(SPLIT, option), "--help")


def test_no_argument_at_all(run: Run) -> None:
    assert_refused(run(), "capture")


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
    assert_not_written(run(SPLIT, "-o", tmp_path / f"no{name}" / "x.json"), "cannot write")


def test_a_file_name_that_is_not_utf_8(run: Run, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.pcap"
    Path(os.fsdecode(name)).write_bytes(SPLIT.read_bytes())
    done = run(name)
    if done.returncode == 2:
        assert_refused(done, "UTF-8")
    else:
        assert_noticed(done, 1, "9 times")
    assert printed(run(name + b"-missing"))
    assert_refused(run(SPLIT, "-o", name), "suffix")
    assert_refused(run(SPLIT, "-o", name + b".json"), "UTF-8")
    assert_refused(run(SPLIT, "-f", b"host \xff"), "UTF-8")


def test_a_name_that_is_not_utf_8_costs_only_its_capture(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    for name in (b"a.pcap", b"caf\xe9.pcap", b"z.pcap"):
        (folder / os.fsdecode(name)).write_bytes(SPLIT.read_bytes())
    done = run(folder, "-o", f"{tmp_path}/out/")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1
    assert b"3 captures: 2 with stalls, 1 unusable" in done.stdout
    assert b"UTF-8" in done.stdout + done.stderr
    assert len(list((tmp_path / "out").iterdir())) == 8
    alone = run(folder, "--merge")
    assert alone.returncode == 2
    assert alone.stderr.count(b"\n") == 1
    assert b"UTF-8" in alone.stderr


def test_a_file_name_that_is_not_utf_8_from_python(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.json")
    with pytest.raises(nagle_scan.CaptureError):
        nagle_scan.scan(tmp_path / name)
    scan = nagle_scan.scan(SPLIT)
    with pytest.raises(nagle_scan.OutputError):
        scan.write(tmp_path / name)


def test_a_terminal_that_cannot_show_the_file_name(run: Run, tmp_path: Path) -> None:
    path = saved(tmp_path / "\u65e5\u672c.pcap", SPLIT.read_bytes())
    done = run(path, env={"PYTHONIOENCODING": "ascii"})
    assert_noticed(done, 1, "\\u65e5\\u672c.pcap", "9 times")


BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""An output that cannot be written shows at exit, if no sooner."""


@pytest.mark.parametrize(
    ("argument", "status"), [(str(SPLIT), 1), (str(CLEAN), 0), ("--help", 0), ("--version", 0)]
)
def test_an_output_pipe_that_is_closed_is_no_error(argument: str, status: int) -> None:
    command = [str(COMMAND), argument]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            command, stdout=writer, stderr=subprocess.PIPE, env=BUFFERED, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (status, b"")


def test_no_standard_output_at_all() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" "$1" >&-', COMMAND, SPLIT], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")


@needs_full
def test_a_full_disk_behind_standard_output() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, SPLIT], stdout=full, stderr=subprocess.PIPE, env=BUFFERED, check=False
        )
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (2, 1)
    assert "cannot write" in lines[0]


def test_standard_input_named_twice_is_refused(run: Run) -> None:
    content = (CAPTURES / "java-split.pcap").read_bytes()
    assert_refused(run("-", "-", stdin=content), "-: standard input", "only once")


def test_standard_input_cannot_be_read_twice() -> None:
    script = (
        "import nagle_scan, sys\n"
        "scan = nagle_scan.scan('-')\n"
        "assert len(scan.stalls) == 9\n"
        "try: scan.segments(0)\n"
        "except nagle_scan.CaptureError as error: print(error)\n"
    )
    python = COMMAND.with_name("python")
    done = subprocess.run(
        [python, "-c", script], input=SPLIT.read_bytes(), capture_output=True, check=False
    )
    assert b"standard input" in done.stdout, done.stderr


def test_a_capture_that_is_gone_when_it_is_read_again(tmp_path: Path) -> None:
    path = saved(tmp_path / "gone.pcap", SPLIT.read_bytes())
    scan = nagle_scan.scan(path)
    path.unlink()
    with pytest.raises(nagle_scan.CaptureError, match=r"gone\.pcap"):
        scan.segments(0)


def test_a_pipe_is_not_opened_a_second_time(run: Run, tmp_path: Path) -> None:
    """As in `nagle-scan <(ssh host tcpdump -w -) -o page.html`: it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    feed = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(SPLIT.read_bytes()))
    feed.start()
    done = run(tmp_path / "pipe", "-o", tmp_path / "page.html", "-o", tmp_path / "sheet.png")
    feed.join()
    assert (done.returncode, done.stderr) == (1, b"")


@of_each_format
def test_a_capture_of_which_the_output_is_another_name_survives(
    suffix: str, run: Run, tmp_path: Path
) -> None:
    capture = saved(tmp_path / "traffic.pcap", SPLIT.read_bytes())
    (tmp_path / f"out{suffix}").hardlink_to(capture)
    run(capture, "-o", tmp_path / f"out{suffix}")
    assert capture.read_bytes() == SPLIT.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"out{suffix}", "traffic.pcap"]


def unordered(first: bytes, second: bytes) -> bytes:
    return second + first[24:]


def repeated(first: bytes, second: bytes) -> bytes:
    return first + second[24:] + first[24:]


@pytest.mark.parametrize("mix", [unordered, repeated])
def test_times_that_go_backwards_crash_nothing(
    mix: Callable[[bytes, bytes], bytes], run: Run, tmp_path: Path
) -> None:
    content = SPLIT.read_bytes()
    later = pcap(records(stalled().frames))
    assert printed(run(saved(tmp_path / "mixed.pcap", mix(later, content))))
