"""maturin, which compiles the engine for `pip install`, after a look at what is there (PEP 517).

A Rust that is too old could not even read `Cargo.toml`, and says so at length. Without libpcap the
engine is built without capture filters. The stub of the engine's module is written before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import maturin
import stub
import toolchain
from maturin import build_sdist as build_sdist
from maturin import get_requires_for_build_sdist as get_requires_for_build_sdist

Hook = Callable[..., object]

# The files that maturin installs from there (scripts/installed.py) may be missing, the folder not.
(Path(__file__).parents[1] / "analyzer/installed").mkdir(exist_ok=True)


def _after(look: Callable[[], None], name: str) -> Hook:
    """maturin's hook of this name, after a look at what is there."""

    def hook(*arguments: object, **named: object) -> object:
        look()
        return getattr(maturin, name)(*arguments, **named)

    return hook


def _end_if_too_old() -> None:
    if problem := toolchain.too_old():
        sys.exit(f"nagle-scan: {problem}")


def _prepare() -> None:
    stub.write()
    if not toolchain.has_libpcap():
        print("nagle-scan: no libpcap to link: the option -f will be missing", file=sys.stderr)
        chosen = os.environ.get("MATURIN_PEP517_ARGS", "")
        os.environ["MATURIN_PEP517_ARGS"] = f"{chosen} --no-default-features --features python"


get_requires_for_build_wheel = _after(_end_if_too_old, "get_requires_for_build_wheel")
get_requires_for_build_editable = _after(_end_if_too_old, "get_requires_for_build_editable")
# The first to be called where pip is told not to make an environment for the build.
prepare_metadata_for_build_wheel = _after(_end_if_too_old, "prepare_metadata_for_build_wheel")
prepare_metadata_for_build_editable = _after(_end_if_too_old, "prepare_metadata_for_build_editable")
build_wheel = _after(_prepare, "build_wheel")
build_editable = _after(_prepare, "build_editable")
