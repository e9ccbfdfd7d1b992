"""Runs the fuzz targets of analyzer/fuzz: `make fuzz [MINUTES=n] [TARGET=name]`.

Needs a C++ compiler, for libFuzzer. A failure prints its input and how to see it again.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "analyzer" / "fuzz"
TARGETS = ["file", "conversation", "clocks", "options", "evidence"]
# What cargo-fuzz sets, less the sanitizers: they need nightly Rust, and find what unsafe code does.
RUSTFLAGS = " ".join(
    [
        "--cfg=fuzzing",
        "-Cpasses=sancov-module",
        "-Cllvm-args=-sanitizer-coverage-level=4",
        "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
        "-Cllvm-args=-sanitizer-coverage-pc-table",
    ]
)
LONGEST_INPUT = 16_384
LONGEST_SEED = 12_000
MOST_SEEDS = 150
# An input that takes longer or more is a failure.
TIMEOUT_S = 20
MOST_MEMORY_MB = 2048
STATISTICS = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
EDGES = re.compile(r"cov: (\d+)")


@dataclass(frozen=True)
class Outcome:
    """What became of a target; `edges` of the code were reached."""

    target: str
    executions: int
    edges: int
    seconds: int
    failed: bool


def host() -> str:
    """The triple of this machine; named, so that build scripts do without `RUSTFLAGS`."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split()[1] for line in said.splitlines() if line.startswith("host:"))


def build(triple: str) -> Path:
    """Builds all targets; returns their folder."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", f"--target={triple}"]
    environment = {**os.environ, "RUSTFLAGS": RUSTFLAGS}
    subprocess.run([*command, "--bins"], cwd=FUZZ, env=environment, check=True)
    return FUZZ / "target" / triple / "release"


def noise(folder: Path) -> None:
    """Programs of conversations: any bytes are one, and longer ones reach further."""
    folder.mkdir(parents=True, exist_ok=True)
    random = Random(1)
    for number in range(MOST_SEEDS):
        (folder / str(number)).write_bytes(random.randbytes(random.randrange(60, 1500)))


def captures(folder: Path) -> None:
    """Captures that ship, unpacked and cut, the smallest first; and some as they are packed."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = [*ROOT.glob("captures/**/*.pcap*"), *ROOT.glob("tests/**/*.pcap*")]
    packed.sort(key=lambda path: (path.stat().st_size, path.name))
    for path in packed[:MOST_SEEDS]:
        content = path.read_bytes()
        name = f"{path.parent.name}-{path.name}"
        if path.suffix == ".gz":
            (folder / f"{name}-packed").write_bytes(content[:LONGEST_SEED])
            content = gzip.decompress(content)
        (folder / name).write_bytes(content[:LONGEST_SEED])


def run(target: str, built: Path, seconds: int) -> Outcome:
    """Fuzzes for so long, or until the first failure."""
    found = FUZZ / "found" / target
    corpus = FUZZ / "target" / "corpus" / target
    for folder in (found, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    kept = [FUZZ / "crashes" / target, FUZZ / "corpus" / target]
    kept.append(FUZZ / "target" / "seeds" / target)
    captures(kept[-1]) if target == "file" else noise(kept[-1])
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={TIMEOUT_S}",
        f"-rss_limit_mb={MOST_MEMORY_MB}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-len_control=0",
    ]
    folders = [str(folder) for folder in (corpus, *kept) if folder.exists()]
    with (found / "log").open("w", errors="replace") as log:
        status = subprocess.run([built / target, *options, *folders], stderr=log, stdout=log)
    said = (found / "log").read_text(errors="replace")
    executions = STATISTICS.search(said)
    edges = EDGES.findall(said)
    return Outcome(
        target,
        int(executions[1]) if executions else 0,
        int(edges[-1]) if edges else 0,
        seconds,
        status.returncode != 0,
    )


def tell(outcome: Outcome, built: Path) -> None:
    """Prints the outcome, of a failure its reason and how to see it again."""
    rate = outcome.executions // max(outcome.seconds, 1)
    print(
        f"{outcome.target}: {outcome.executions:,} executions in {outcome.seconds} s "
        f"({rate:,}/s), {outcome.edges:,} edges{', FAILED' if outcome.failed else ''}",
        flush=True,
    )
    if not outcome.failed:
        return
    found = FUZZ / "found" / outcome.target
    log = (found / "log").read_text(errors="replace")
    panic = re.search(r"^thread '.*' .*panicked at .*(?:\n.*){0,6}", log, re.MULTILINE)
    print(panic[0] if panic else log[-2000:])
    for path in re.findall(r"Test unit written to (\S+)", log):
        print(f"input:  {path}\nreplay: {shlex.join([str(built / outcome.target), path])}")


def main() -> int:
    """Runs the targets side by side; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, action="append")
    arguments = parser.parse_args()
    if shutil.which("c++") is None:
        print("not fuzzed: this needs a C++ compiler (apt install g++)", file=sys.stderr)
        # To build and test takes none; but CI must not pass without what it promises.
        return int(os.environ.get("CI") == "true")
    targets = arguments.target or TARGETS
    built = build(host())
    at_once = min(os.cpu_count() or 1, len(targets))
    seconds = max(1, round(arguments.minutes * 60 * at_once / len(targets)))
    with ThreadPoolExecutor(at_once) as pool:
        outcomes = pool.map(lambda target: run(target, built, seconds), targets)
        failed = False
        for outcome in outcomes:
            tell(outcome, built)
            failed |= outcome.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
