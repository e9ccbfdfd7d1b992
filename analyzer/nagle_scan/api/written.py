"""The result files of a scan, as methods: `Scan` inherits them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, overload

from nagle_scan.errors import OutputError
from nagle_scan.report import formats
from nagle_scan.report.options import Options
from nagle_scan.result import Result
from nagle_scan.system import files

if TYPE_CHECKING:
    from collections.abc import Mapping

    Path = str | os.PathLike[str]


class Written(Result):
    """A result that can be written, whole or not at all; without a path it is returned."""

    @overload
    def to_json(
        self,
        path: None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str: ...
    @overload
    def to_json(
        self,
        path: Path,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> None: ...
    def to_json(
        self,
        path: Path | None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str | None:
        """Writes the output contract (`nagle-scan/1`).

        It lists the rows that matter most: up to 10,000 connections, stalls and other waits, and
        65,536 servers. The others are counted in `summary.connections_not_listed` and the like; the
        tables, `to_csv` and `to_parquet` have all.
        """
        return self._text("json", path, _compared(baseline, baseline_map))

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: Path) -> None: ...
    def to_csv(self, path: Path | None = None) -> str | None:
        """Writes all stalls, a row each."""
        return self._text("csv", path, Options())

    @overload
    def to_parquet(self, path: None = None) -> bytes: ...
    @overload
    def to_parquet(self, path: Path) -> None: ...
    def to_parquet(self, path: Path | None = None) -> bytes | None:
        """Writes the table `stalls` as a Parquet file.

        Raises `OutputError` also without pyarrow: `pip install 'nagle-scan[parquet]'`.
        """
        return self._bytes("parquet", path, Options())

    @overload
    def to_html(
        self,
        path: None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str: ...
    @overload
    def to_html(
        self,
        path: Path,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> None: ...
    def to_html(
        self,
        path: Path | None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str | None:
        """Writes the page for a ticket, one self-contained file."""
        return self._text("html", path, _compared(baseline, baseline_map))

    @overload
    def to_markdown(
        self,
        path: None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str: ...
    @overload
    def to_markdown(
        self,
        path: Path,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> None: ...
    def to_markdown(
        self,
        path: Path | None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> str | None:
        """Writes a ticket for GitHub, GitLab or Jira."""
        return self._text("markdown", path, _compared(baseline, baseline_map))

    @overload
    def to_junit(self, path: None = None) -> str: ...
    @overload
    def to_junit(self, path: Path) -> None: ...
    def to_junit(self, path: Path | None = None) -> str | None:
        """Writes a test for each server, for CI: it fails if a stall of it is likely."""
        return self._text("junit", path, Options())

    @overload
    def to_annotated(
        self,
        path: None = None,
        payload: bool = False,
    ) -> bytes: ...
    @overload
    def to_annotated(
        self,
        path: Path,
        payload: bool = False,
    ) -> None: ...
    def to_annotated(self, path: Path | None = None, payload: bool = False) -> bytes | None:
        """Writes the whole capture as pcapng, with comments on the three frames of each stall.

        Frames keep their numbers: of those without a TCP segment only time and length remain. They
        are read again from the captures and cut after the TCP header unless `payload`. Raises
        `OutputError` also for standard input, which cannot be read again, and `CaptureError`.
        """
        return self._bytes("annotated", path, Options(payload=payload))

    @overload
    def to_lua(self, path: None = None) -> bytes: ...
    @overload
    def to_lua(self, path: Path) -> None: ...
    def to_lua(self, path: Path | None = None) -> bytes | None:
        """Writes a script that shows the stalls of this capture in Wireshark and tshark.

        Load it with `-X lua_script:nagle.lua`. Raises as `to_annotated`.
        """
        return self._bytes("lua", path, Options())

    @overload
    def to_timeline(
        self,
        path: None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> bytes: ...
    @overload
    def to_timeline(
        self,
        path: Path,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> None: ...
    def to_timeline(
        self,
        path: Path | None = None,
        baseline: Result | None = None,
        baseline_map: Mapping[str, str] | None = None,
    ) -> bytes | None:
        """Draws the connection of the clearest stall on one sheet.

        The suffix of `path` tells the kind of picture: `.png` or `.svg`; without a path, it is a
        PNG.
        """
        return self._bytes("timeline", path, _compared(baseline, baseline_map))

    @overload
    def to_bundle(
        self,
        path: None = None,
        baseline: Result | None = None,
        payload: bool = False,
        baseline_map: Mapping[str, str] | None = None,
    ) -> bytes: ...
    @overload
    def to_bundle(
        self,
        path: Path,
        baseline: Result | None = None,
        payload: bool = False,
        baseline_map: Mapping[str, str] | None = None,
    ) -> None: ...
    def to_bundle(
        self,
        path: Path | None = None,
        baseline: Result | None = None,
        payload: bool = False,
        baseline_map: Mapping[str, str] | None = None,
    ) -> bytes | None:
        """Writes ticket, page, evidence and picture into one zip file. Raises as `to_annotated`."""
        return self._bytes("bundle", path, _compared(baseline, baseline_map, payload))

    def _text(self, name: str, path: Path | None, options: Options) -> str | None:
        content = self._bytes(name, path, options)
        return None if content is None else content.decode()

    def _bytes(self, name: str, path: Path | None, options: Options) -> bytes | None:
        format = formats.named(name)
        if path is None:
            return formats.content(self, format, options)
        formats.write(self, files.utf8_name(path, OutputError), format, options)
        return None


def _compared(
    baseline: Result | None, baseline_map: Mapping[str, str] | None, payload: bool = False
) -> Options:
    from nagle_scan.moves import moved

    return Options(baseline, payload, moved(baseline_map))
