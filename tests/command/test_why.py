"""`--why FRAME` and `Scan.why`: the terms from which the probability of a hold is computed."""

from __future__ import annotations

import nagle_scan
import pytest
from conftest import CAPTURES, Run

HOLDS = CAPTURES / "epoll-fd0.pcap"


def test_the_case_of_a_stall_is_the_same_from_each_of_its_frames(run: Run) -> None:
    scan = nagle_scan.scan(HOLDS)
    stall = scan.stalls.iloc[0]
    case = scan.why(int(stall["frame_held"]))
    assert (case.frame_from, case.frame_ack) == (stall["frame_unacked"], stall["frame_ack"])
    assert scan.why(int(stall["frame_ack"])) == case
    assert run("--why", str(stall["frame_ack"]), HOLDS).stdout.decode() == f"{case}\n"


def test_a_stall_is_told_as_the_table_lists_it() -> None:
    """A retransmission ends these, and other waits, which the table leaves out, at the same frames.

    The sender's timestamps count, too, and the numbers above the ratio are not its own alone.
    """
    needless = "lwip-server-chained-rtt26/middle.pcap.gz"
    blended = "formats-rtt26/client-step1ms.pcap.gz"
    texts = []
    for name in (needless, blended):
        scan = nagle_scan.scan(CAPTURES / "labelled" / name)
        stalls = scan.stalls
        assert len(stalls)
        rows = zip(stalls["frame_held"], stalls["cause"], stalls["confidence"], strict=True)
        for frame, *words in rows:
            case = scan.why(frame)
            assert (case.verdict, [case.cause, case.confidence]) == ("held", words)
            assert "look alike" not in str(case)
            texts.append(str(case))
    assert "from 0.00033 up to 3000: how much likelier this timing is" in texts[0]
    assert any("times the same by the timestamps of the " in text for text in texts)


def test_what_cannot_be_a_hold_says_why() -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split-nodelay.pcap", min_wait_ms=1)
    (term,) = scan.why(int(scan.waits["frame_to"].iloc[0])).terms
    assert term.text.startswith(("a hold is impossible: ", "not judged: "))


def test_a_frame_of_no_wait_is_one_line(run: Run) -> None:
    done = run("--why", "999999", str(HOLDS))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        "nagle-scan: frame 999999 ends no wait of 10 ms or more, nor is it the start or the ACK "
        "of one\n"
    )
    with pytest.raises(nagle_scan.NagleScanError, match="frame 999999 ends no wait"):
        nagle_scan.scan(HOLDS).why(999_999)
