"""However many threads read however much of a capture at once: a user would not trust a tool whose
answer depends on the machine.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import nagle_scan
import pytest
from conftest import CAPTURES, write_evidence
from conversation import block, pcapng
from nagle_scan import _core
from nagle_scan.result.options import ScanOptions

SHARDS = 16
RANGE_LEN = 1000
"""Even a small capture has many ranges."""

EXAMPLES = sorted(CAPTURES.glob("*.pcap"))
PACKED = sorted(CAPTURES.glob("labelled/*/*.pcap.gz"))


def result(
    paths: list[Path], folder: Path, threads: int, trial: tuple[int, int] | None = None
) -> tuple[bytes, dict[str, Any]]:
    """The JSON and the exchanges of a scan."""
    names = [str(path) for path in paths]
    options = ScanOptions(exchanges=True, threads=threads)
    scan = _core.scan_captures(names, options, _core.Progress(), trial)
    scan.write("json", str(folder / "result.json"))
    columns = scan.columns("exchanges").items()
    # Each missing number is unlike any other.
    exchanges = {name: [repr(value) for value in column] for name, column in columns}
    return (folder / "result.json").read_bytes(), exchanges


def as_pcapng(plain: bytes) -> bytes:
    """The frames of a pcap, by two interfaces in turn."""
    parts, at = [pcapng([1, 1], [])], 24
    while at < len(plain):
        seconds, us, captured, wire_len = struct.unpack_from("<4I", plain, at)
        high, low = divmod(seconds * 1_000_000 + us, 2**32)
        head = struct.pack("<5I", len(parts) % 2, high, low, captured, wire_len)
        parts.append(block(6, head + plain[at + 16 : at + 16 + captured]))
        at += 16 + captured
    return b"".join(parts)


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 40])
def test_no_result_depends_on_the_number_of_threads(threads: int, tmp_path: Path) -> None:
    plain = tmp_path / "plain.pcap"
    assert len(EXAMPLES) > 5
    assert len(PACKED) > 100
    for path in [*EXAMPLES, *PACKED[:: max(1, len(PACKED) // 60)]]:
        plain.write_bytes(
            gzip.decompress(path.read_bytes()) if path in PACKED else path.read_bytes()
        )
        expected = result([plain], tmp_path, threads=1)
        assert result([plain], tmp_path, threads=threads, trial=(RANGE_LEN, SHARDS)) == expected
        if path in PACKED:
            packed = result([path], tmp_path, threads=threads, trial=(RANGE_LEN, SHARDS))
            named = packed[0].replace(str(path).encode(), str(plain).encode())
            assert (named, packed[1]) == expected


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_a_pcapng_shows_what_the_pcap_shows(threads: int, tmp_path: Path) -> None:
    path = tmp_path / "it.pcapng"
    for plain in EXAMPLES:
        path.write_bytes(as_pcapng(plain.read_bytes()))
        read, exchanges = result([path], tmp_path, threads=threads, trial=(RANGE_LEN, SHARDS))
        named = read.replace(str(path).encode(), str(plain).encode())
        assert (named, exchanges) == result([plain], tmp_path, threads=1)


@pytest.mark.parametrize("threads", [2, 8])
def test_files_that_follow_each_other_are_read_ahead(threads: int, tmp_path: Path) -> None:
    paths = EXAMPLES + PACKED[:20]
    expected = result(paths, tmp_path, threads=1)
    assert result(paths, tmp_path, threads=threads, trial=(RANGE_LEN, SHARDS)) == expected


@pytest.mark.parametrize("name", ["segments", "choose_frames", "scan_captures"])
def test_what_is_read_again_takes_no_more_threads_than_the_scan(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A user who spares a busy machine would not be asked again."""
    scan = nagle_scan.scan(CAPTURES / "epoll-fd0.pcap", threads=1, exchanges=False)
    read, seen = getattr(_core, name), []

    def counted(paths: list[str], options: ScanOptions, *given: Any) -> Any:
        seen.append(options.threads)
        return read(paths, options, *given)

    monkeypatch.setattr(_core, name, counted)
    scan.write(tmp_path / "report.html")
    write_evidence(scan, tmp_path / "evidence.pcapng")
    assert len(scan.exchanges) > 0
    assert seen == [1]
