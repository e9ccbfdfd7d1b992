"""maturin, which compiles the engine for `pip install`, after a look at what is there (PEP 517).

A Rust that is too old could not even read `Cargo.toml`, and says so at length. Without libpcap the
engine is built without capture filters.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import maturin
import toolchain
from maturin import build_sdist, get_requires_for_build_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, object] | None

# What maturin installs from there (scripts/installed.py) may be missing, the folder may not.
(Path(__file__).parents[1] / "analyzer/installed").mkdir(exist_ok=True)


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What maturin needs beside itself. Ends where the toolchain is too old."""
    _check()
    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """As for a wheel."""
    _check()
    return maturin.get_requires_for_build_editable(config_settings)


def prepare_metadata_for_build_wheel(folder: str, settings: Settings = None) -> str:
    """The first to be called where pip is told not to make an environment for the build."""
    _check()
    return maturin.prepare_metadata_for_build_wheel(folder, settings)


def prepare_metadata_for_build_editable(folder: str, settings: Settings = None) -> str:
    """As for a wheel."""
    _check()
    return maturin.prepare_metadata_for_build_editable(folder, settings)


def build_wheel(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Builds a wheel in `folder`, and returns its name."""
    _leave_out_what_cannot_be_linked()
    return maturin.build_wheel(folder, settings, metadata)


def build_editable(folder: str, settings: Settings = None, metadata: str | None = None) -> str:
    """Builds a wheel that refers to this folder, and returns its name."""
    _leave_out_what_cannot_be_linked()
    return maturin.build_editable(folder, settings, metadata)


def _check() -> None:
    problem = toolchain.too_old()
    if problem is not None:
        sys.exit(f"nagle-scan: {problem}")


def _leave_out_what_cannot_be_linked() -> None:
    if not toolchain.has_libpcap():
        print("nagle-scan: no libpcap to link: the option -f will be missing", file=sys.stderr)
        chosen = os.environ.get("MATURIN_PEP517_ARGS", "")
        os.environ["MATURIN_PEP517_ARGS"] = f"{chosen} --no-default-features --features python"
