"""A release that is not one is refused, and nothing gets into it with a licence of another kind."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import tomllib
from pathlib import Path

import bill
import pytest
import release
from conftest import ROOT

VERSION = "1.2.3"
ALLOWED = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"]


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    """A repository with a release at its HEAD."""
    package = f'[package]\nname = "nagle-scan"\nversion = "{VERSION}"\n'
    (tmp_path / "analyzer").mkdir()
    (tmp_path / "analyzer/Cargo.toml").write_text(package)
    (tmp_path / "analyzer/Cargo.lock").write_text(f"[{package}]")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n## {VERSION} - 2027-01-31\n\n- New.\n")
    git(tmp_path, "init")
    commit(tmp_path)
    git(tmp_path, "tag", f"v{VERSION}")
    assert release.problems(tmp_path) == []
    return tmp_path


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--message", "All")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("CHANGELOG.md", f"# Changelog\n\n## {VERSION} - unreleased\n", "CHANGELOG.md does not"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.2.2 - 2027-01-31\n", "CHANGELOG.md does not"),
        ("analyzer/Cargo.lock", "", f"Cargo.lock does not have version {VERSION}"),
    ],
)
def test_a_tree_of_another_version_is_no_release(
    name: str, content: str, problem: str, tagged: Path
) -> None:
    (tagged / name).write_text(content)
    assert release.problems(tagged)[0] == "the tree is not clean"
    commit(tagged)
    assert release.problems(tagged)[-1] == f"HEAD does not have the tag v{VERSION}"
    git(tagged, "tag", "--force", f"v{VERSION}")
    (found,) = release.problems(tagged)
    assert found.startswith(problem)


def is_allowed(licence: str) -> bool:
    """An SPDX expression of `OR` within `AND`; old manifests write `/` for `OR`."""
    choices = (part.strip(" ()") for part in licence.split(" AND "))
    return all(set(re.split(r"/| OR ", part)) & set(ALLOWED) for part in choices)


def test_every_crate_has_a_licence_that_deny_toml_allows() -> None:
    manifest = ROOT / "analyzer/Cargo.toml"
    words = ["cargo", "metadata", "--locked", "--format-version=1", f"--manifest-path={manifest}"]
    done = subprocess.run(words, capture_output=True, check=True)
    licences = {
        package["name"]: package["license"] for package in json.loads(done.stdout)["packages"]
    }
    assert len(licences) > 40
    assert [name for name, licence in licences.items() if not is_allowed(licence)] == []
    assert not is_allowed("GPL-2.0-only")
    assert not is_allowed("MIT AND GPL-2.0-only")


def test_every_action_is_pinned_by_its_commit() -> None:
    used = []
    for workflow in (ROOT / ".github/workflows").iterdir():
        used += re.findall(r"uses: (.*)", workflow.read_text())
    assert len(used) > 5
    assert [
        line for line in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", line)
    ] == []


def test_every_test_that_a_promise_names_is_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "SECURITY.md").read_text()))
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    assert len(named) > 10
    assert [name for name in sorted(named) if f"def {name}(" not in tests] == []


def test_every_crate_that_is_linked_has_a_licence() -> None:
    linked = bill.crates(f"{platform.machine()}-unknown-linux-gnu")
    assert {"pyo3", "zstd-sys"} <= {crate["name"] for crate in linked}
    assert "criterion" not in {crate["name"] for crate in linked}
    assert all(crate["license"] for crate in linked)
    shipped = [crate["name"] for crate in linked if list(bill.texts(crate))]
    assert len(shipped) > 0.9 * len(linked)
