"""What each threshold of the engine decides: doubles and halves it, and measures the accuracy.

A threshold is a constant whose comment says which way it `Leans`. The engine is built from a copy,
with little optimisation, once for each value: an hour for all of them. Run from the top folder:

    python scripts/thresholds.py [NAME ...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COMMENTED = re.compile(r"(?:^[ \t]*///[^\n]*\n)+(?:^[ \t]*(?:pub )?const [^\n]*\n)+", re.MULTILINE)
CONSTANT = re.compile(r"const (\w+): (\w+) = ([\d_.]+);")
ROW = re.compile(
    r"^(?:ok  |FAIL)\s+(.*?)\s{2,}([\d.]+)(?: %)?\s+\(.*?\)(?: of (\d+))?", re.MULTILINE
)
PROFILE = ["--profile", "thresholds"]


class Threshold(NamedTuple):
    """A constant, the file it is in, and its value as written."""

    file: Path
    name: str
    kind: str
    value: str

    def scaled(self, factor: float) -> str:
        """Another value, as Rust writes it; at least 1 for what is counted."""
        number = float(self.value.replace("_", "")) * factor
        return repr(number) if self.kind == "f64" else str(max(1, round(number)))


def thresholds(source: Path) -> Iterator[Threshold]:
    """All below `source`, in the order of the files."""
    for file in sorted(source.rglob("*.rs")):
        for block in COMMENTED.findall(file.read_text()):
            if "/// Leans:" in block:
                for name, kind, value in CONSTANT.findall(block):
                    yield Threshold(file.relative_to(source), name, kind, value)


def measured(copy: Path) -> dict[str, str]:
    """Builds the engine of `copy`; what the labelled captures say, by the name of the row."""
    engine = copy / "analyzer"
    subprocess.run(["cargo", "build", "--quiet", *PROFILE], cwd=engine, check=True)
    shutil.copy(
        engine / "target" / "thresholds" / "libnagle_scan_core.so",
        engine / "nagle_scan" / "_core.abi3.so",
    )
    done = subprocess.run(
        [sys.executable, str(ROOT / "captures" / "lab" / "accuracy.py"), "--limit", "0"],
        env={**os.environ, "PYTHONPATH": str(engine)},
        capture_output=True,
        text=True,
        check=False,
    )
    rows = {
        name: f"{value} of {of}" if of else value for name, value, of in ROW.findall(done.stdout)
    }
    if not rows:
        raise SystemExit(f"thresholds.py: no result: {done.stderr.strip()[-400:]}")
    return rows


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """What differs, as one line."""
    differ = [f"{name} {after[name]}" for name in before if before[name] != after.get(name)]
    return "; ".join(differ) or "nothing"


def main(names: list[str]) -> int:
    """Prints a line for each value that was tried."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        ignored = shutil.ignore_patterns("target", "__pycache__")
        shutil.copytree(ROOT / "analyzer", copy / "analyzer", ignore=ignored)
        source = copy / "analyzer" / "src"
        before = measured(copy)
        print("as it is:", "; ".join(f"{name} {value}" for name, value in before.items()))
        for threshold in thresholds(source):
            if names and threshold.name not in names:
                continue
            text = (source / threshold.file).read_text()
            for factor in (0.5, 2.0):
                value = threshold.scaled(factor)
                old = f"{threshold.name}: {threshold.kind} = {threshold.value};"
                new = f"{threshold.name}: {threshold.kind} = {value};"
                (source / threshold.file).write_text(text.replace(old, new))
                said = changes(before, measured(copy))
                print(f"{threshold.name} {threshold.value} -> {value}: {said}", flush=True)
            (source / threshold.file).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
