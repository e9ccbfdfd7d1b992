"""Builds a release: sdist and wheels of HEAD, twice and in different folders, into `dist`.

First it checks that the tree is clean, that the changelog has this version with a date, and that
the tag of this version is on HEAD. The two builds must have the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^## (\S+) - (\S+)$", re.MULTILINE)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def problems(root: Path) -> list[str]:
    """Why HEAD of a repository is no release."""
    version = version_of(root)
    found = []
    if _git(root, "status", "--porcelain"):
        found.append("the tree is not clean")
    heading = HEADING.search((root / "CHANGELOG.md").read_text())
    if heading is None or heading[1] != version or not DAY.fullmatch(heading[2]):
        found.append(f"CHANGELOG.md does not begin with '## {version} - YYYY-MM-DD'")
    if f'name = "nagle-scan"\nversion = "{version}"' not in _lock(root):
        found.append(f"Cargo.lock does not have version {version}")
    if f"v{version}" not in _git(root, "tag", "--points-at", "HEAD").split():
        found.append(f"HEAD does not have the tag v{version}")
    return found


def version_of(root: Path) -> str:
    """The version in analyzer/Cargo.toml, the only place where it is written."""
    manifest = tomllib.loads((root / "analyzer/Cargo.toml").read_text())
    version: str = manifest["package"]["version"]
    return version


def _lock(root: Path) -> str:
    return (root / "analyzer/Cargo.lock").read_text()


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, text=True, capture_output=True, check=True)
    return done.stdout.strip()


def _build(into: Path) -> None:
    """Builds sdist and wheels in a new clone."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "nagle-scan"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        environment = os.environ | {"PYTHON": sys.executable, "DIST": str(into)}
        for words in (["sdist.sh"], ["wheel.sh", "x86_64"], ["wheel.sh", "aarch64"]):
            command = ["sh", str(clone / "scripts" / words[0]), *words[1:]]
            subprocess.run(command, env=environment, check=True)


def _sums(folder: Path) -> str:
    files = sorted(folder.iterdir())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files
    )


def main() -> None:
    """Builds the release, or ends with what keeps HEAD from being one."""
    found = problems(ROOT)
    if found:
        sys.exit("\n".join(f"nagle-scan: {problem}" for problem in found))
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for folder in (first, second):
            _build(Path(folder))
        sums = _sums(Path(first))
        if sums != _sums(Path(second)):
            sys.exit(f"nagle-scan: two builds differ:\n{sums}\n{_sums(Path(second))}")
        into = ROOT / "dist"
        shutil.rmtree(into, ignore_errors=True)
        shutil.copytree(first, into)
    (into / "SHA256SUMS").write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
