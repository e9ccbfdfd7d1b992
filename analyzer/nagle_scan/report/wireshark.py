"""Where to look in Wireshark, and where its numbers differ from those of a report."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core

NS_PER_US = 1000


def display_filter(stall: _core.WaitRow, filtered: bool) -> str:
    """Wireshark's filter for the frames of a stall and what lies between.

    With a capture filter, stream numbers differ from Wireshark's, which sees all connections.
    """
    connection = f"tcp.stream == {stall.connection}"
    if filtered:
        ports = (addr.rpartition(":")[2] for addr in (stall.sender, stall.receiver))
        connection = " && ".join(f"tcp.port == {port}" for port in ports)
    return f"{connection} && frame.number >= {stall.frame_from} && frame.number <= {stall.frame_to}"


def evidence_filter(stall: _core.WaitRow) -> str:
    """Wireshark's filter for the same frames in `-o evidence.pcapng`, which numbers frames anew.

    Times are those of the capture there. They are rounded outwards to 1 us: Wireshark compares them
    as floats.
    """
    ends = ((stall.sender, stall.sender_ip), (stall.receiver, stall.receiver_ip))
    parts = [
        f"{'ipv6' if ':' in ip else 'ip'}.addr == {ip} && tcp.port == {name.rpartition(':')[2]}"
        for name, ip in ends
    ]
    begin, end = stall.from_ns // NS_PER_US, -(-stall.to_ns // NS_PER_US)
    parts += [
        f"frame.time_epoch {sign} {_seconds(us)}" for sign, us in ((">=", begin), ("<=", end))
    ]
    return " && ".join(parts)


def _seconds(us: int) -> str:
    return f"{us // 1_000_000}.{us % 1_000_000:06d}"


def numbering(filtered: bool, files: int) -> Iterator[str]:
    """Where stream and frame numbers differ from Wireshark's; without a full stop."""
    if filtered:
        yield (
            "connections that the filter drops are not counted: tcp.stream is smaller than in "
            "Wireshark for the whole capture, frame numbers are the same"
        )
    if files > 1:
        yield "frame and stream numbers run through all files, as after mergecap"
