"""The names and types that programs and notebooks rely on."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
import snapshots
import stub
from conftest import CAPTURES, ROOT, ScanFrames, stalls_in, written
from conversation import stalled
from nagle_scan import _core
from nagle_scan.api.scan import Scan
from nagle_scan.result.options import ScanOptions
from nagle_scan.words import causes, certainty
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

VERDICTS = set(certainty.VERDICTS)
CAUSES = {cause.name for cause in causes.CAUSES if cause.is_stall}


@pytest.fixture(params=["java-split", "epoll-fd0", "epoll-fixed", "java-split-nodelay"])
def scan(request: pytest.FixtureRequest) -> Scan:
    return nagle_scan.scan(CAPTURES / f"{request.param}.pcap")


def test_the_table_tells_why_a_connection_cannot_be_judged(scan: Scan, tmp_path: Path) -> None:
    noticed = {
        row["connection"]: row.get("notices", []) for row in written(scan, tmp_path)["connections"]
    }
    table = scan.connections
    assert {number: [why] * bool(why) for number, why in table["notices"].items()} == noticed
    assert (table["notices"] == "").equals(table["conclusive"])


def test_the_json_and_the_table_tell_the_same_stalls(scan: Scan, tmp_path: Path) -> None:
    names = [name for name in scan.stalls.columns if name not in ("len_unacked", "time")]
    table = scan.stalls[names].astype(object).to_dict("records")
    stalls = stalls_in(written(scan, tmp_path))
    assert [{name: stall[name] for name in names} for stall in stalls] == table


def test_a_csv_without_stalls_has_the_columns_of_one_with_stalls(tmp_path: Path) -> None:
    headers = []
    for name in ("java-split", "epoll-fixed"):
        nagle_scan.scan(CAPTURES / f"{name}.pcap").write(tmp_path / "stalls.csv")
        headers.append((tmp_path / "stalls.csv").read_text().splitlines()[0])
    assert headers[0] == headers[1]


TABLES = (*snapshots.TABLES, "segments")


def table_of(scan: Scan, name: str) -> pd.DataFrame:
    table: pd.DataFrame = scan.segments(0) if name == "segments" else getattr(scan, name)
    return table


@pytest.mark.parametrize("name", snapshots.TABLES)
def test_a_capture_without_any_row_has_the_same_columns(name: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.pcap"
    path.write_bytes((CAPTURES / "java-split.pcap").read_bytes()[:24])
    empty = table_of(nagle_scan.scan(path), name)
    assert len(empty) == 0
    assert list(empty) == list(table_of(nagle_scan.scan(CAPTURES / "java-split.pcap"), name))


@pytest.mark.parametrize("name", TABLES)
def test_the_docstring_names_every_column(name: str) -> None:
    member: Any = inspect.getattr_static(Scan, name)
    documented = set(re.findall(r"`([a-z_0-9]+)`", member.__doc__ or ""))
    columns = table_of(nagle_scan.scan(CAPTURES / "java-split.pcap"), name)
    assert set(columns) <= documented


FLAGS = {"F": "FIN", "S": "SYN", "R": "RST", "P": "PSH", "A": "ACK"}
"""The names of scapy's letters, in its order."""


@pytest.mark.parametrize("name", ["java-split", "jdk-httpserver", "epoll-fixed", "epoll-fd0"])
def test_segments_are_those_in_the_capture(name: str) -> None:
    path = CAPTURES / f"{name}.pcap"
    scan = nagle_scan.scan(path)
    tables = [scan.segments(int(number)) for number in scan.connections.index]
    ours = pd.concat(tables).sort_values("frame").astype(object).to_dict("records")
    clients = {row.client_port for row in scan.connections.itertuples()}
    with PcapReader(str(path)) as packets:
        theirs = [
            {
                "frame": number,
                "time_ns": round(packet.time * 10**9),
                "sender": "client" if packet[TCP].sport in clients else "server",
                "len": packet[IP].len - packet[IP].ihl * 4 - packet[TCP].dataofs * 4,
                "seq": packet[TCP].seq,
                "ack": packet[TCP].ack,
                "flags": int(packet[TCP].flags),
                "flags_text": ", ".join(FLAGS[letter] for letter in str(packet[TCP].flags)),
                "window": packet[TCP].window,
            }
            for number, packet in enumerate(packets, 1)
        ]
    assert [{key: row[key] for key in one} for row, one in zip(ours, theirs, strict=True)] == theirs


def test_the_window_in_bytes_takes_the_scale_of_the_handshake() -> None:
    segments = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap").segments(0)
    assert segments["window_bytes"].tolist()[:3] == [65495.0, 65483.0, 65536.0]


def test_without_the_handshake_the_window_in_bytes_is_unknown(scan_frames: ScanFrames) -> None:
    frames = stalled().frames
    assert scan_frames(frames[3:]).segments(0)["window_bytes"].isna().all()


# The stub, which scripts/stub.py wrote from the engine's sources, against the binary.

STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


CHAIN = CAPTURES / "chains/server-2-relays/a.pcap.gz"
SPLIT = str(CAPTURES / "epoll-fd0.pcap")
ROWS: dict[str, Callable[[_core.Scan], object]] = {
    "Summary": lambda core: core.summary(),
    "HostPairRow": lambda core: core.groups()[0].worst,
    "ServerGroupRow": lambda core: core.groups()[0],
    "ServerRow": lambda core: core.servers(1)[0],
    "ConnectionRow": lambda core: core.affected(1)[0],
    "WaitRow": lambda core: core.clearest(),
    "HopRow": lambda _: nagle_scan.scan(CHAIN)._result.core.hops()[0],
    "NagleRow": lambda core: core.nagle(1)[0][0],
    "ExchangeRow": lambda core: core.slowest(1)[0],
    "TenthRow": lambda core: core.tenth(),
    "CauseRow": lambda core: core.causes()[0],
    "LateAckRow": lambda core: core.late_acks()[0],
    "WhyRow": lambda core: _core.why([SPLIT], ScanOptions(), core.stalls_of(1, 1)[0].frame_to),
    "ChosenFrames": lambda _: _core.choose_frames([SPLIT], ScanOptions(), [(1, [(1, 9)])])[0],
    "FrameRow": lambda _: _core.read_frames([SPLIT], [4], False, None)[0],
}
"""An example of each kind: it has its fields besides what its class has."""


@pytest.mark.parametrize("name", ROWS)
def test_each_value_is_in_the_stub_with_its_type(name: str) -> None:
    row = ROWS[name](nagle_scan.scan(SPLIT)._result.core)
    promised = {}
    for item in CLASSES[name].body:
        if isinstance(item, ast.AnnAssign):
            promised[ast.unparse(item.target)] = ast.unparse(item.annotation)
        elif isinstance(item, ast.FunctionDef) and item.returns:
            promised[item.name] = ast.unparse(item.returns)
    assert {name for name in dir(row) if not name.startswith("_")} == promised.keys()
    for field, kinds in promised.items():
        kind = type(getattr(row, field)).__name__.replace("NoneType", "None")
        assert kind in re.sub(r"\[.*\]", "", kinds).split(" | "), field


def test_the_stub_has_what_the_binary_has_and_nothing_else() -> None:
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    constants = {ast.unparse(node.target) for node in STUB.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public - CLASSES.keys() == functions | constants


def test_a_new_field_is_one_line(tmp_path: Path) -> None:
    """The stub gets it; `output/fields/tests.rs` has the same of JSON, CSV and tables."""
    for room in ("python", "frames", "output/fields"):
        shutil.copytree(ROOT / "analyzer/src" / room, tmp_path / room)
    file = tmp_path / "output/fields/stall.rs"
    first, head, rest = file.read_text().partition("    fn fields(to: &mut impl Fields<Self>) {\n")
    line = '        to.flag(field!("is_new", "Is it new?"), |row| row.finding.is_new());\n'
    file.write_text(first + head + line + rest)
    before, after = (stub.Engine(source).stub() for source in (ROOT / "analyzer/src", tmp_path))
    added = [
        line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"
    ]
    assert added == ["+     is_new: bool"]
