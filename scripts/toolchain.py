"""Checks what a build from source needs, and says in one line what is too old or missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

CARGO_TOML = Path(__file__).resolve().parents[1] / "analyzer" / "Cargo.toml"
PROGRAM = "int pcap_open_dead(int, int); int main(void) { return pcap_open_dead(1, 1); }"


def too_old() -> str | None:
    """The complaint about the Rust toolchain, if there is one."""
    needed: str = tomllib.loads(CARGO_TOML.read_text())["package"]["rust-version"]
    for program in ("cargo", "rustc"):
        if shutil.which(program) is None:
            continue
        said = _output([program, "--version"])
        if _version(said) < _version(needed):
            return f"needs Rust {needed} or newer, found {said or program}: https://rustup.rs"
    return None


def has_libpcap() -> bool:
    """Can a program be linked with libpcap?"""
    folder = os.environ.get("LIBPCAP_LIBDIR")
    where = [f"-L{folder}"] if folder else []
    with tempfile.TemporaryDirectory() as made:
        words = ["cc", "-x", "c", "-", "-o", os.path.join(made, "linked"), *where, "-lpcap"]
        try:
            done = subprocess.run(words, input=PROGRAM, text=True, capture_output=True, check=False)
        except OSError:
            return False
    return done.returncode == 0


def _version(text: str) -> tuple[int, ...]:
    found = re.search(r"(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else ()


def _output(words: list[str]) -> str:
    done = subprocess.run(words, text=True, capture_output=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    if sys.argv[1:] == ["libpcap"]:
        sys.exit(not has_libpcap())
    problem = too_old()
    if problem is not None:
        sys.exit(f"nagle-scan: {problem}")
    if not has_libpcap():
        print("nagle-scan: without libpcap the option -f will be missing", file=sys.stderr)
