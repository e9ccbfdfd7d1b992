"""`-v`: what was read, and how long it took, on standard error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from nagle_scan.system import terminal
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.result import Result


def tell(result: Result, took_s: float) -> None:
    """One line for each capture, its warnings, and one for all."""
    packets = 0
    for capture in json.loads(result.core.json_head())["captures"]:
        packets += capture["packets"]
        whole = "" if capture["complete"] else ", incomplete"
        name = printable(capture["path"])
        terminal.note(
            f"read {name}: {count(capture['packets'], 'frame')} of {capture['link_type']}, "
            f"{count(capture['bytes'], 'byte')}{whole}"
        )
        for warning in capture["warnings"]:
            terminal.note(f"  {printable(warning)}")
    summary = result.core.summary()
    terminal.note(
        f"{summary.tcp_packets:,} of {count(packets, 'frame')} used, "
        f"{count(summary.connections, 'TCP connection')}; {took_s:.2f} s"
    )
