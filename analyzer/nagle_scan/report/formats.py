"""The formats of result files: one row each, for `-o`, `Scan.write`, help and README.

The engine writes some; any other has a module of its name with `write(result, path, options)`.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.errors import OutputError
from nagle_scan.system import files
from nagle_scan.words.wording import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nagle_scan.report.options import Options
    from nagle_scan.result import Result


class Format(NamedTuple):
    """One format of result files."""

    name: str
    """Its module in this folder or in the engine."""
    suffixes: tuple[str, ...]
    example: str
    """How a file may be called."""
    about: str
    """The contents of the file, for help."""
    takes: frozenset[str] = frozenset()
    """The fields of `Options` that change what is written."""
    by_engine: bool = False
    """The engine writes it, without the interpreter lock."""
    reads_again: bool = False
    """It holds frames, so the captures are read a second time."""
    of_many: tuple[str, ...] = ()
    """Suffixes of files that hold several captures. A module has `HEAD`, `BETWEEN` and `TAIL` to
    put around `part(result, options, name)` or `unusable(name, reason)` of each;
    what the engine writes is a line each."""
    is_text: bool = True
    """It may go to standard output."""
    of_exchanges: bool = False
    """A scan that kept all exchanges writes it."""
    needs: tuple[str, ...] = ()
    """Packages that may be missing."""


COMPARES = frozenset({"baseline", "baseline_map"})
FOR_PAGES = ("jinja2", "numpy")
FOR_PICTURES = ("matplotlib", "numpy")

FORMATS = (
    Format(
        name="json",
        suffixes=(".json", ".jsonl"),
        example="result.json",
        about="the result as data: totals, and the rows that matter most",
        takes=COMPARES,
        by_engine=True,
        of_many=(".jsonl",),
    ),
    Format(
        name="exchanges",
        suffixes=("exchanges.csv",),
        example="exchanges.csv",
        about="all exchanges, each latency as a sum of its parts",
        by_engine=True,
        of_exchanges=True,
    ),
    Format(
        name="waits",
        suffixes=("waits.csv",),
        example="waits.csv",
        about="waits that are no stalls, a row each",
        by_engine=True,
    ),
    Format(
        name="csv",
        suffixes=(".csv",),
        example="stalls.csv",
        about="all stalls, a row each",
        by_engine=True,
    ),
    Format(
        name="parquet",
        suffixes=(".parquet", "waits.parquet", "exchanges.parquet"),
        example="stalls.parquet",
        about="all stalls, waits or exchanges, for other tools",
        is_text=False,
        needs=("pandas", "pyarrow"),
    ),
    Format(
        name="html",
        suffixes=(".html",),
        example="report.html",
        about="a self-contained page",
        takes=COMPARES,
        needs=FOR_PAGES,
    ),
    Format(
        name="markdown",
        suffixes=(".md",),
        example="ticket.md",
        about="a ticket in Markdown",
        takes=COMPARES,
    ),
    Format(
        name="junit",
        suffixes=(".xml",),
        example="junit.xml",
        about="a test for each server, for CI (JUnit)",
        of_many=(".xml",),
    ),
    Format(
        name="annotated",
        suffixes=(".pcapng",),
        example="annotated.pcapng",
        about="the whole capture, every stall's frames commented",
        takes=frozenset({"payload"}),
        reads_again=True,
        is_text=False,
        needs=("numpy",),
    ),
    Format(
        name="lua",
        suffixes=(".lua",),
        example="nagle.lua",
        about="the stalls as fields and filters in Wireshark, tshark",
        reads_again=True,
        is_text=False,
        needs=("numpy",),
    ),
    Format(
        name="timeline",
        suffixes=(".png", ".svg"),
        example="timeline.png",
        about="a picture of the worst connection",
        takes=COMPARES,
        is_text=False,
        needs=FOR_PICTURES,
    ),
    Format(
        name="bundle",
        suffixes=(".zip",),
        example="ticket.zip",
        about="ticket, page, evidence and picture in one file, to attach",
        takes=COMPARES | {"payload"},
        reads_again=True,
        is_text=False,
        needs=("jinja2", *FOR_PICTURES),
    ),
)
"""In the order of help and README."""

STANDARD_OUTPUT = "-"
TEXT = "text"
"""The report for the terminal, which is not a file."""
PRINTED = (
    TEXT,
    *(suffix.lstrip(".") for format in FORMATS if format.is_text for suffix in format.suffixes),
)
"""Values of `--format`: suffixes without their dot."""

EXCHANGES = "exchanges.csv", "exchanges.parquet"
SUFFIXES = tuple(suffix for format in FORMATS for suffix in format.suffixes)
OF_MANY = tuple(suffix for format in FORMATS for suffix in format.of_many)

LEAST_BYTES = 200 << 20
"""Address space for what needs packages: with less, numpy's OpenBLAS ends the process with 1, which
means stalls."""

CANNOT_READ_AGAIN = (
    "the frames are read a second time, which standard input and pipes do not allow: save the "
    "capture to a file first"
)


def suffix(path: str) -> str:
    """The suffix that tells the format, in lower case."""
    return os.path.splitext(path)[1].lower()


def is_folder(path: str) -> bool:
    """Is it a folder, or meant to become one?"""
    return path.endswith(os.sep) or (suffix(path) not in SUFFIXES and os.path.isdir(path))


def of(path: str) -> Format:
    """The format that the suffix tells. Raises `OutputError`."""
    for format in FORMATS:
        # The more telling name comes first: exchanges.csv, then .csv.
        if path.lower().endswith(format.suffixes) and suffix(path):
            return format
    raise OutputError(f"{printable(path)!r} has no known suffix ({', '.join(SUFFIXES)})")


def holds_exchanges(path: str) -> bool:
    """Is it a file of all exchanges?"""
    return path.lower().endswith(EXCHANGES)


def with_option(option: str) -> str:
    """The suffixes of the formats that take an option, for its help."""
    taking = (format for format in FORMATS if option in format.takes)
    return ", ".join(suffix for format in taking for suffix in format.suffixes)


def write(result: "Result", path: str, format: Format, options: "Options") -> None:
    """Writes `result` to `path`; `-` is standard output. Raises `OutputError`."""
    if format.needs:
        check_installed(path, format.needs)
        _check_room(path)
    if not format.by_engine:
        import_module(f"nagle_scan.report.{format.name}").write(result, path, options)
        return
    with files.whole(path) as name:
        core = result.core_with_exchanges() if format.of_exchanges else result.core
        core.write(format.name, name, _members(result, format, options))


def check_installed(path: str, packages: "Sequence[str]") -> None:
    """Raises `OutputError` for what writing `path` needs and is missing."""
    missing = files.missing(packages)
    if missing:
        raise OutputError(f"{path}: needs {', '.join(missing)}: pip install {' '.join(missing)}")


def _check_room(path: str) -> None:
    """Raises `OutputError` under a limit of memory (`ulimit -v`) that numpy has no room in."""
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if 0 <= limit < LEAST_BYTES:
            raise OutputError(f"{path}: needs {LEAST_BYTES >> 20} MiB (ulimit -v)")


def _members(result: "Result", format: Format, options: "Options") -> str | None:
    """Members that the engine puts behind its own in JSON."""
    if format.name != "json":
        return None
    from nagle_scan.report import json

    return json.members(result, options)


def content(result: "Result", name: str, options: "Options") -> bytes:
    """The bytes that `write` would write into a file of this name. Raises `OutputError`."""
    with files.temporary_folder() as folder:
        path = os.path.join(folder, name)
        try:
            write(result, path, of(name), options)
        except OutputError as error:
            raise OutputError(str(error).replace(path, name)) from None
        with open(path, "rb") as file:
            return file.read()
