"""Results as files and texts: what a scan and a comparison of two have in common."""

from __future__ import annotations

import os
from typing import Literal, overload

from nagle_scan.errors import OutputError
from nagle_scan.report import formats
from nagle_scan.report.options import Options
from nagle_scan.result import Result
from nagle_scan.system import files

Text = Literal["json", "jsonl", "exchanges.csv", "waits.csv", "csv", "html", "md", "xml"]


class Written:
    """A result in the formats of `nagle-scan -o`: its suffix selects the format.

    `.json` is the output contract (`nagle-scan/1`), which lists the rows that matter most; `.csv`
    and `.parquet` have all stalls, `waits.csv` other waits, `exchanges.csv` all exchanges (as
    `.parquet`, too). `.html` is the page and `.md` the
    ticket, `.zip` both with the frames that prove the clearest stalls, and a picture (`.png`,
    `.svg`). `.xml` is JUnit. `.pcapng`, the whole capture with comments, and `.lua` are for
    Wireshark.
    """

    def write(self, path: str | os.PathLike[str], payload: bool = False) -> None:
        """Writes a file, whole or not at all. With `payload`, its frames keep theirs.

        Raises `OutputError` for an unknown suffix, a file that cannot be written, a format that
        cannot show this or lacks a package, and where frames cannot be read again (standard input);
        `CaptureError` for a capture that is gone.
        """
        name = files.utf8_name(path, OutputError)
        formats.write(*self._asked(name, payload))

    @overload
    def render(self, format: Text, payload: bool = False) -> str: ...
    @overload
    def render(self, format: str, payload: bool = False) -> str | bytes: ...
    def render(self, format: str, payload: bool = False) -> str | bytes:
        """The content that `write` would write: `format` is a suffix without its dot, as `"html"`.

        Text for `json`, `jsonl`, `csv`, `exchanges.csv`, `waits.csv`, `html`, `md` and `xml`, else
        bytes. Raises as `write`.
        """
        result, name, chosen, options = self._asked(f"result.{format}", payload)
        content = formats.content(result, name, options)
        return content.decode() if chosen.is_text else content

    def _asked(self, name: str, payload: bool) -> tuple[Result, str, formats.Format, Options]:
        result, options = self._shown(payload)
        chosen = formats.of(name)
        for option in options.given():
            if option not in chosen.takes:
                raise OutputError(f"{name}: {formats.suffix(name)} shows no {option}")
        return result, name, chosen, options

    def _shown(self, payload: bool) -> tuple[Result, Options]:
        raise NotImplementedError
