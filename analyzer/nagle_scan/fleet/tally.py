"""How far a run is, and what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nagle_scan.system.progress import quantity, time_left
from nagle_scan.words.wording import count

if TYPE_CHECKING:
    from nagle_scan.fleet.task import Scanned
    from nagle_scan.fleet.work import Job


class Tally:
    """Counts of the captures (sets) that are to be scanned, and of their files; verdicts."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        captures = [capture for job in jobs for capture in job.captures]
        self.of = len(jobs)
        self.files = len(captures)
        self.of_bytes = sum(capture.size for capture in captures)
        self.done = self.bytes = self.packets = self.failed = self.incomplete = 0
        self.verdicts: Counter[str] = Counter()
        self._size_of = {capture.shown: capture.size for capture in captures}

    def add(self, scanned: Scanned) -> None:
        """A set is done."""
        names = [capture.shown for capture in scanned.job.captures]
        names += [failure.path for failure in scanned.failures]
        self.failed += len(scanned.failures)
        self.done += 1
        self.bytes += sum(self._size_of[name] for name in names)
        if scanned.answer is not None:
            self.packets += scanned.answer.packets
            self.incomplete += scanned.answer.incomplete
            self.verdicts[scanned.answer.verdict] += 1

    @property
    def of_files(self) -> str:
        """How many files, if not each capture is one."""
        return "" if self.files == self.of else count(self.files, "file")

    def how_far(self, done: int) -> str:
        """So many of all."""
        files = f" ({self.of_files})" if self.of_files else ""
        return f"{done:,} of {count(self.of, 'capture')}{files}"

    def line(self, elapsed_s: float) -> str:
        """For a terminal."""
        failed = f", {count(self.failed, 'file')} failed" if self.failed else ""
        left = ""
        if self.bytes:
            left_s = elapsed_s * (self.of_bytes - self.bytes) / self.bytes
            left = f", {time_left(left_s)} left"
        return (
            f"{self.how_far(self.done)}, {quantity(self.bytes)}B of "
            f"{quantity(self.of_bytes)}B, {quantity(self.packets / elapsed_s)}packets/s"
            f"{failed}{left}"
        )
