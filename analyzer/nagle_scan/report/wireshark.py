"""Where to look in Wireshark, and where its numbering differs from a report's."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core

NS_PER_US = 1000


def display_filter(stall: _core.WaitRow) -> str:
    """Wireshark's filter for the frames of a stall and those between.

    By ports: Wireshark also numbers the streams that ICMP errors quote or a capture filter leaves
    out, and addresses may be anonymized.
    """
    ports = (end.rpartition(":")[2] for end in (stall.sender_end, stall.receiver_end))
    connection = " && ".join(f"tcp.port == {port}" for port in ports)
    return f"{connection} && frame.number >= {stall.frame_from} && frame.number <= {stall.frame_to}"


def evidence_filter(stall: _core.WaitRow) -> str:
    """Wireshark's filter for the same frames in `evidence.pcapng`, which numbers frames anew.

    Times are those of the capture there. They are rounded outwards to 1 us: Wireshark compares them
    as floats.
    """
    ends = ((stall.sender_end, stall.sender_ip), (stall.receiver_end, stall.receiver_ip))
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
    """Where stream and frame numbers differ from Wireshark's; without full stops."""
    if filtered:
        yield (
            "stream numbers count only connections with frames that were not left out; frame "
            "numbers are Wireshark's"
        )
    if files > 1:
        yield "frame and stream numbers count across all files, as with mergecap"
