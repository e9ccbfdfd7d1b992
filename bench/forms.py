"""The same captures in other forms, and the page: each against what it is made from."""

from __future__ import annotations

from collections.abc import Iterator

from bench.goals import Row
from bench.measuring import (
    Capture,
    Command,
    generate,
    installed,
    made,
    spread_of,
    time_rounds,
)
from bench.works import Bench, loop

PACKED = {"gzip": ".gz", "zstd": ".zst"}


def pcapng(bench: Bench) -> Iterator[Row]:
    """The RPC work as pcapng against pcap."""
    pcap, pcapng = (
        bench.scan(generate("rpc", 10_000, bench.packets, suffix), name=f"as{suffix}")
        for suffix in (".pcap", ".pcapng")
    )
    time_rounds([pcap, pcapng], bench.runs)
    note = f"{bench.packets:,} packets{spread_of([pcap, pcapng])}"
    ratio = pcapng.median_s / pcap.median_s
    yield Row("RPC as pcapng", "x pcap", 1.05, 1.15, ratio, note=note)


def packed(bench: Bench) -> Iterator[Row]:
    """Packed captures against their unpacking."""
    capture = generate("rpc", 10_000, bench.packets // 2)
    for program, suffix in PACKED.items():
        unit = f"x {program} -dc"
        if not installed(program):
            yield Row(f"RPC, {program}", unit, 1.1, 1.3, None, note=f"{program} is not there")
            continue
        path = capture.path.with_name(capture.path.name + suffix)
        made(path, capture.path, [program, "-c", str(capture.path)])
        scan = bench.scan(Capture(path, capture.packets, capture.connections, capture.stalls))
        unpack = Command(program, [program, "-dc", str(path)])
        time_rounds([scan, unpack], bench.runs)
        bench.check(capture)
        note = f"{capture.packets:,} packets{spread_of([scan, unpack])}"
        ratio = scan.median_s / unpack.median_s
        yield Row(f"RPC, {program}", unit, 1.1, 1.3, ratio, note=note)


def pages(bench: Bench) -> Iterator[Row]:
    """What the page takes beyond the scan and one more reading."""
    for packets in (max(bench.packets // 10, 1000), bench.packets):
        capture = generate("rpc", 10_000, packets)
        page, scan = bench.scan(capture, "report", ".html"), bench.scan(capture)
        read = loop(capture)
        time_rounds([page, scan, read], min(bench.runs, 3))
        beyond_s = page.median_s - scan.median_s - read.median_s
        note = f"{page.median_s:.2f} s; beyond the scan and one reading by libpcap"
        yield Row(f"report.html of {packets:,} packets", "s more", 1.5, 3.0, beyond_s, note=note)
