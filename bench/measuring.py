"""Captures that are generated, commands that are timed: what every measurement is made of."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("BENCH_BUILD", BENCH / "build"))
"""Programs, captures and results; what runs at the same time needs a folder of its own."""
PROGRAMS = {"generate": [], "measure": [], "pcap_loop": ["-lpcap"]}  # name: libraries


MOST_SPREAD = 0.15
"""Something else was at work: the rounds are repeated, once."""
FILES = 64
PCAP_HEAD, RECORD_HEAD = 24, 16


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
    faults: int  # pages touched for the first time


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
        wall_s, cpu_s, peak_kib, faults = result.read_text().split()
        return Sample(float(wall_s), float(cpu_s), int(peak_kib), int(faults))

    @property
    def median_s(self) -> float:
        """Median wall time in seconds."""
        return statistics.median(sample.wall_s for sample in self.samples)

    @property
    def median_cpu_s(self) -> float:
        """Median of user and system time in seconds."""
        return statistics.median(sample.cpu_s for sample in self.samples)

    @property
    def spread(self) -> float:
        """How far its runs lie apart in wall time, as a share of their median."""
        walls_s = [sample.wall_s for sample in self.samples]
        return (max(walls_s) - min(walls_s)) / self.median_s

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


def generate(
    mode: str, connections: int, packets: int | None = None, suffix: str = ".pcap", seed: int = 0
) -> Capture:
    """Returns the capture for these arguments, generated unless a present one is up to date."""
    name = "-".join(map(str, filter(None, [mode, connections, packets, seed])))
    path = BUILD / f"{name}{suffix}"
    truth_path = BUILD / f"{path.name}.json"  # written last: with it the capture is whole
    if not path.exists() or not is_newer(truth_path, BUILD / "generate"):
        truth_path.unlink(missing_ok=True)
        words = [*generator_words(mode, connections, packets), "-o", str(path)]
        words += ["--pcapng"] if suffix == ".pcapng" else []
        words += ["--seed", str(seed)] if seed else []
        made = subprocess.run(words, check=False, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            raise BenchError(made.stderr.strip())
        truth_path.write_text(made.stderr)
    truth = json.loads(truth_path.read_text())
    return Capture(path, truth["packets"], truth["connections"], truth["stalls"])


def made(path: Path, source: Path, words: Sequence[str]) -> Path:
    """Returns a file that a command writes to its standard output, made unless it is up to date."""
    if not is_newer(path, source):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            unfinished = Path(folder) / path.name
            with unfinished.open("wb") as file:
                done = subprocess.run(words, check=False, stdout=file)
            if done.returncode != 0:
                raise BenchError(f"{words[0]}: exit status {done.returncode}")
            unfinished.rename(path)
    return path


def rotated(path: Path) -> list[Path]:
    """A pcap file in so many files, as `tcpdump -C` names them."""
    folder = path.with_suffix(".parts")
    if not is_newer(folder, path):
        shutil.rmtree(folder, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(dir=BUILD))
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as all_:
            at, part_len = PCAP_HEAD, -(-len(all_) // FILES)
            for number in range(FILES):
                begin = at
                while at < min((number + 1) * part_len, len(all_)):
                    at += RECORD_HEAD + int.from_bytes(all_[at + 8 : at + 12], "little")
                part = unfinished / f"part.pcap{number or ''}"
                part.write_bytes(all_[:PCAP_HEAD] + all_[begin:at])
        unfinished.rename(folder)
    return sorted(folder.iterdir())


def is_newer(path: Path, source: Path) -> bool:
    """Is a file there, and not older than what it was made from?"""
    return path.exists() and path.stat().st_mtime >= source.stat().st_mtime


def time_rounds(commands: Sequence[Command], runs: int) -> None:
    """Runs all commands in turn: one warm-up round, then `runs` rounds that count.

    Once more, where runs of one command lie far apart.
    """
    run_rounds(commands, runs)
    if any(command.spread > MOST_SPREAD for command in commands):
        quick = [command for command in commands if not command.slow]
        for command in quick:
            command.samples.clear()
        run_rounds(quick, runs)


def run_rounds(commands: Sequence[Command], runs: int) -> None:
    """As `time_rounds`, without repeating."""
    for number in range(runs + 1):
        for command in commands:
            if not command.slow or number == 1:
                sample = command.run()
                command.samples += [sample] if number else []


def spread_of(commands: Sequence[Command]) -> str:
    """What a line says of runs that lay far apart, repeated though they were."""
    most = max(command.spread for command in commands)
    return f"; runs {most:.0%} apart" if most > MOST_SPREAD else ""


def installed(program: str) -> bool:
    """Is a peer there to be measured?"""
    return shutil.which(program) is not None
