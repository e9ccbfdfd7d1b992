"""Captures that are generated, commands that are timed: what every measurement is made of."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("BENCH_BUILD", BENCH / "build"))
"""Programs, captures and results; what runs at the same time needs a folder of its own."""
PROGRAMS = {"generate": [], "measure": [], "pcap_loop": ["-lpcap"]}  # name: libraries


class BenchError(Exception):
    """The benchmark cannot run or go on; the message is for the user."""


@dataclass(frozen=True)
class Capture:
    """A generated capture and the generator's truth about it."""

    path: Path
    packets: int
    connections: int
    stalls: int


@dataclass(frozen=True)
class Sample:
    """What one run of a whole process cost."""

    wall_s: float
    cpu_s: float  # user + system
    peak_kib: int  # largest resident set


@dataclass
class Command:
    """A command under measurement. One that is slow runs once, and is not warmed up."""

    name: str
    words: list[str]
    slow: bool = False
    stdin_words: list[str] = field(default_factory=list)
    output: Path | None = None
    """Removed before each run: to overwrite a large file is work of the file system."""
    samples: list[Sample] = field(default_factory=list)

    def run(self) -> Sample:
        """Runs the command to its end, its output thrown away, and returns what it cost."""
        result = BUILD / "measured.txt"
        if self.output is not None:
            self.output.unlink(missing_ok=True)
        feeder = None
        if self.stdin_words:
            feeder = subprocess.Popen(
                self.stdin_words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        finished = subprocess.run(
            [str(BUILD / "measure"), str(result), *self.words],
            check=False,
            stdin=feeder.stdout if feeder else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if feeder is not None and feeder.stdout is not None:
            feeder.stdout.close()
            feeder.wait()
        if finished.returncode != 0:
            last_words = (finished.stderr.strip().splitlines() or ["(no message)"])[-1]
            raise BenchError(f"{self.name}: exit status {finished.returncode}: {last_words}")
        wall_s, cpu_s, peak_kib = result.read_text().split()
        return Sample(float(wall_s), float(cpu_s), int(peak_kib))

    @property
    def median_s(self) -> float:
        """Median wall time in seconds."""
        return statistics.median(sample.wall_s for sample in self.samples)

    @property
    def median_cpu_s(self) -> float:
        """Median of user and system time in seconds."""
        return statistics.median(sample.cpu_s for sample in self.samples)

    @property
    def peak_mib(self) -> float:
        """Median of the peak resident set, in MiB."""
        return statistics.median(sample.peak_kib for sample in self.samples) / 1024


def build() -> None:
    """Compiles the C programs that are missing or older than their source."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, libraries in PROGRAMS.items():
        source, program = BENCH / f"{name}.c", BUILD / name
        if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
            continue
        words = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", str(source)]
        words += ["-o", str(program), *libraries]
        if subprocess.run(words, check=False).returncode != 0:
            raise BenchError(f"cannot compile {source.name} (needs a C compiler and libpcap-dev)")


def generator_words(mode: str, connections: int, packets: int | None) -> list[str]:
    """The generator's command line; some modes have a fixed number of packets per connection."""
    counts = [connections] if packets is None else [connections, packets]
    return [str(BUILD / "generate"), mode, *map(str, counts)]


def generate(mode: str, connections: int, packets: int | None = None) -> Capture:
    """Returns the capture for these arguments, generated unless a present one is up to date."""
    name = "-".join(map(str, filter(None, [mode, connections, packets])))
    path = BUILD / f"{name}.pcap"
    truth_path = path.with_suffix(".json")  # written last: with it the capture is whole
    generated_at = (BUILD / "generate").stat().st_mtime
    if not truth_path.exists() or truth_path.stat().st_mtime < generated_at:
        truth_path.unlink(missing_ok=True)
        words = [*generator_words(mode, connections, packets), "-o", str(path)]
        made = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            raise BenchError(made.stderr.strip())
        truth_path.write_text(made.stderr)
    truth = json.loads(truth_path.read_text())
    return Capture(path, truth["packets"], truth["connections"], truth["stalls"])


def time_rounds(commands: Sequence[Command], runs: int) -> None:
    """Runs all commands in turn: one warm-up round, then `runs` rounds that count."""
    for number in range(runs + 1):
        for command in commands:
            if command.slow and number != 1:
                continue
            sample = command.run()
            if number > 0:
                command.samples.append(sample)


def installed(program: str) -> bool:
    """Is a peer there to be measured?"""
    return shutil.which(program) is not None
