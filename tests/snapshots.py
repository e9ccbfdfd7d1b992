"""A full report of each format, and the tables' columns, as text that shows in a review what
changed: `make snapshots`.

Kept in `tests/snapshots`, compared byte for byte. Versions are left out, and so is what nobody can
review: of the page its style, script and drawings, of the evidence the frames' other fields.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import nagle_scan
import pandas as pd
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "tests" / "snapshots"
CAPTURE = "captures/java-split.pcap"
COMMAND = Path(sys.executable).with_name("nagle-scan")
VERSION = re.compile(rf"(?<![\d.]){re.escape(nagle_scan.__version__)}(?![\d.])")


def whole(path: Path) -> str:
    """The file as it is, line ends and all."""
    return path.read_bytes().decode()


def json_lines(path: Path) -> str:
    """One object or list a line; nothing else is changed."""
    text = whole(path)
    broken = re.sub(r'(?<=[\[,])(?=\{)|(?<=,)(?="\w+":[\[{])', "\n", text)
    assert json.loads(broken) == json.loads(text)
    return broken + "\n"


def page(path: Path) -> str:
    """The page as it is written, with the words of a picture in its place."""
    html = re.sub(r"'sha256-[^']*'", "'sha256-'", whole(path))
    html = re.sub(r"(<(style|script)>).*?(?=</\2>)", r"\1", html, flags=re.DOTALL)
    return re.sub(r"<svg .*?</svg>", drawn, html, flags=re.DOTALL)


def drawn(svg: re.Match[str]) -> str:
    """The words of a picture, one a line; without the numbers at its axes."""
    said = re.findall(r"<(title|desc|text)\b[^>]*>([^<]*[A-Za-z][^<]*)<", svg[0])
    return "".join(["<svg>\n", *(f"{tag}: {text}\n" for tag, text in said), "</svg>"])


def listing(ticket: Path) -> str:
    """The evidence: the comment on the file, then each frame and its comments."""
    with ZipFile(ticket) as bundle:
        path = Path(bundle.extract("evidence.pcapng", ticket.parent))
    with RawPcapNgReader(str(path)) as reader:
        frames = [line for data, meta in reader for line in frame(data, meta)]
    about = re.search(rb"Evidence of [^\0]*", path.read_bytes())
    assert about is not None
    return "\n".join([about[0].decode(), *frames, ""])


def frame(data: bytes, meta: Any) -> Iterator[str]:
    """A frame's bytes, and the comment on it."""
    ip = Ether(data)[IP]
    tcp = ip[TCP]
    yield (
        f"{meta.tshigh << 32 | meta.tslow} {len(data)}/{meta.wirelen} B "
        f"{ip.src}:{tcp.sport} > {ip.dst}:{tcp.dport} {tcp.flags} seq {tcp.seq} ack {tcp.ack} "
        f"win {tcp.window} sum {tcp.chksum:04x}"
    )
    yield from (f"  {comment.decode()}" for comment in meta.comments or [])


FORMATS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "report.txt": ("report.txt", whole),
    "page.html": ("page.html", page),
    "ticket.md": ("ticket.md", whole),
    "result.json": ("result.json", json_lines),
    "stalls.csv": ("stalls.csv", whole),
    "junit.xml": ("junit.xml", whole),
    "evidence.txt": ("ticket.zip", listing),
}
"""By the file that is kept: the file it is made of, and how."""


def fresh() -> dict[str, str]:
    """The snapshots as they would be kept now."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [output for output, _ in FORMATS.values() if output != "report.txt"]
        options = [word for output in wanted for word in ("-o", folder / output)]
        done = subprocess.run([COMMAND, CAPTURE, *options], cwd=ROOT, capture_output=True)
        assert (done.returncode, done.stderr) == (1, b"")
        # Without the names of the files.
        (folder / "report.txt").write_bytes(done.stdout.partition(b"\n\nwrote ")[0] + b"\n")
        made = {kept: read(folder / output) for kept, (output, read) in FORMATS.items()}
        made["tables.txt"] = tables()
    return {kept: VERSION.sub("VERSION", text) for kept, text in made.items()}


TABLES = ("connections", "stalls", "waits", "exchanges", "open", "servers")


def tables() -> str:
    """Each column and its type, a line each."""
    scan = nagle_scan.scan(ROOT / CAPTURE)
    found = [(name, getattr(scan, name)) for name in TABLES] + [("segments", scan.segments(0))]
    found[0] = ("connections", scan.connections.reset_index())
    rows = [
        f"{name}.{column}: {kind(dtype)}\n"
        for name, table in found
        for column, dtype in table.dtypes.items()
    ]
    return "".join(rows)


def kind(dtype: Any) -> str:
    """The type of a column; words with all that there may be."""
    if isinstance(dtype, pd.CategoricalDtype):
        return " < ".join(dtype.categories) if dtype.ordered else ", ".join(dtype.categories)
    return "text" if dtype in (object, "str") else str(dtype)


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name, text in fresh().items():
        (KEPT / name).write_bytes(text.encode())
