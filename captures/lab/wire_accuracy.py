#!/usr/bin/env python3
"""How exactly the wires kept their delay, from both ends' captures: wire_accuracy.py [--out DIR]

Both captures are stamped by one kernel with one clock, so a packet's two time
stamps differ by its real one-way delay. Cases with jitter are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cases import all_cases
from net import Access
from packets import Packet, read_packets


def first_seen(capture: Path) -> dict[tuple[int, ...], Packet]:
    """The first packet of each kind, by what is the same at both ends."""
    seen: dict[tuple[int, ...], Packet] = {}
    for p in read_packets(capture):
        seen.setdefault((p.source_port, p.target_port, p.seq, p.ack, p.length, p.flags), p)
    return seen


def errors_ms(folder: Path, there_ms: float, back_ms: float) -> list[float]:
    """How much longer than wished every packet of a case was on its way."""
    client, server = (first_seen(folder / f"{side}.pcap") for side in ("client", "server"))
    errors = []
    for key in client.keys() & server.keys():
        delay = (server[key].time_ns - client[key].time_ns) / 1e6
        errors.append(delay - there_ms if delay > 0 else -delay - back_ms)
    return errors


def main() -> None:
    """Print the quantiles over all cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "out")
    out = parser.parse_args().out
    everything: list[float] = []
    for case in all_cases():
        net = case.net
        drawn = net.jitter_ms or net.loss or net.dup or any(net.drop_every)
        disturbed = drawn or net.changes or net.access != Access()
        if net.kind == "wire" and not disturbed and (out / case.id).exists():
            everything += errors_ms(out / case.id, *net.one_way_ms)
    everything.sort()
    p1, p50, p90, p99, most = (
        everything[min(len(everything) - 1, int(share * len(everything)))]
        for share in (0.01, 0.5, 0.9, 0.99, 1)
    )
    print(
        f"{len(everything)} packets: one-way delay off by p1 {p1:.3f}, p50 {p50:.3f}, "
        f"p90 {p90:.3f}, p99 {p99:.3f}, most {most:.3f} ms"
    )


if __name__ == "__main__":
    main()
