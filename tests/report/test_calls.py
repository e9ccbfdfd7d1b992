"""A trace of system calls beside its capture, as users and their tickets see it.

The pair is a C server that sets TCP_NODELAY on descriptor 0, recorded by strace and tcpdump.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
import schema
from conftest import CAPTURES, Run, outputs, written
from jsonschema import Draft202012Validator
from nagle_scan.report import text
from nagle_scan.report.options import Options
from nagle_scan.system.terminal import PLAIN

PCAP, TRACE = (CAPTURES / "calls" / f"epoll-fd0.{suffix}" for suffix in ("pcap", "strace"))
CLOCK = re.compile(r"^(\d+) (\d+\.\d+) ", re.MULTILINE)
NODELAY = "setsockopt({}, SOL_TCP, TCP_NODELAY, [{}], 4) = 0\n"


@pytest.fixture(scope="module")
def traced() -> nagle_scan.Scan:
    return nagle_scan.scan(PCAP, calls=TRACE)


def items(scan: nagle_scan.Scan) -> dict[str, str]:
    """The first screen: heads and sentences."""
    report = text.render(scan._result, PLAIN._replace(width=2000), Options())
    found = re.findall(r"^([A-Z]{3,})  +(.*)$", report, re.MULTILINE)
    return dict(found)


def changed(tmp_path: Path, change: Callable[[str], str]) -> nagle_scan.Scan:
    """A scan beside another trace."""
    path = tmp_path / "calls.txt"
    path.write_text(change(TRACE.read_text()))
    return nagle_scan.scan(PCAP, calls=path)


def retimed(trace: str, clock: Callable[[float], float]) -> str:
    return CLOCK.sub(lambda found: f"{found[1]} {clock(float(found[2])):.6f} ", trace)


def set_at_accept(trace: str, *values: int) -> str:
    """The option is set on each connection that is accepted, to these values one by one."""
    accepted = re.compile(r"^(\d+ \d+\.\d+ )accept.*= (\d+<TCP:\[.*\]>)$\n", re.MULTILINE)

    def calls(found: re.Match[str]) -> str:
        return found[0] + "".join(found[1] + NODELAY.format(found[2], one) for one in values)

    return accepted.sub(calls, trace)


def test_a_hold_is_the_time_from_the_call_to_the_wire(traced: nagle_scan.Scan) -> None:
    """And costs no more than that, whatever the wait was."""
    lines = TRACE.read_text().splitlines()
    stalls: Any = traced.stalls
    assert set(stalls["proof"]) == {"proven"}
    assert set(stalls["confidence"]) == {"certain"}
    for stall in stalls.itertuples():
        line = lines[stall.call_line - 1]
        written_ns = float(line.split()[1]) * 1e9
        assert re.search(r"sendto\(.*= 6$", line)
        assert stall.call_hold_ms == pytest.approx((stall.time_ns - written_ns) / 1e6, abs=0.2)
        assert stall.hold_ms == pytest.approx(stall.call_hold_ms)
        assert stall.hold_ms < stall.wait_ms
    assert traced._result.core.summary().stalled_ms == pytest.approx(stalls["hold_ms"].sum())


def test_the_clearest_hold_is_the_measured_one_closest_to_the_usual_delay(
    traced: nagle_scan.Scan,
) -> None:
    """Linux delays an ACK by 40 ms; the wait began earlier than the hold."""
    stalls: Any = traced.stalls.set_index("frame_held")["hold_ms"]
    clearest: Any = traced._result.core.clearest()
    assert abs(stalls[clearest.frame_to] - 40) == min(abs(stalls - 40))


def test_json_has_the_call_of_each_stall(traced: nagle_scan.Scan, tmp_path: Path) -> None:
    result = written(traced, tmp_path)
    Draft202012Validator(json.loads(schema.text())).validate(result)
    calls = result["summary"]["calls"]
    assert (calls["side"], calls["proven"], calls["refuted"]) == ("server", 38, 0)
    assert calls["bytes_in_trace"] == calls["bytes_on_wire"] > 0
    rows = [stall["call"] for one in result["connections"] for stall in one["stalls"]]
    assert len(rows) == 38
    assert {row["function"] for row in rows} == {"serve"}
    assert set(rows[0]) == {
        *("name", "bytes", "line", "function", "written_ns", "hold_ms", "proof")
    }


def test_nothing_that_the_program_wrote_is_printed(run: Run, tmp_path: Path) -> None:
    """The trace holds HTTP; reports go to tickets, with the calls in them."""
    paths = [tmp_path / name for name in ("report.html", "ticket.md", "junit.xml", "result.json")]
    done = run(PCAP, "--calls", TRACE, *outputs(*paths)).stdout.decode()
    why = run(PCAP, "--calls", TRACE, "--why", "39").stdout.decode()
    alone = run("--calls", TRACE).stdout.decode()
    assert '"", 6, ' in why
    assert "sendto" in alone
    for output in (done, why, alone, *(path.read_text() for path in paths)):
        assert "200 OK" not in output
        assert "/srv/app" not in output
    for path in paths[:3]:
        assert "sendto 143 B in serve()" in path.read_text().replace("\\", ""), path


def test_an_anonymized_report_has_no_address(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    done = run(PCAP, "--calls", TRACE, "--anonymize", "-o", out)
    alone = run("--calls", TRACE, "--anonymize")
    data = run("--calls", TRACE, "--anonymize", "--format", "json")
    for output in (done.stdout, alone.stdout, data.stdout, out.read_bytes()):
        assert b"127.0.0.1" not in output
        assert b"serve" not in output.replace(b"server", b"")


@pytest.mark.parametrize("off_s", [0.0, -10_804.2, 86_400.0])
def test_a_trace_of_another_clock_is_aligned(off_s: float, tmp_path: Path) -> None:
    """A container's clock, another zone."""
    scan = changed(tmp_path, lambda trace: retimed(trace, lambda time: time + off_s))
    assert set(scan.stalls["proof"]) == {"proven"}


def test_times_that_fit_nothing_prove_nothing(tmp_path: Path) -> None:
    """The bytes still tell which call wrote what."""
    begin = float(CLOCK.search(TRACE.read_text())[2])  # type: ignore[index]
    drifted = changed(
        tmp_path, lambda trace: retimed(trace, lambda time: begin - 60 + (time - begin) * 1.01)
    )
    assert set(drifted.stalls["proof"]) == {""}
    assert (drifted.stalls["call_line"] > 0).all()
    assert "do not fit the capture: nothing is proven" in items(drifted)["CALLS"]
    assert "PROVEN" not in items(drifted)


def test_a_clock_that_drifts_is_followed(tmp_path: Path) -> None:
    """By 300 ppm, within what NTP corrects."""
    begin = float(CLOCK.search(TRACE.read_text())[2])  # type: ignore[index]
    drifting = changed(
        tmp_path, lambda trace: retimed(trace, lambda time: time + 3.2 + (time - begin) * 3e-4)
    )
    assert set(drifting.stalls["proof"]) == {"proven"}


def test_a_trace_of_another_connection_of_these_hosts_is_refused(tmp_path: Path) -> None:
    """A second server on the same host, called at the same times, writes the same sizes."""
    other = changed(
        tmp_path,
        lambda trace: trace.replace(":8888", ":8988").replace("htons(8888)", "htons(8988)"),
    )
    assert set(other.stalls["call_line"]) == {0}
    assert set(other.stalls["proof"]) == {""}
    assert "other connections, on the same hosts: between ports 8988" in items(other)["CALLS"]
    assert "PROVEN" not in items(other)


def test_what_says_more_is_to_come_is_a_cork(tmp_path: Path) -> None:
    """The option would not help: the call itself asks the kernel to wait."""
    more = changed(tmp_path, lambda trace: trace.replace(", 6, MSG_NOSIGNAL,", ", 6, MSG_MORE,"))
    assert len(more.stalls) == 0
    waits: Any = more.waits
    assert set(waits["cause"][waits["sender"] == "server"]) >= {"cork"}
    said = items(more)["CALLS"]
    assert "with MSG_MORE, so that" in said
    assert "Take MSG_MORE away" in said
    assert "said that more was to come (MSG_MORE, TCP_CORK)" in items(more)["REST"]


def test_a_pattern_is_that_of_each_reply_only_where_there_is_no_other(tmp_path: Path) -> None:
    """Half of the bodies go by another call; and without reads no reply has a begin."""
    some = changed(
        tmp_path,
        lambda trace: re.sub(
            r"sendto\((\S+, \S+, 6), MSG_NOSIGNAL, NULL, 0\)", r"write(\1)", trace, count=20
        ),
    )
    said = items(some)["CALLS"]
    assert said.count("127.0.0.1:8888 sent a reply in two calls: sendto 143 B") == 2
    assert "each reply" not in said
    writes = changed(tmp_path, lambda trace: "".join(re.findall(r"^.*sendto\(.*\n", trace, re.M)))
    said = items(writes)["CALLS"]
    assert re.search(r"was written by sendto 6 B \(.*\), after sendto 143 B \(", said), said


def test_an_option_in_effect_and_a_hold_contradict(tmp_path: Path) -> None:
    """Somebody took it back unseen: a user must not believe that it is set."""

    said = items(changed(tmp_path, lambda trace: set_at_accept(trace, 1)))["PROVEN"]
    assert "the two contradict" in said


def test_an_option_that_was_taken_back_is_told_with_both_lines(tmp_path: Path) -> None:
    said = items(changed(tmp_path, lambda trace: set_at_accept(trace, 1, 0)))["OPTION"]
    assert re.search(r"trace line (\d+), and taken back in trace line (\d+)\.", said)
    assert said.endswith("; TCP_NODELAY was no longer in effect when the stalls came.")
    assert "TCP_NODELAY=0" not in said


def test_an_end_that_is_not_traced_is_named(tmp_path: Path) -> None:
    """The trace is the client's: it reads what the server wrote."""
    names = {"sendto(": "recvfrom(", "recvfrom(": "sendto("}
    turned = changed(
        tmp_path,
        lambda trace: re.sub(
            r"(sendto\(|recvfrom\()(\d+)<TCP:\[(\S+)->(\S+)\]>",
            lambda found: f"{names[found[1]]}{found[2]}<TCP:[{found[4]}->{found[3]}]>",
            trace,
        ),
    )
    assert items(turned)["CALLS"] == (
        "The stalls are those of 127.0.0.1:8888, which is not traced: trace that; what is traced "
        "held nothing."
    )


def test_never_is_said_only_of_what_the_trace_can_show(tmp_path: Path) -> None:
    attached = changed(
        tmp_path,
        lambda trace: "".join(re.findall(r"^\d+ .* (?:sendto|recvfrom|read)\(.*\n", trace, re.M)),
    )
    found = items(attached)
    assert "38 of 38" in found["PROVEN"]
    assert "never" not in found["OPTION"]


def test_without_sizes_of_writes_the_remedy_is_named(tmp_path: Path) -> None:
    less = changed(tmp_path, lambda trace: re.sub(r"^.*sendto\(.*\n", "", trace, flags=re.M))
    assert "write, writev and sendfile" in items(less)["CALLS"]


def test_a_trace_alone_proves_nothing(run: Run) -> None:
    """It says what docs/calls.md shows."""
    assert run("--calls", TRACE).returncode == 4
    sums = json.loads(run("--calls", TRACE, "--format", "json").stdout)
    assert sums["patterns"][0]["count"] == 40


def test_without_a_file_it_says_how_to_trace(run: Run) -> None:
    done = run("--calls")
    assert done.returncode == 0
    assert b"strace -f --seccomp-bpf -ttt -yy" in done.stdout
