"""`-o nagle.lua`: the verdicts as fields in Wireshark and tshark, for one capture.

Only numbers and words of ours go into the script, whatever the capture holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files as resources

from nagle_scan import _core
from nagle_scan.report import every_stall, evidence, nodelay
from nagle_scan.report.options import Options
from nagle_scan.result import Result
from nagle_scan.system import files

FITS = ("Load it with that capture", "traffic.pcap")
FITS_REPLACED = (
    "Its addresses are replaced: it fits only the annotated.pcapng of the same call",
    "annotated.pcapng",
)


def write(result: Result, path: str, options: Options) -> None:
    """Writes the script. Raises `OutputError`, and `CaptureError` for a capture that is gone."""
    del options
    evidence.check(result, path)
    stalls = list(every_stall.of(result))
    numbers = sorted({frame for stall in stalls for frame in every_stall.frames(stall)})
    rows = _core.read_frames(result.read_paths, numbers, False, result.key, result.core)
    fits, capture = FITS if result.key is None else FITS_REPLACED
    parts = {
        "@VERSION@": _core.VERSION,
        "@FITS@": fits,
        "@CAPTURE@": capture,
        "@STALLS@": "\n".join(_lines(result, stalls)),
        "@FRAMES@": "\n".join(f"{row.frame} {row.identity.hex().upper()}" for row in rows),
    }
    script = (resources("nagle_scan") / "templates" / "nagle.lua").read_text()
    for mark, text in parts.items():
        script = script.replace(mark, text)
    files.replace(path, script.encode())


def _lines(result: Result, stalls: list[every_stall.Stall]) -> Iterator[str]:
    @cache
    def in_effect(connection: int, sender: str) -> str:
        row = result.core.connection(connection)
        return nodelay.IN_EFFECT[getattr(row, f"{sender}_nagle", "unknown")]

    for number, stall in enumerate(stalls, 1):
        yield "\t".join(
            (
                str(number),
                *map(str, every_stall.frames(stall)),
                f"{stall.wait_ms:.6f}",
                stall.cause,
                stall.confidence,
                in_effect(stall.connection, stall.sender),
                *every_stall.said(stall, "frame {}".format),
            )
        )
