"""Where to look in Wireshark, and where its numbers differ from those of a report."""

from __future__ import annotations

from collections.abc import Iterator

from nagle_scan import _core


def display_filter(stall: _core.WaitRow, filtered: bool) -> str:
    """Wireshark's filter for the frames of a stall and what lies between.

    With a capture filter, stream numbers differ from Wireshark's, which sees all connections.
    """
    connection = f"tcp.stream == {stall.connection}"
    if filtered:
        ports = (addr.rpartition(":")[2] for addr in (stall.sender, stall.receiver))
        connection = " && ".join(f"tcp.port == {port}" for port in ports)
    return f"{connection} && frame.number >= {stall.frame_from} && frame.number <= {stall.frame_to}"


def numbering(filtered: bool, files: int) -> Iterator[str]:
    """Where stream and frame numbers differ from Wireshark's; without a full stop."""
    if filtered:
        yield (
            "connections that the filter drops are not counted: tcp.stream is smaller than in "
            "Wireshark for the whole capture, frame numbers are the same"
        )
    if files > 1:
        yield "frame and stream numbers run through all files, as after mergecap"
