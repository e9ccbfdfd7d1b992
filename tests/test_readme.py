"""The README is the first thing a user sees: what it shows must be what happens."""

import re
import subprocess
import sys
from pathlib import Path

import nagle_scan

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def test_the_output_shown_is_the_real_one() -> None:
    done = subprocess.run([sys.executable, "scripts/readme.py", "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run `make readme`"


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_every_cause_is_in_its_table() -> None:
    scan = nagle_scan.scan(ROOT / "captures" / "java-split.pcap")
    causes = set(scan.waits["cause"].cat.categories)
    assert causes <= set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))


def test_every_make_target_it_names_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make (\w+)", README, re.MULTILINE))
    assert named
    assert named <= targets
