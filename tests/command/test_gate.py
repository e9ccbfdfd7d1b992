"""The exit status, on which pipelines stand."""

from __future__ import annotations

import pytest
from conftest import CAPTURES, Run

STALLS = CAPTURES / "java-split.pcap"  # 9 certain stalls, 391.6 ms


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((), 1),
        (("--max-lost", "391ms"), 1),
        (("--max-lost", "0.392 s"), 0),
        (("--max-lost", "1min"), 0),
        (("--exit-zero",), 0),
        (("-f", "tcp port 1"), 4),
        (("-f", "tcp port 1", "--exit-zero"), 0),
    ],
)
def test_the_status_of_stalls(words: tuple[str, ...], status: int, run: Run) -> None:
    assert run(STALLS, *words).returncode == status


def test_one_direction_cannot_tell(run: Run) -> None:
    """A pipeline that captured half of the traffic must not pass."""
    done = run(STALLS, "-f", "tcp dst port 8901 or tcp dst port 8080")
    assert done.returncode == 4
    assert b"INCONCLUSIVE" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--max-lost", "1"),
        ("--max-lost", "-1s"),
        ("--max-lost", "1h"),
        ("--max-lost", ""),
        ("--format", "png"),
    ],
)
def test_what_is_no_value_is_one_line(words: tuple[str, str], run: Run) -> None:
    done = run(STALLS, f"{words[0]}={words[1]}")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"nagle-scan: argument {words[0]}: ".encode())
    assert done.stderr.count(b"\n") == 1
