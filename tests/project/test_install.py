"""Machines that lack a new Rust, libpcap, packages. Each is named, and costs only itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nagle_scan
import pytest
from conftest import CAPTURES, ROOT, outputs, program
from nagle_scan import fleet
from nagle_scan.command import mcp
from nagle_scan.report.formats import SUFFIXES

CAPTURE = CAPTURES / "epoll-fd0.pcap"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CARGO = tomllib.loads((ROOT / "analyzer/Cargo.toml").read_text())
OPTIONAL = ("jinja2", "matplotlib", "pandas", "scapy")
"""Installed by default; only numpy is needed to read tables of numbers."""

WITHOUT = """
import sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
from nagle_scan.command.cli import command
command()
"""


def without(packages: tuple[str, ...], *words: str | Path) -> subprocess.CompletedProcess[str]:
    """The command where these packages cannot be imported."""
    return program(sys.executable, "-c", WITHOUT, ",".join(packages), *words)


def test_the_main_job_and_these_files_need_no_package_at_all(tmp_path: Path) -> None:
    files = [tmp_path / f"out{suffix}" for suffix in (".json", ".csv", ".md", ".xml")]
    done = without((*OPTIONAL, "numpy"), CAPTURE, *outputs(*files))
    assert (done.returncode, done.stderr) == (1, "")
    assert "STALLS  127.0.0.1:8888" in done.stdout
    assert all(file.stat().st_size > 0 for file in files)


@pytest.mark.parametrize(
    ("suffix", "missing", "named"),
    [
        (".html", ("jinja2",), "jinja2"),
        (".html", ("jinja2", "numpy", "matplotlib"), "jinja2, numpy"),
        (".png", ("matplotlib",), "matplotlib"),
        (".svg", ("numpy",), "numpy"),
        (".zip", ("jinja2", "matplotlib"), "jinja2, matplotlib"),
        (".parquet", ("pyarrow",), "pyarrow"),
    ],
)
def test_a_missing_package_is_named_in_one_line(
    suffix: str, missing: tuple[str, ...], named: str, tmp_path: Path
) -> None:
    file = tmp_path / f"out{suffix}"
    done = without(missing, CAPTURE, "-q", "-o", file)
    install = named.replace(",", "")
    assert done.stderr == f"nagle-scan: {file}: needs {named}: pip install {install}\n"
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_an_extra_is_installed_by_the_names_of_its_packages() -> None:
    """Whether or not there is a release of nagle-scan itself."""
    extras = PROJECT["project"]["optional-dependencies"]
    commands = {"mcp": mcp.EXTRA, "fleet": fleet.EXTRA, "cluster": fleet.CLUSTER}
    for extra, command in commands.items():
        packages = (package.partition(">=")[0] for package in extras[extra])
        assert command == f"pip install {' '.join(packages)}"


def test_a_notebook_needs_no_package_but_for_pictures() -> None:
    shows = f"scan = nagle_scan.scan({str(CAPTURE)!r}); print(scan._repr_html_()); "
    shows += "print(scan.connection(2)._repr_html_())"
    blocked = "; ".join(f"sys.modules[{name!r}] = None" for name in (*OPTIONAL, "numpy"))
    done = program(sys.executable, "-c", f"import sys; {blocked}; import nagle_scan; {shows}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("127.0.0.1:8888") > 2


def test_a_missing_package_costs_no_other_output(tmp_path: Path) -> None:
    page, data, picture = (tmp_path / name for name in ("x.html", "y.json", "z.svg"))
    done = without(("jinja2",), CAPTURE, *outputs(page, data, picture))
    assert done.stderr == f"nagle-scan: {page}: needs jinja2: pip install jinja2\n"
    assert done.returncode == 2
    assert done.stdout.startswith("nagle-scan ")
    assert done.stdout.endswith(f"\nwrote {data}\nwrote {picture}\n")
    assert sorted(tmp_path.iterdir()) == [data, picture]
    assert json.loads(data.read_bytes())["summary"]["stalls"] > 0


@pytest.mark.parametrize("missing", ["numpy", "pandas", "scapy"])
def test_a_table_says_what_it_lacks(missing: str) -> None:
    ask = "packets([1])" if missing == "scapy" else "stalls"
    script = f"import sys; sys.modules[{missing!r}] = None\n"
    script += f"import nagle_scan; nagle_scan.scan({str(CAPTURE)!r}).{ask}"
    last = program(sys.executable, "-c", script).stderr.splitlines()[-1]
    assert last == f"ImportError: needs {missing}: pip install {missing}"


def test_no_output_imports_scapy(tmp_path: Path) -> None:
    """It is GPL-2.0-only: only who asks for its packets loads it."""
    files = [tmp_path / f"out{suffix}" for suffix in SUFFIXES]
    done = without(("scapy",), CAPTURE, *outputs(*files))
    assert done.returncode == 1, done.stderr
    assert sorted(tmp_path.iterdir()) == sorted(files)


def test_an_engine_that_cannot_be_loaded_does_not_mean_stalls(tmp_path: Path) -> None:
    """So it is where libpcap was removed after a build from source. Status 1 means 'stalls'."""
    package = tmp_path / "nagle_scan"
    sources = Path(nagle_scan.__file__).parent
    shutil.copytree(sources, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    reason = "libpcap.so.0.8: cannot open shared object file: No such file or directory"
    (package / "_core.py").write_text(f"raise ImportError({reason!r})\n")
    command = tmp_path / "nagle-scan"
    command.write_text("from nagle_scan.command.cli import command\ncommand()\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = program(sys.executable, command, CAPTURE, env=environment)
    assert done.stderr == f"nagle-scan: the engine cannot be loaded: {reason}\n"
    assert done.returncode == 2
    done = program(sys.executable, "-c", "import nagle_scan", env=environment)
    assert done.stderr.splitlines()[-1] == f"ImportError: {reason}"


def build_tool(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Python code that uses the build backend, where only the programs in `path` are there."""
    environment = os.environ | {"PATH": str(path), "PYTHONPATH": str(ROOT / "scripts")}
    return program(sys.executable, "-c", code, cwd=ROOT, env=environment)


def fake(path: Path, does: str) -> None:
    """A program that does this."""
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("cargo", "rustc", "blamed"),
    [
        ("cargo 1.65.0", "rustc 1.63.0", "cargo 1.65.0"),
        ("cargo 1.95.0 (f2d3ce0bd 2026-03-21)", "rustc 1.87.1", "rustc 1.87.1"),
        ("cargo 1.9.0", "rustc 1.95.0", "cargo 1.9.0"),
    ],
)
def test_an_old_rust_is_named_before_the_build(
    cargo: str, rustc: str, blamed: str, tmp_path: Path
) -> None:
    fake(tmp_path / "cargo", f"echo '{cargo}'")
    fake(tmp_path / "rustc", f"echo '{rustc}'")
    for hook in (
        "get_requires_for_build_wheel()",
        "get_requires_for_build_editable()",
        "prepare_metadata_for_build_wheel('dist')",
        "prepare_metadata_for_build_editable('dist')",
    ):
        done = build_tool(f"import build_backend; build_backend.{hook}", tmp_path)
        needed = CARGO["package"]["rust-version"]
        line = f"nagle-scan: needs Rust {needed} or newer, found {blamed}: https://rustup.rs\n"
        assert (done.stderr, done.returncode) == (line, 1)


@pytest.mark.parametrize("version", ["1.88.0", "1.100.2-nightly (0123 2027-01-01)", "2.0.0"])
def test_a_new_rust_builds(version: str, tmp_path: Path) -> None:
    for name in ("cargo", "rustc"):
        fake(tmp_path / name, f"echo '{name} {version}'")
    done = build_tool("import build_backend as b; b.get_requires_for_build_wheel()", tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(("status", "left_out"), [(0, False), (1, True)])
def test_what_cannot_be_linked_is_left_out(status: int, left_out: bool, tmp_path: Path) -> None:
    fake(tmp_path / "cc", f"exit {status}")
    code = (
        "import os, build_backend, maturin\n"
        "maturin.build_wheel = lambda *_: print(os.environ.get('MATURIN_PEP517_ARGS', ''))\n"
        "build_backend.build_wheel('dist')"
    )
    done = build_tool(code, tmp_path)
    assert ("--no-default-features" in done.stdout) == left_out
    assert ("the option -f will be missing" in done.stderr) == left_out


def test_the_version_is_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    assert nagle_scan.__version__ == CARGO["package"]["version"]


def test_the_lock_has_all_that_developers_and_users_need() -> None:
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    groups = PROJECT["dependency-groups"]
    asked = [*PROJECT["project"]["dependencies"], *groups["dev"], *groups["docs"]]
    names = {re.split(r"[<>=\[]", line)[0] for line in asked if isinstance(line, str)}
    assert names <= set(locked)
    assert len(names) > 15


def test_the_lock_names_no_host() -> None:
    assert "://" not in (ROOT / "requirements-dev.lock").read_text()
