"""The names and types that programs and notebooks rely on."""

from __future__ import annotations

import ast
import csv
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nagle_scan
import pandas as pd
import pytest
from conftest import CAPTURES, ROOT, generated, written
from conversation import Frame, stalled
from nagle_scan import _core
from nagle_scan.api.scan import Scan
from nagle_scan.words import causes, certainty
from scapy.layers.inet import IP, TCP
from scapy.utils import PcapReader

END = {"addr": str, "port": int, "nagle": {"on", "off", "unknown", "switched"}}
VERDICTS = set(certainty.VERDICTS)
CAUSES = {cause.name for cause in causes.CAUSES if cause.is_stall}
STALL = {
    "cause": CAUSES,
    "sender": {"client", "server"},
    "rel_seq": int,
    "len": int,
    "frame_unacked": int,
    "frame_ack": int,
    "frame_held": int,
    "time_ns": int,
    "wait_ms": float,
    "hold_ms": float,
    "ack_delay_ms": float,
    "release_ms": float,
    "confidence": {"certain", "likely", "possible"},
    "evidence": [str],
}
WAIT = {
    "cause": str,
    "sender": {"client", "server"},
    "frame_from": int,
    "frame_to": int,
    "lost_before_capture": bool,
    "wait_ms": float,
}
HOP = {
    "chain": int,
    "number": int,
    "clients": int,
    "client_addr": str,
    "called_by": [str],
    "server_addr": str,
    "server_port": int,
    "connections": int,
    "exchanges": int,
    "client_nagle": {"on", "off", "unknown", "switched", "mixed"},
    "server_nagle": {"on", "off", "unknown", "switched", "mixed"},
    "client_stalls": int,
    "server_stalls": int,
    "stalled_ms": float,
    "client_passed_on": int,
    "server_passed_on": int,
    "passed_on_ms": float,
    "mean_latency_ms": (float, type(None)),
    "first_hop_predicted_latency_ms": (float, type(None)),
}
ADVICE = {
    "sender": str,
    "receiver": str,
    "where": str,
    "what": str,
    "price": str,
    "settings": [{"program": str, "knob": str, "note": str, "address": str}],
}
CONTRACT = {
    "schema": {"nagle-scan/1"},
    "version": str,
    "min_wait_ms": float,
    "filter": (str, type(None)),
    "report": {"sentence": str, "sentences": [str], "notices": [str], "advice": [ADVICE]},
    "captures": [
        {
            "path": str,
            "packets": int,
            "bytes": int,
            "link_type": str,
            "first_ns": int,
            "last_ns": int,
            "complete": bool,
            "warnings": [str],
        }
    ],
    "summary": {
        "connections": int,
        "connections_not_listed": int,
        "servers_not_listed": int,
        "tcp_packets": int,
        "affected_connections": int,
        "stalls": int,
        "stalled_ms": float,
        "verdict": VERDICTS,
        "not_judged": int,
        "stalls_by_confidence": {"certain": int, "likely": int, "possible": int},
        "stalled_ms_by_confidence": {"certain": float, "likely": float, "possible": float},
        "short_holds": int,
        "short_holds_ms": float,
        "connecting": (dict, type(None)),
    },
    "hops": [HOP],
    "connections": [
        {
            "connection": int,
            "client": END,
            "server": END,
            "rtt_ms": (float, type(None)),
            "mss": int,
            "verdict": VERDICTS,
            "conclusive": bool,
            "capture_point": {"client", "server", "between", "unknown"},
            "stalls": [STALL],
            "waits": [WAIT],
        }
    ],
}
"""Section 8 of the design: types, sets of allowed values, lists of one shape."""


def violations(value: Any, shape: Any, where: str) -> list[str]:
    """Every place where `value` breaks `shape`; more fields than asked for are fine."""
    match shape:
        case dict() if not isinstance(value, dict):
            return [f"{where}: {value!r} is no object"]
        case dict():
            missing = [f"{where}.{name} is missing" for name in shape.keys() - value.keys()]
            inner = [
                problem
                for name in shape.keys() & value.keys()
                for problem in violations(value[name], shape[name], f"{where}.{name}")
            ]
            return missing + inner
        case [item_shape]:
            if not isinstance(value, list):
                return [f"{where}: {value!r} is no list"]
            items = [violations(item, item_shape, f"{where}[]") for item in value]
            return [problem for item in items for problem in item]
        case set():
            return [] if value in shape else [f"{where}: {value!r} is not one of {sorted(shape)}"]
        case _:
            kinds = shape if isinstance(shape, tuple) else (shape,)
            return [] if type(value) in kinds else [f"{where}: {value!r} is no {shape}"]


@pytest.fixture(params=["java-split", "epoll-fd0", "epoll-fixed", "java-split-nodelay"])
def scan(request: pytest.FixtureRequest) -> Scan:
    return nagle_scan.scan(CAPTURES / f"{request.param}.pcap")


def test_every_field_of_the_json_contract_is_there(scan: Scan, tmp_path: Path) -> None:
    result = written(scan, tmp_path)
    assert violations(result, CONTRACT, "") == []
    assert [connection["connection"] for connection in result["connections"]] == list(
        range(result["summary"]["connections"])
    )


def test_hops_have_every_field_of_the_contract(tmp_path: Path) -> None:
    chain = nagle_scan.scan(CAPTURES / "chains" / "client-and-server" / "a.pcap.gz")
    result = written(chain, tmp_path)
    assert result["hops"]
    assert violations(result, CONTRACT, "") == []


def test_the_contract_check_itself_finds_what_is_wrong() -> None:
    wrong = {"port": True, "nagle": "yes", "more": 1}
    assert sorted(violations(wrong, END, "end")) == [
        "end.addr is missing",
        "end.nagle: 'yes' is not one of ['off', 'on', 'switched', 'unknown']",
        "end.port: True is no <class 'int'>",
    ]


def test_every_format_and_the_tables_tell_the_same_stalls(scan: Scan, tmp_path: Path) -> None:
    result = written(scan, tmp_path)
    scan.write(tmp_path / "stalls.csv")
    with (tmp_path / "stalls.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    stalls = [
        {"connection": connection["connection"], **stall}
        for connection in result["connections"]
        for stall in connection["stalls"]
    ]
    names = [name for name in scan.stalls.columns if name not in ("len_unacked", "time")]
    table = scan.stalls[names].astype(object).to_dict("records")
    assert [{name: stall[name] for name in names} for stall in stalls] == table
    as_text = [{name: str(stall[name]) for name in names} for stall in stalls]
    for row, expected in zip(rows, as_text, strict=True):
        assert {name: _number(row[name]) for name in names} == {
            name: _number(text) for name, text in expected.items()
        }
    scan.write(tmp_path / "stalls.parquet")
    read = pd.read_parquet(tmp_path / "stalls.parquet")
    pd.testing.assert_frame_equal(read, scan.stalls, check_categorical=False)


def test_the_tables_of_many_connections_are_whole(tmp_path: Path) -> None:
    """They are written by two threads, in blocks."""
    scan = nagle_scan.scan(generated(tmp_path, "rpc", 3_000, 60_000))
    result = written(scan, tmp_path)["connections"]
    stalls = [(row["connection"], stall["frame_held"]) for row in result for stall in row["stalls"]]
    waits = [(row["connection"], wait["frame_to"]) for row in result for wait in row["waits"]]
    # More than one thread takes at once.
    assert len(result) > 2_048
    assert len(stalls) + len(waits) > 8_192
    for table, rows, frame in (
        (scan.stalls, stalls, "frame_held"),
        (scan.waits, waits, "frame_to"),
    ):
        assert list(table[["connection", frame]].itertuples(index=False, name=None)) == rows
    ends = scan.connections[["client_addr", "client_port", "client_nagle", "handshake"]]
    assert list(ends.itertuples(name=None)) == [
        (
            row["connection"],
            *(row["client"][name] for name in ("addr", "port", "nagle")),
            row["handshake"],
        )
        for row in result
    ]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def test_a_csv_without_stalls_has_the_columns_of_one_with_stalls(tmp_path: Path) -> None:
    headers = []
    for name in ("java-split", "epoll-fixed"):
        nagle_scan.scan(CAPTURES / f"{name}.pcap").write(tmp_path / "stalls.csv")
        headers.append((tmp_path / "stalls.csv").read_text().splitlines()[0])
    assert headers[0] == headers[1]


TIME = "datetime64[ns, UTC]"
END_COLUMNS = {
    "addr": "text",
    "port": "int64",
    "nagle": "category",
    "nagle_variant": "category",
    "rtt_ms": "float64",
    "segments": "int64",
    "bytes": "int64",
    "retransmitted": "int64",
    "delayed_ack_ms": "float64",
    "delayed_ack_consistent_with": "text",
}
TABLES = {
    "connections": {
        **{
            f"{side}_{name}": kind
            for side in ("client", "server")
            for name, kind in END_COLUMNS.items()
        },
        "first_ns": "int64",
        "first": TIME,
        "last_ns": "int64",
        "last": TIME,
        "handshake": "bool",
        "verdict": "category",
        "conclusive": "bool",
        "rtt_ms": "float64",
        "handshake_rtt_ms": "float64",
        "mss": "int64",
        "capture_point": "category",
        "stalls": "int64",
        "connect_ms": "float64",
        "first_reply_ms": "float64",
        "stalled_ms": "float64",
        "exchanges": "int64",
        "mean_latency_ms": "float64",
        "predicted_latency_ms": "float64",
    },
    "stalls": {
        "connection": "int64",
        "cause": "category",
        "sender": "category",
        "confidence": "category",
        "rel_seq": "int64",
        "len": "int64",
        "len_unacked": "int64",
        "frame_unacked": "int64",
        "frame_ack": "int64",
        "frame_held": "int64",
        "time_ns": "int64",
        "time": TIME,
        "wait_ms": "float64",
        "hold_ms": "float64",
        "ack_delay_ms": "float64",
        "release_ms": "float64",
    },
    "waits": {
        "connection": "int64",
        "cause": "category",
        "sender": "category",
        "frame_from": "int64",
        "frame_to": "int64",
        "time_ns": "int64",
        "time": TIME,
        "lost_before_capture": "bool",
        "wait_ms": "float64",
    },
    "exchanges": {
        "connection": "int64",
        "frame_begin": "int64",
        "frame_end": "int64",
        "begin_ns": "int64",
        "begin": TIME,
        "request_bytes": "int64",
        "response_bytes": "int64",
        "latency_ms": "float64",
        "stalls": "int64",
        "stalled_ms": "float64",
        "predicted_latency_ms": "float64",
    },
    "segments": {
        "frame": "int64",
        "time_ns": "int64",
        "time": TIME,
        "sender": "category",
        "rel_seq": "int64",
        "len": "int64",
        "seq": "int64",
        "ack": "int64",
        "flags": "int64",
        "flags_text": "category",
        "window": "int64",
        "window_bytes": "float64",
        "repeat": "category",
    },
}


def kinds(table: pd.DataFrame) -> dict[str, str]:
    return {
        str(name): "text" if dtype in (object, "str") else str(dtype)
        for name, dtype in table.dtypes.items()
    }


def table_of(scan: Scan, name: str) -> pd.DataFrame:
    table: pd.DataFrame = scan.segments(0) if name == "segments" else getattr(scan, name)
    return table


@pytest.mark.parametrize("name", TABLES)
def test_the_columns_and_their_types_are_as_documented(name: str, scan: Scan) -> None:
    assert kinds(table_of(scan, name)) == TABLES[name]
    if name == "connections":
        assert scan.connections.index.name == "connection"
    if name == "stalls":
        words = scan.stalls["confidence"].cat
        assert (words.ordered, list(words.categories)) == (True, ["possible", "likely", "certain"])


@pytest.mark.parametrize("name", TABLES)
def test_a_capture_without_any_row_has_the_same_columns(name: str, tmp_path: Path) -> None:
    path = tmp_path / "nothing.pcap"
    path.write_bytes((CAPTURES / "java-split.pcap").read_bytes()[:24])
    scan = nagle_scan.scan(path)
    if name == "segments":
        with pytest.raises(KeyError):
            scan.segments(0)
        return
    table = table_of(scan, name)
    assert len(table) == 0
    assert list(table.columns) == list(TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_the_docstring_names_every_column(name: str) -> None:
    member: Any = inspect.getattr_static(Scan, name)
    words = set(re.findall(r"`([a-z_]+)`", member.__doc__ or ""))
    columns = {re.sub("^(client|server)_", "", column) for column in TABLES[name]}
    assert columns <= words
    values = {"client", "server", "on", "off", "unknown", "possible", "likely", "certain"}
    values |= {"classic", "minshall", *VERDICTS}
    values |= {"no", "retransmitted", "duplicated", "reordered"}
    others = {"client_", "server_", "connection", *CAUSES, *values, *_core_errors()}
    assert words - columns - others == set(), "documented, but no column"


def _core_errors() -> set[str]:
    return {"CaptureError", "KeyError"}


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
                "window": packet[TCP].window,
            }
            for number, packet in enumerate(packets, 1)
        ]
    assert [{key: row[key] for key in one} for row, one in zip(ours, theirs, strict=True)] == theirs


def test_the_window_in_bytes_takes_the_scale_of_the_handshake() -> None:
    segments = nagle_scan.scan(CAPTURES / "jdk-httpserver.pcap").segments(0)
    assert segments["window_bytes"].tolist()[:3] == [65495.0, 65483.0, 65536.0]


def test_without_the_handshake_the_window_in_bytes_is_unknown(
    scan_frames: Callable[[Sequence[Frame]], Scan],
) -> None:
    frames = stalled().frames
    assert scan_frames(frames[3:]).segments(0)["window_bytes"].isna().all()


def test_rel_seq_counts_the_payload_of_each_direction() -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    segments = scan.segments(0)
    for side in ("client", "server"):
        data = segments[(segments["sender"] == side) & (segments["len"] > 0)]
        assert data["rel_seq"].tolist() == [0, *data["len"].cumsum().tolist()[:-1]]


def test_an_unknown_connection_is_a_key_error() -> None:
    scan = nagle_scan.scan(CAPTURES / "java-split.pcap")
    for number in (-1, 1, 2**40):
        with pytest.raises(KeyError):
            scan.segments(number)


def test_a_missing_table_is_an_error_that_names_the_others() -> None:
    core = nagle_scan.scan(CAPTURES / "java-split.pcap").core
    tables = "connections, stalls, waits, servers, exchanges, hours"
    with pytest.raises(ValueError, match=f"no such table: exchange .*{tables}"):
        core.columns("exchange")
    assert all(core.columns(name) for name in tables.split(", "))


# The stub against the binary.

STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


CHAIN = CAPTURES / "chains/server-2-relays/a.pcap.gz"
ROWS: dict[str, Callable[[_core.Scan], object]] = {
    "Summary": lambda core: core.summary(),
    "Group": lambda core: core.groups()[0].worst,
    "ServerGroup": lambda core: core.groups()[0],
    "ServerRow": lambda core: core.servers(1)[0],
    "ConnectionRow": lambda core: core.affected(1)[0],
    "WaitRow": lambda core: core.clearest(),
    "HopRow": lambda _: nagle_scan.scan(CHAIN).core.hops()[0],
}
"""An example of each kind: it has its fields besides what its class has."""


def public(owner: object) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def test_stubtest_finds_no_difference() -> None:
    """Names, parameters and classes; those that have a `__dict__` are looked at below."""
    command = [sys.executable, "-m", "mypy.stubtest", "nagle_scan._core", "--concise"]
    command += ["--mypy-config-file", "pyproject.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    # PyO3 makes this list of the names that are compared.
    assert done.stdout.strip() == "nagle_scan._core.__all__ is not present in stub"


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_lists_each_attribute_of_a_class(name: str) -> None:
    owner = getattr(_core, name)
    if issubclass(owner, Exception):
        assert owner.__base__.__name__ == ast.unparse(CLASSES[name].bases[0])
        return
    listed = {
        item.target.id
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        else item.name
        if isinstance(item, ast.FunctionDef)
        else ""
        for item in CLASSES[name].body
    }
    if name in ROWS:
        owner = ROWS[name](nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").core)
    assert public(owner) == {item for item in listed if item[:1] != "_"}


@pytest.mark.parametrize("name", ROWS)
def test_each_value_has_the_type_the_stub_promises(name: str) -> None:
    row = ROWS[name](nagle_scan.scan(CAPTURES / "epoll-fd0.pcap").core)
    for item in CLASSES[name].body:
        assert isinstance(item, ast.AnnAssign)
        assert isinstance(item.target, ast.Name)
        promised = ast.unparse(item.annotation).split("[")[0].split(" | ")
        value = getattr(row, item.target.id)
        assert type(value).__name__.replace("NoneType", "None") in promised, item.target.id


@pytest.mark.parametrize("ask", ["columns", "write"])
def test_what_the_engine_does_not_know_is_refused(ask: str, scan: Scan, tmp_path: Path) -> None:
    path = tmp_path / "typo"
    arguments = {"columns": ("typo",), "write": ("typo", str(path))}[ask]
    with pytest.raises(ValueError, match="typo"):
        getattr(scan.core, ask)(*arguments)
    assert not path.exists()


def test_a_format_is_written_by_its_name(scan: Scan, tmp_path: Path) -> None:
    """The engine's part of JSON is whole without what Python adds."""
    for name in ("csv", "json"):
        scan.core.write(name, str(tmp_path / name))
    scan.write(tmp_path / "stalls.csv")
    assert (tmp_path / "csv").read_bytes() == (tmp_path / "stalls.csv").read_bytes()
    engine, result = json.loads((tmp_path / "json").read_text()), written(scan, tmp_path)
    assert engine.items() <= result.items()
    assert result.keys() - engine.keys() == {"version", "min_wait_ms", "filter", "report"}
