"""The lab's compiled tools: each is built when first needed, or older than its sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from subprocess import PIPE

HERE = Path(__file__).resolve().parent
PROGRAMS, BUILD = HERE / "programs", HERE / "build"
Words = list[str | Path]
SOURCES = {
    "wire": ("wire.c", "path.c", "path.h"),
    "peer": ("peer.c",),
    "relay": ("programs/relay.c",),
    "lwip_peer": ("programs/lwip_peer.c",),  # with Debian's liblwip-dev
    "write_log.so": ("programs/write_log.c",),
}


def tool(name: str) -> Path:
    """A program of the lab. Raises OSError or CalledProcessError where it cannot be built."""
    BUILD.mkdir(exist_ok=True)
    target = BUILD / name
    if name == "smoltcp_peer":
        folder, manifest = BUILD / "smoltcp", PROGRAMS / name / "Cargo.toml"
        command: Words = ["cargo", "build", "--release", "--locked", "--quiet"]
        run([*command, "--manifest-path", manifest, "--target-dir", folder])
        shutil.copy2(folder / "release" / name, target)
    elif name == "gvisor_peer":
        run(["go", "build", "-C", PROGRAMS / name, "-o", target, "."])
    else:
        compile_c(target, [HERE / source for source in SOURCES[name]])
    return target


def compile_c(target: Path, sources: list[Path]) -> None:
    """Compile C sources; those that are headers are only looked at for their age."""
    if target.exists() and target.stat().st_mtime >= max(s.stat().st_mtime for s in sources):
        return
    flags: Words = ["-O2", "-Wall", "-Wextra", "-pthread"]
    flags += ["-shared", "-fPIC"] if target.suffix == ".so" else []
    libraries: Words = ["-lm", "-ldl"]
    if target.name == "lwip_peer":
        found = ["pkg-config", "--cflags", "--libs", "lwip"]
        libraries += subprocess.run(found, stdout=PIPE, text=True, check=True).stdout.split()
    # Another process may compile it, too, or have it loaded.
    made = target.with_name(f"{os.getpid()}-{target.name}")
    run(["gcc", *flags, "-o", made, *(s for s in sources if s.suffix == ".c"), *libraries])
    made.replace(target)


def run(command: Words) -> None:
    """Run a compiler."""
    subprocess.run(command, check=True)
