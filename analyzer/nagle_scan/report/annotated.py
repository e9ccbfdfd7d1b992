"""`-o annotated.pcapng`: the whole capture, with a comment on the three frames of each stall."""

from __future__ import annotations

from collections import defaultdict

from nagle_scan import _core
from nagle_scan.report import every_stall, evidence
from nagle_scan.report.options import Options
from nagle_scan.result import Result
from nagle_scan.system import files

NUMBERS = (
    "Frames are numbered as in the capture: of those that hold no TCP segment only time and length "
    "are here"
)


def write(result: Result, path: str, options: Options) -> None:
    """Writes the capture. Raises `OutputError`, and `CaptureError` for a capture that is gone."""
    evidence.check(result, path)
    comments: every_stall.Comments = defaultdict(list)
    for stall in every_stall.of(result):
        every_stall.comment(stall, "frame {}".format, comments)
    about = "\n".join(evidence.about(result, options.payload, NUMBERS))
    with files.whole(path) as name:
        _core.annotate(
            result.read_paths,
            name,
            about,
            comments,
            result.core.names(),
            options.payload,
            result.key,
        )
