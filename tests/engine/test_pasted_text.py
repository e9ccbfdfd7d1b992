"""Printed text, as users paste it into tickets, tells what the capture tells.

The oracle is the capture. What was printed lies in `printed`; where tcpdump and tshark are
installed, they print the shipped captures in every form.
"""

from __future__ import annotations

import gzip
import html
import quopri
import shutil
import subprocess
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, Run, written
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


def assert_same_verdict(text: Path, capture: Path) -> None:
    """A list of messages tells no more: where several connections send the same at the same time,
    each message is given to one.
    """
    of_text, whole = nagle_scan.scan(text), nagle_scan.scan(capture)
    assert of_text.verdict == whole.verdict
    assert len(of_text.stalls) == len(whole.stalls)


def assert_same_stalls(text: Path, capture: Path) -> None:
    of_text, whole = nagle_scan.scan(text), nagle_scan.scan(capture)
    assert of_text.verdict == whole.verdict
    assert rows_of(of_text.stalls, STALL) == rows_of(whole.stalls, STALL)


def assert_same(text: Path, capture: Path) -> None:
    """Verdict, stalls, waits and causes are equal."""
    assert_same_stalls(text, capture)
    of_text, whole = nagle_scan.scan(text), nagle_scan.scan(capture)
    assert rows_of(of_text.waits, WAIT) == rows_of(whole.waits, WAIT)
    assert rows_of(of_text.connections, NAGLE) == rows_of(whole.connections, NAGLE)
    for of, table in ((of_text.stalls, whole.stalls), (of_text.waits, whole.waits)):
        assert of.wait_ms.to_numpy() == pytest.approx(table.wait_ms.to_numpy(), abs=PRINTED_MS)


def said(text: Path) -> str:
    """All notices."""
    return "\n".join(notice for _, notice in nagle_scan.scan(text).warnings)


TSHARK_TIMES = ["r", "a", "ad", "d", "e"]
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


FIELDS = "frame.time_epoch ip.src ipv6.src tcp.srcport ip.dst ipv6.dst tcp.dstport"
FIELDS += " tcp.flags tcp.seq tcp.ack tcp.len tcp.options.mss_val ip.id"
OF_FIELDS = " ".join(f"-e {field}" for field in FIELDS.split())
FIELD_FORMS = ["-V", "-T json", "-T ek", f"-T json {OF_FIELDS}"]
FIELD_FORMS += [f"-T fields -E header=y {form} {OF_FIELDS}" for form in ("", "-E separator=,")]
EVERY_FORM = [
    *(("tcpdump", form, assert_same) for form in FORMS),
    *(("tshark", f"-n -t {time} --disable-protocol http", assert_same) for time in TSHARK_TIMES),
    *(("tshark", form, assert_same_stalls) for form in FIELD_FORMS),
    ("tshark", "-n", assert_same_verdict),
]


@pytest.mark.parametrize(("by", "form", "check"), EVERY_FORM)
@pytest.mark.parametrize("name", ["java-split", "epoll-fd0"])
def test_every_form_tells_what_the_capture_tells(
    name: str, by: str, form: str, check: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    """One connection, and several at once."""
    capture = CAPTURES / f"{name}.pcap"
    check(printed(capture, form, tmp_path, by), capture)


@pytest.mark.parametrize(("packed", "form"), SAMPLE, ids=lambda part: getattr(part, "stem", part))
def test_labelled_captures_tell_the_same_as_text(packed: Path, form: str, tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcap"
    capture.write_bytes(gzip.decompress(packed.read_bytes()))
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
    with pytest.raises(nagle_scan.CaptureError, match="no frames"):
        nagle_scan.scan(FIXTURES[0]).packets([1])


def test_a_ticket_of_a_text_has_a_note_for_its_evidence(run: Run, tmp_path: Path) -> None:
    ticket = tmp_path / "ticket.zip"
    done = run(FIXTURES[0], "-o", ticket)
    assert (done.returncode, done.stderr) == (1, b"")
    with zipfile.ZipFile(ticket) as packed:
        names = packed.namelist()
        assert names == ["no-evidence.txt", "ticket.md", "report.html", "timeline.png"]
        assert b"printed text holds no frames" in packed.read(names[0])


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


PASTED = {
    "acks_padded_to_60.txt": (9, "clean", []),
    "arrow_without_spaces.txt": (7, "stalls", [40.4]),
    "both_ends_in_one_paste.txt": (8, "clean", []),
    "csv_semicolon_comma.csv": (4, "stalls", [44.0]),
    "mail_wrapped_after_gt.txt": (4, "stalls", [44.0]),
    "mail_wrapped_list.txt": (4, "stalls", [44.0]),
    "mail_wrapped_nvv.txt": (4, "stalls", [44.0]),
    "names_and_service_first.txt": (7, "stalls", [40.4]),
    "netmon.txt": (4, "stalls", [40.4]),
    "newlines_lost.txt": (4, "stalls", [44.0]),
    "one_side_dissected_idle.txt": (6, "clean", []),
    "pktmon.txt": (4, "stalls", [40.4]),
    "quoted_printable.eml": (4, "stalls", [44.0]),
    "syn_options_cut.txt": (11, "stalls", [40.2, 40.2]),
    "syn_without_options.txt": (11, "stalls", [40.2, 40.2]),
    "wireshark_export_expanded.txt": (3, "clean", []),
    "zero_window_no_data.txt": (4, "inconclusive", []),
}
"""Packets, the verdict, and how long segments were held, in ms."""


@pytest.mark.parametrize("name", PASTED)
def test_what_people_paste_is_read(name: str) -> None:
    scan = nagle_scan.scan(PRINTED / "pasted" / name)
    packets = int(scan.connections[["client_segments", "server_segments"]].to_numpy().sum())
    assert (packets, scan.verdict, scan.stalls.wait_ms.round(1).tolist()) == PASTED[name]
    assert "frames not used" not in said(PRINTED / "pasted" / name)


def wrapped(text: str, width: int = 72) -> str:
    """Lines are broken as mail programs do."""
    lines = (textwrap.wrap(line, width, break_on_hyphens=False) for line in text.splitlines())
    return "".join(f"{part}\n" for line in lines for part in line or [""])


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


MAILED: dict[str, Callable[[str], str]] = {
    "as it was printed": str,
    "wrapped at 72": wrapped,
    "wrapped at 76": lambda text: wrapped(text, 76),
    "quoted twice": lambda text: quoted(quoted(text)),
    "quoted and wrapped": lambda text: wrapped(quoted(text), 76),
    "wrapped and quoted": lambda text: quoted(wrapped(text)),
    "quoted-printable": lambda text: quopri.encodestring(text.encode()).decode(),
    "HTML": lambda text: "<pre>" + html.escape(text).replace("\n", "<br/>\n") + "</pre>",
    "an empty line after each": lambda text: text.replace("\n", "\n\n"),
    "line ends lost": lambda text: " ".join(text.splitlines()),
}


@pytest.mark.parametrize("by", MAILED)
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_printed_text_tells_what_the_capture_tells_however_it_was_mailed(
    path: Path, by: str, tmp_path: Path
) -> None:
    text = tmp_path / "mailed.txt"
    text.write_text(MAILED[by](path.read_text()))
    assert len(nagle_scan.scan(text).stalls) > 0
    assert_same(text, SPLIT)


def test_rows_that_were_left_out_are_no_proof(tmp_path: Path) -> None:
    """Whoever pastes a part would read that nothing was held."""
    rows = (PRINTED / "pasted" / "one_side_dissected_idle.txt").read_text().splitlines(True)
    text = tmp_path / "elided.txt"
    text.write_text("".join([*rows[:3], "[...]\n", *rows[3:]]))
    assert nagle_scan.scan(text).verdict == "inconclusive"
    assert "rows are missing at 1 place" in said(text)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_trace_beside_the_rows_is_one_of_the_same_scan(is_first: bool, tmp_path: Path) -> None:
    """Whoever pastes both would read nothing of the calls."""
    rows = printed(CAPTURES / "calls/epoll-fd0.pcap", "-n -vv -tt", tmp_path).read_text()
    trace = (CAPTURES / "calls/epoll-fd0.strace").read_text()
    text = tmp_path / "both.txt"
    text.write_text(trace + rows if is_first else rows + trace)
    report = nagle_scan.scan(text).render("md")
    assert "38 of 38 were written before the ACK came" in report


def test_two_captures_in_one_text_are_offered_as_a_pair(tmp_path: Path) -> None:
    """A wait from one capture to the other would be one that no program had."""
    rows = (PRINTED / "date-absolute.txt").read_text()
    text = tmp_path / "pair.txt"
    text.write_text(f"Before:\n{rows}After TCP_NODELAY:\n{rows}")
    scan = nagle_scan.scan(text)
    assert len(scan.stalls) == len(nagle_scan.scan(PRINTED / "date-absolute.txt").stalls)
    assert "--baseline BEFORE.txt" in said(text)


def test_rows_that_people_left_out_were_not_dropped(tmp_path: Path) -> None:
    """A larger buffer brings back nothing that somebody deleted."""
    rows = (PRINTED / "date-absolute.txt").read_text().splitlines(True)
    text = tmp_path / "elided.txt"
    text.write_text("".join([*rows[:10], "(non relevant packets removed)\n", *rows[54:]]))
    report = nagle_scan.scan(text).render("md")
    assert "larger buffer" not in report
    assert "aste all rows" in report


SENT = "192.0.2.1.4 > 192.0.2.2.80: Flags [P.], seq 1:101, ack 1, win 502, length 100"
REFUSED = {
    "1 0.000000 192.0.2.1 192.0.2.2 HTTP 83 GET / HTTP/1.1": "tcpdump -nvv -r FILE",
    "1 0.000000 192.0.2.1 → 192.0.2.2 TCP 66 [ACK] Seq=1 Ack=1 Win=502 Len=0": "without ports",
    "1 192.0.2.1 192.0.2.2 TCP 66 4 → 80 [ACK] Seq=1 Ack=1 Win=502 Len=0": "list without the times",
    "1 0.000000 192.0.2.1 → 192.0.2.2 DNS 72 Standard query 0x1 A a.b": "none of which is TCP",
    "10:00:00 IP 192.0.2.1.4 > 192.0.2.2.80: Flags [.], ack 1, win 5, length 0": "in whole seconds",
    "1795247351.4\t10.0.0.1\t4\t10.0.0.2\t80\t0x0002\t0\t0\t0": "without a line that names them",
    "\t0x0000:  4500 003c 1c46 4000 4006 b1e6 c0a8 0001": "hex dump",
    '12:00:00.000100 write(5, "HTTP/1.1 200 OK", 15) = 15': "give it with --calls",
    "10:00:00.000000 IP 192.0.2.1.4 > 192.0.2.2.80: tcp 16": "printed with -q.*tcpdump -nvv -r",
    f"IP {SENT}": "with -t: print the capture again",
    f"IP (tos 0x0, proto TCP (6), length 60)\n    {SENT}": "with -t: print the capture again",
    f"10:00:00.000000 IP {SENT.replace('.4 ', ' ').replace('.80:', ':')}": "without ports",
    f"10:00:00.000000 IP CLIENT > SERVER: {SENT.partition(': ')[2]}": "without ports",
    "10:00:00.000000 IP 192.0.2.1.4 > 1": "cut off",
    "2026-11-21 07:49:11.435718 INFO took 40 ms > 10 ms": "nor text that tcpdump or tshark printed",
}


@pytest.mark.parametrize(("row", "reason"), REFUSED.items())
def test_a_refusal_names_the_right_reason(row: str, reason: str, tmp_path: Path) -> None:
    text = tmp_path / "refused.txt"
    text.write_text(row + "\n")
    with pytest.raises(nagle_scan.CaptureError, match=reason):
        nagle_scan.scan(text)
