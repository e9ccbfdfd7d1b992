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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
FUZZ = ROOT / "analyzer" / "fuzz"
TARGETS = ["file", "conversation", "clocks", "options", "evidence", "calls", "printed"]
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
DONE = re.compile(r"^Done .*|^stat::number_of_executed_units: .*", re.MULTILINE)
EDGES = re.compile(r"cov: (\d+)")
PANIC = re.compile(r"^thread '.*' .*panicked at .*(?:\n.*){0,6}", re.MULTILINE)


def host() -> str:
    """The triple of this machine; named, so that build scripts do without `RUSTFLAGS`."""
    said = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    return next(line.split()[1] for line in said.splitlines() if line.startswith("host:"))


def build(triple: str) -> Path:
    """Builds the program that runs any target; returns it."""
    command = ["cargo", "build", "--release", "--quiet", "--locked", f"--target={triple}"]
    environment = {**os.environ, "RUSTFLAGS": RUSTFLAGS}
    subprocess.run([*command, "--bins"], cwd=FUZZ, env=environment, check=True)
    return FUZZ / "target" / triple / "release" / "fuzz"


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


def pieces(pattern: str, folder: Path) -> None:
    """Pieces of texts that ship."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in ROOT.glob(pattern):
        content = path.read_bytes()
        for at in range(0, len(content), LONGEST_SEED):
            (folder / f"{path.stem}-{at}").write_bytes(content[at : at + LONGEST_SEED])


SEEDS: dict[str, Callable[[Path], None]] = {
    "file": captures,
    "calls": partial(pieces, "captures/calls/*.strace"),
    "printed": partial(pieces, "tests/printed/**/*.*"),
}
"""Others take noise."""


def run(target: str, program: Path, seconds: int) -> bool:
    """Fuzzes for so long, or until the first failure; prints what came of it. True if it failed."""
    found = FUZZ / "found" / target
    corpus = FUZZ / "target" / "corpus" / target
    for folder in (found, corpus):
        folder.mkdir(parents=True, exist_ok=True)
    seeds = FUZZ / "target" / "seeds" / target
    SEEDS.get(target, noise)(seeds)
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        f"-timeout={TIMEOUT_S}",
        f"-rss_limit_mb={MOST_MEMORY_MB}",
        f"-artifact_prefix={found}/",
        "-print_final_stats=1",
        "-len_control=0",
    ]
    kept = (corpus, FUZZ / "crashes" / target, FUZZ / "corpus" / target, seeds)
    words = [str(program), *options, *(str(folder) for folder in kept if folder.exists())]
    with (found / "log").open("w", errors="replace") as log:
        environment = {**os.environ, "TARGET": target}
        status = subprocess.run(words, env=environment, stderr=log, stdout=log).returncode
    tell(target, program, (found / "log").read_text(errors="replace"), failed=status != 0)
    return status != 0


def tell(target: str, program: Path, log: str, failed: bool) -> None:
    """Prints what libFuzzer says at the end, of a failure its reason and how to see it again."""
    done, edges = DONE.search(log), EDGES.findall(log)
    said = f"{done[0] if done else 'nothing run'}, {edges[-1] if edges else 0} edges"
    print(f"{target}: {said}{', FAILED' if failed else ''}", flush=True)
    if failed:
        panic = PANIC.search(log)
        print(panic[0] if panic else log[-2000:])
        for path in re.findall(r"Test unit written to (\S+)", log):
            replay = shlex.join(["env", f"TARGET={target}", str(program), path])
            print(f"input:  {path}\nreplay: {replay}")


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
    targets, program = arguments.target or TARGETS, build(host())
    at_once = min(os.cpu_count() or 1, len(targets))
    seconds = max(1, round(arguments.minutes * 60 * at_once / len(targets)))
    with ThreadPoolExecutor(at_once) as pool:
        return int(any(list(pool.map(lambda target: run(target, program, seconds), targets))))


if __name__ == "__main__":
    sys.exit(main())
