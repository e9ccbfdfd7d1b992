"""Measures what each threshold decides, with half and with double its value.

`make rules` writes docs/rules.tsv, or the rows of those that are named:

    python scripts/rules.py [NAME ...]

The engine is built once, from a copy in which thresholds are variables instead of constants.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "analyzer" / "target" / "rules"
PROFILE = "thresholds"

# In src/thresholds.rs, for the trial. Uses of the numbers stay as they are.
CONSTANT = "$(#[$doc])* pub const $name: $type = $value;"
VARIABLE = """
        unsafe extern "C" { $(#[$doc])* pub safe static $name: $type; }
        const _: () = { #[unsafe(no_mangle)] static mut $name: $type = $value; };
"""
# A pattern cannot name a variable.
ARM = re.compile(r"(?:(\w+) @ )?(\d*\.\.[A-Z_]+) =>")


def built() -> Path:
    """The package with the engine for trials."""
    package = BUILD / "analyzer"
    ignored = shutil.ignore_patterns("target", "__pycache__", "*.so")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "analyzer", package, ignore=ignored)
    for file in (package / "src").rglob("*.rs"):
        text = file.read_text()
        tried = ARM.sub(lambda arm: in_range(arm[1] or "n", arm[2]), text)
        if file == package / "src" / "thresholds.rs":
            tried = tried.replace(CONSTANT, VARIABLE)
        if tried != text:
            file.write_text(tried)
    subprocess.run(
        ["cargo", "build", "--quiet", "--profile", PROFILE, "--target-dir", str(BUILD)],
        cwd=package,
        env={**os.environ, "RUSTFLAGS": "--cap-lints allow"},
        check=True,
    )
    engine = BUILD / PROFILE / "libnagle_scan_core.so"
    shutil.copy(engine, package / "nagle_scan" / "_core.abi3.so")
    return package


def in_range(name: str, values: str) -> str:
    """An arm of a match that compares instead of naming a constant."""
    return f"{name} if ({values}).contains(&{name}) =>"


def main(names: list[str]) -> int:
    """Builds the engine for trials, and measures with it in a process of its own."""
    path = f"{built()}{os.pathsep}{ROOT / 'captures' / 'lab'}"
    command = [sys.executable, str(ROOT / "scripts" / "trial.py"), *names]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
