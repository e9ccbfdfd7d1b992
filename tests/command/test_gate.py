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
        (("--stream", "0"), 1),
        (("--stream", "0", "--exit-zero"), 0),
        (("--stream", "0", "--max-lost", "10s"), 0),
        (("-f", "tcp port 1"), 4),
        (("-f", "tcp port 1", "--exit-zero"), 0),
    ],
)
def test_the_status_of_stalls(words: tuple[str, ...], status: int, run: Run) -> None:
    assert run(STALLS, *words).returncode == status
