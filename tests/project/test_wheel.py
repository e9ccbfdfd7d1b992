"""The wheel that `make wheel` built, on a bare machine: no compiler, no libpcap, no network."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import installed
import nagle_scan
import pytest
import rules
from conftest import CAPTURES, ROOT, outputs, program

MACHINE = platform.machine()
WHEELS = sorted((ROOT / "dist").glob(f"nagle_scan-{nagle_scan.__version__}-*_{MACHINE}.whl"))
NEEDS = ROOT / "analyzer/target/wheel/needs"
MOST_BYTES = 5 << 20
OUTPUTS = ("json", "csv", "html", "md", "xml", "pcapng", "png", "svg", "zip")

pytestmark = pytest.mark.skipif(not WHEELS, reason="no wheel in dist: make wheel")


@pytest.fixture(scope="module")
def wheel() -> zipfile.ZipFile:
    return zipfile.ZipFile(WHEELS[-1])


def test_it_is_for_any_python_and_any_linux_and_small() -> None:
    assert "-cp311-abi3-manylinux" in WHEELS[-1].name
    assert f"manylinux_2_17_{MACHINE}" in WHEELS[-1].name
    assert WHEELS[-1].stat().st_size <= MOST_BYTES


def test_it_has_every_file_of_the_package_as_it_is_here(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "analyzer"
    files = [path for path in (package / "nagle_scan").rglob("*") if path.is_file()]
    names = {
        path.relative_to(package).as_posix(): path.read_bytes()
        for path in files
        if "__pycache__" not in path.parts and path.suffix != ".so"
    }
    held = {name: wheel.read(name) for name in wheel.namelist() if name.startswith("nagle_scan/")}
    assert held.pop("nagle_scan/_core.abi3.so")
    assert held == names


def test_it_installs_man_pages_completions_and_the_schema(wheel: zipfile.ZipFile) -> None:
    held = [name for name in wheel.namelist() if ".data/data/share/" in name]
    texts = {name.partition("/share/")[2]: wheel.read(name).decode() for name in held}
    assert texts == installed.pages()


def test_it_tells_what_is_in_it(wheel: zipfile.ZipFile) -> None:
    boms = [json.loads(wheel.read(name)) for name in wheel.namelist() if "/sboms/" in name]
    parts = {part["name"]: part for bom in boms for part in bom["components"]}
    assert {"libpcap", "pcap", "pyo3", "zstd-sys", "etherparse"} <= parts.keys()
    licence = parts["libpcap"]["licenses"][0]["license"]
    assert "Redistributions in binary form" in licence["text"]["content"]


def test_it_has_the_licence_of_everything_in_it(wheel: zipfile.ZipFile) -> None:
    (name,) = (one for one in wheel.namelist() if one.endswith("/LICENSE-THIRD-PARTY"))
    text = wheel.read(name).decode()
    for crate in ("pyo3 ", "zstd-sys ", "etherparse ", "libpcap "):
        assert f"\n{crate}" in text or f", {crate}" in text
    assert "Redistributions in binary form" in text


def test_it_holds_no_path_of_the_machine_that_built_it(wheel: zipfile.ZipFile) -> None:
    for name in wheel.namelist():
        content = wheel.read(name)
        assert str(ROOT).encode() not in content, name
        assert str(Path.home() / ".cargo").encode() not in content, name


def test_no_rule_of_it_can_be_switched_off(wheel: zipfile.ZipFile) -> None:
    assert rules.VARIABLE.encode() not in wheel.read("nagle_scan/_core.abi3.so")


def test_all_is_installed_by_default_and_named(wheel: zipfile.ZipFile) -> None:
    name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    metadata = Parser().parsestr(wheel.read(name).decode())
    lines = metadata.get_all("Requires-Dist", [])
    needed = {line.split(">")[0] for line in lines if "extra ==" not in line}
    assert needed == {"jinja2", "matplotlib", "numpy", "pandas", "scapy"}


def test_a_bare_machine_does_the_main_job_and_every_output(tmp_path: Path) -> None:
    machine = tmp_path / "machine"
    subprocess.run([sys.executable, "-m", "venv", machine], check=True)
    alone = ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        alone = []  # not permitted here
    environment = {"PATH": str(machine / "bin"), "HOME": str(tmp_path), "PIP_NO_INDEX": "1"}

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        env = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in environment.items())]
        return program(*alone, *env, machine / "bin" / words[0], *words[1:], cwd=tmp_path)

    done = run("pip", "install", "--no-compile", "--find-links", NEEDS, WHEELS[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run("nagle-scan", "--version")
    assert (done.returncode, done.stdout) == (0, f"nagle-scan {nagle_scan.__version__}\n")

    capture = CAPTURES / "epoll-fd0.pcap"
    wanted = outputs(*(f"out.{suffix}" for suffix in OUTPUTS))
    done = run("nagle-scan", capture, "-f", "tcp port 8888", *wanted)
    assert done.returncode == 1, done.stderr
    assert "STALLS  127.0.0.1:8888" in done.stdout
    assert all((tmp_path / f"out.{suffix}").stat().st_size for suffix in OUTPUTS)
    code = f"import nagle_scan; print(len(nagle_scan.scan({str(capture)!r}).stalls))"
    assert run("python", "-c", code).stdout == "100\n"

    engine = next(machine.rglob("_core.abi3.so"))
    linked = program("ldd", engine).stdout
    assert "libc.so" in linked
    assert "pcap" not in linked
