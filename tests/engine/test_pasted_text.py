"""Printed text, as users paste it into tickets, tells what the capture tells.

The oracle is the capture. What was printed lies in `printed`; where tcpdump and tshark are
installed, they print the shipped captures in every form.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, Run, write_evidence, written
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

PRINTED = ROOT / "tests" / "printed"
SPLIT = CAPTURES / "java-split.pcap"
FIXTURES = sorted(PRINTED.glob("*.txt"))
NAMES = (PRINTED / "names.txt").read_text()

STALL = ["connection", "cause", "sender", "confidence", "frame_unacked", "frame_ack", "frame_held"]
STALL += ["rel_seq", "len", "len_unacked"]
WAIT = ["connection", "cause", "sender", "frame_from", "frame_to"]
NAGLE = ["client_nagle", "server_nagle", "verdict"]
PRINTED_MS = 0.002
"""Two times in microseconds are as far off at most."""


def rows_of(table: Any, columns: list[str]) -> list[list[object]]:
    found: list[list[object]] = table[columns].astype(str).to_numpy().tolist()
    return found


def assert_same(text: Path, capture: Path) -> None:
    """The same verdict, stalls, waits and causes."""
    of_text, whole = nagle_scan.scan(text), nagle_scan.scan(capture)
    assert of_text.verdict == whole.verdict
    assert rows_of(of_text.stalls, STALL) == rows_of(whole.stalls, STALL)
    assert rows_of(of_text.waits, WAIT) == rows_of(whole.waits, WAIT)
    assert rows_of(of_text.connections, NAGLE) == rows_of(whole.connections, NAGLE)
    for of, table in ((of_text.stalls, whole.stalls), (of_text.waits, whole.waits)):
        assert of.wait_ms.to_numpy() == pytest.approx(table.wait_ms.to_numpy(), abs=PRINTED_MS)


def said(text: Path) -> str:
    """All notices."""
    return "\n".join(notice for _, notice in nagle_scan.scan(text).warnings)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_printed_text_tells_what_the_capture_tells(path: Path) -> None:
    assert len(nagle_scan.scan(path).stalls) > 0
    assert_same(path, SPLIT)


TIMES = ["", "-tt", "-ttt", "-tttt", "-ttttt", "--nano"]
FORMS = [
    *(f"-n {time}" for time in TIMES),
    *(f"-n -v {time}" for time in TIMES),
    "",
    "-v",
    "-n -S",
    "-n -e",
    "-n -X",
    "-n -A",
    "-n -vv -S --number",
    "-n -v -e -ttt -x",
]
VERBOSE = [form for form in FORMS if "-v" in form]
"""Without the IP identification losses do not show, and some labelled captures have them."""
LABELLED = sorted((CAPTURES / "labelled").glob("*/*.pcap.gz"))
SAMPLE = [(path, VERBOSE[index % len(VERBOSE)]) for index, path in enumerate(LABELLED[::9])]


def printed(capture: Path, form: str, folder: Path, by: str = "tcpdump") -> Path:
    program = shutil.which(by)
    if program is None:
        pytest.skip(f"{by} is not installed: only what it printed elsewhere is read")
    path = folder / "printed.txt"
    with path.open("wb") as text:
        command = [program, *form.split(), "-r", str(capture)]
        subprocess.run(command, stdout=text, stderr=subprocess.PIPE, check=True)
    return path


EXAMPLES = [SPLIT, CAPTURES / "epoll-fd0.pcap"]
"""One connection, and several at once."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("capture", EXAMPLES, ids=lambda path: path.stem)
def test_every_form_tells_what_the_capture_tells(capture: Path, form: str, tmp_path: Path) -> None:
    assert_same(printed(capture, form, tmp_path), capture)


@pytest.mark.parametrize("time", ["r", "a", "ad", "d", "e"])
@pytest.mark.parametrize("capture", EXAMPLES, ids=lambda path: path.stem)
def test_a_packet_list_tells_what_the_capture_tells(
    capture: Path, time: str, tmp_path: Path
) -> None:
    form = f"-n -t {time} --disable-protocol http"
    assert_same(printed(capture, form, tmp_path, by="tshark"), capture)


FIELDS = "frame.time_epoch ip.src ipv6.src tcp.srcport ip.dst ipv6.dst tcp.dstport"
FIELDS += " tcp.flags tcp.seq tcp.ack tcp.len tcp.options.mss_val ip.id"
OF_FIELDS = " ".join(f"-e {field}" for field in FIELDS.split())
TSHARK_FORMS = ["-V", "-T json", "-T ek", f"-T json {OF_FIELDS}"]
TSHARK_FORMS += [f"-T fields -E header=y {form} {OF_FIELDS}" for form in ("", "-E separator=,")]


@pytest.mark.parametrize("form", TSHARK_FORMS)
@pytest.mark.parametrize("capture", EXAMPLES, ids=lambda path: path.stem)
def test_other_forms_of_tshark_tell_what_the_capture_tells(
    capture: Path, form: str, tmp_path: Path
) -> None:
    of_text = nagle_scan.scan(printed(capture, form, tmp_path, by="tshark"))
    whole = nagle_scan.scan(capture)
    assert of_text.verdict == whole.verdict
    assert rows_of(of_text.stalls, STALL) == rows_of(whole.stalls, STALL)


@pytest.mark.parametrize("capture", EXAMPLES, ids=lambda path: path.stem)
def test_a_packet_list_of_messages_tells_what_the_capture_tells(
    capture: Path, tmp_path: Path
) -> None:
    """Of four connections that send the same at the same time, each message is given to one."""
    of_text = nagle_scan.scan(printed(capture, "-n", tmp_path, by="tshark"))
    whole = nagle_scan.scan(capture)
    assert of_text.verdict == whole.verdict
    assert len(of_text.stalls) == len(whole.stalls)


def test_messages_in_a_packet_list_are_segments(run: Run, tmp_path: Path) -> None:
    """Without the held segments the capture of a stalling server would be clean."""
    rows = (PRINTED / "packet-list.txt").read_text().splitlines()
    messages = [re.sub(r"TCP (\d+) .*PSH.*", r"HTTP \1 GET / HTTP/1.1", row) for row in rows]
    assert sum("HTTP" in row for row in messages) > 30
    text = tmp_path / "list.txt"
    text.write_text("\n".join(messages))
    of_text, whole = nagle_scan.scan(text), nagle_scan.scan(PRINTED / "packet-list.txt")
    assert of_text.verdict == "stalls"
    assert rows_of(of_text.stalls, STALL) == rows_of(whole.stalls, STALL)
    assert "show a message instead of Seq, Ack and Len: inferred" in said(text)
    text.write_text(next(row for row in messages if "HTTP" in row))
    done = run(text)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"print the capture again with 'tcpdump -nvv -r FILE'" in done.stderr


@pytest.mark.parametrize(("packed", "form"), SAMPLE, ids=lambda part: getattr(part, "stem", part))
def test_labelled_captures_tell_the_same_as_text(packed: Path, form: str, tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcap"
    with gzip.open(packed) as file:
        try:
            capture.write_bytes(file.read())
        except EOFError:
            pytest.skip("a packed file that was cut, for another test")
    assert_same(printed(capture, form, tmp_path), capture)


def test_standard_input_and_packed_text_are_read(run: Run, tmp_path: Path) -> None:
    done = run("-", stdin=NAMES.encode())
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"STALLS" in done.stdout
    packed = tmp_path / "printed.txt.gz"
    packed.write_bytes(gzip.compress(NAMES.encode()))
    assert_same(packed, SPLIT)


def test_what_text_does_not_tell_is_said(tmp_path: Path) -> None:
    without_date = said(PRINTED / "names.txt")
    assert "no payload" in without_date
    assert "no IP identification" in without_date
    assert "no date" in without_date
    with_both = said(PRINTED / "link-verbose.txt")
    assert "no payload" in with_both
    assert "no IP identification" not in with_both
    assert "no date" not in with_both
    page = tmp_path / "page.html"
    nagle_scan.scan(PRINTED / "names.txt").write(page)
    assert "captured 07:49:11.435 to 07:49:" in page.read_text()
    assert "display filter" not in page.read_text()


def test_names_are_shown_but_not_when_anonymized(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "names.txt"
    named = NAMES.replace("localhost.8000", "db.example.my-db").replace("localhost", "web.example")
    text.write_text(named)
    assert "192.0.2.1 is web.example, 192.0.2.2 is db.example, port 1 is my-db" in said(text)
    scan = nagle_scan.scan(text)
    assert scan.connections.server_addr.tolist() == ["192.0.2.2"]
    shown = run(text).stdout.decode()
    assert "db.example" in shown
    assert "192.0.2." not in shown.split("note:")[0]
    assert len(scan.stalls) == len(nagle_scan.scan(SPLIT).stalls)
    hidden = nagle_scan.scan(text, anonymize=bytes(range(32)))
    assert "example" not in str(written(hidden, tmp_path))


def test_text_holds_no_frames_to_give_away(run: Run, tmp_path: Path) -> None:
    outputs = [tmp_path / "result.json", tmp_path / "evidence.pcapng"]
    done = run(FIXTURES[0], "-o", outputs[0], "-o", outputs[1])
    assert done.returncode == 2
    assert b"evidence.pcapng: printed text holds no frames" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert [path.exists() for path in outputs] == [True, False]
    scan = nagle_scan.scan(FIXTURES[0])
    with pytest.raises(nagle_scan.OutputError, match="no frames"):
        write_evidence(scan, outputs[1])
    with pytest.raises(nagle_scan.CaptureError, match="no frames"):
        scan.packets([1])


def test_no_frame_of_a_text_is_said_to_be_cut(run: Run) -> None:
    report = run(FIXTURES[0]).stdout.decode()
    assert "send the whole message in one write" in " ".join(report.split())
    assert "Frames were cut" not in report


def test_a_filter_chooses_connections_of_a_text() -> None:
    assert nagle_scan.scan(FIXTURES[0], filter="tcp port 1").verdict == "inconclusive"
    assert nagle_scan.scan(FIXTURES[0], filter="tcp port 8000").verdict == "stalls"


LINES = NAMES.splitlines(keepends=True)
LINES += (PRINTED / "packet-list.txt").read_text().splitlines(keepends=True)[:9]
PIECES = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(["seq ", "ack 4294967295", "{1:2}", "IP6 ::1.1 > ", ":", "\0", "> ", "\r"]),
    st.text(max_size=12),
)


@settings(
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(pieces=st.lists(PIECES, max_size=30), tail=st.binary(max_size=64))
@example(pieces=[f"999999:59:59.999999 IP {'a' * 300}.1 > b.2: Flags [S]"], tail=b"\xff")
def test_no_text_breaks_the_scan(pieces: list[str], tail: bytes, tmp_path: Path) -> None:
    text = tmp_path / "any.txt"
    text.write_bytes(LINES[0].encode() + "".join(pieces).encode(errors="replace") + tail)
    scan = nagle_scan.scan(text)
    assert scan.verdict in {"stalls", "possible", "clean", "inconclusive"}
    assert all(notice.isprintable() for _, notice in scan.warnings)
