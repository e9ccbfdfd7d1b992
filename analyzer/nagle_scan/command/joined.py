"""One result file for several captures: JUnit, or lines of JSON."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

from nagle_scan.report import formats
from nagle_scan.system import files

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

IN_MEMORY = 1 << 24
"""Bytes that stay in memory; more go to a temporary file."""


class Joined:
    """Collects the results of captures, and writes them at once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._format = formats.of(path)
        self._number = 0
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._module: Any = None
        if not self._format.by_engine:
            self._module = import_module(f"nagle_scan.report.{self._format.name}")
            self._file.write(self._module.HEAD)

    def add(self, result: Result, options: Options, name: str) -> None:
        """Adds the result of one capture. Raises `OutputError`."""
        if self._module is None:
            follows = options._replace(follows=self._number > 0)
            self._file.write(formats.content(result, os.path.basename(self.path), follows))
            self._number += 1
        else:
            self._put(self._module.part(result, options, name))

    def add_unusable(self, name: str, reason: str) -> None:
        """Adds a capture that cannot be read, where the format can say so."""
        if self._module is not None:
            self._put(self._module.unusable(name, reason))

    def _put(self, part: bytes) -> None:
        self._file.write(self._module.BETWEEN * bool(self._number) + part)
        self._number += 1

    def write(self) -> None:
        """Writes the file. Raises `OutputError`."""
        if self._module is not None:
            self._file.write(self._module.TAIL)
        self._file.seek(0)
        with self._file, files.whole(self.path) as name, open(name, "wb") as file:
            shutil.copyfileobj(self._file, file)
