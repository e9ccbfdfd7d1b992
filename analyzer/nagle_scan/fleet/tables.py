"""What was found in a capture set, as Arrow tables. Workers build them, so without pandas."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nagle_scan.fleet import identity, sentences
from nagle_scan.fleet.fields import CONFIDENCES, DAY, FLOAT, INTEGER, TIME, schema
from nagle_scan.report import verdicts
from nagle_scan.words.wording import sentence_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan import _core
    from nagle_scan.api.names import Label
    from nagle_scan.fleet.work import Capture, Failure, Job, Settings

DAY_NS, HOUR_NS = 86_400_000_000_000, 3_600_000_000_000
MOST_DAYS = 400
"""A set with more has all its rows on the day of its first frame: a broken clock must not make a
file for each."""
WORST = 3
"""Connections of each service and set that are kept, those that lose most."""
NAME_LEN = 8
"""Bytes of what stands for a path: no two of a billion captures are likely to share it."""
PLAIN_REASON = re.compile(
    r"(cannot read: )?(HTTP \d+: [a-z -]+|ends [\d,]+ (of [\d,]+ )?bytes too early|link type .*|"
    r"the worker died .*|changed .*while it was read|a folder, pipe or device.*|"
    r"it grew, but capture-[0-9a-f]+ is gone.*|"
    + "|".join(re.escape(os.strerror(number).lower()) for number in errno.errorcode)
    + ")"
)
"""Nothing in it comes from a name, an address or a library."""
REASONS = ("not a capture file", "no worker")
"""Beginnings of others."""
Column: TypeAlias = "NDArray[Any] | list[str] | tuple[NDArray[Any], list[str]]"
"""As the engine gives it: numbers, texts, or codes of a category and its names."""
Rows: TypeAlias = "dict[str, pa.Array]"


def of(scan: _core.Scan, job: Job, settings: Settings) -> dict[str, pa.Table]:
    """The tables of `fields`, without `batch`: `Lake` knows it."""
    servers = _servers(scan)
    if settings.key is not None:
        scan = scan.anonymized(settings.key)
    labels = {
        (shown, port): sentences.label(addr, port, settings, shown)
        for (addr, port), (shown, _) in zip(servers, _servers(scan), strict=True)
    }
    return _Found(scan, job, settings, labels).tables()


def hidden(text: str, key: bytes) -> str:
    """What stands for `text`: always the same with the same key."""
    return f"capture-{blake2b(text.encode(), digest_size=NAME_LEN, key=key).hexdigest()}"


def place(host: str, path: str, key: bytes | None) -> tuple[str, str]:
    """Host and path as the tables have them: with a key, both may tell an address or a person."""
    return (host, path) if key is None else ("", hidden(f"{host}:{path}", key))


def of_failures(failures: Sequence[Failure], settings: Settings) -> pa.Table:
    """Rows of `captures` for what could not be read."""
    places = [place(one.host, one.path, settings.key) for one in failures]
    now = _now_us()
    return _conformed(
        "captures",
        {
            "set": _texts([one.set for one in failures]),
            "host": _texts([host for host, _ in places]),
            "path": _texts([path for _, path in places]),
            "size": _array(np.array([one.size for one in failures], np.int64)),
            "modified": _texts([one.modified for one in failures]),
            "version": _texts([settings.version] * len(failures)),
            "scanned": _array(np.full(len(failures), now)).view(TIME),
            "error": _texts([_told(one.reason, settings.key) for one in failures]),
            "attempts": _array(np.array([one.attempts for one in failures], np.int64)),
            "final": _array(np.array([one.is_final for one in failures], bool)),
        },
        len(failures),
    )


def _told(reason: str, key: bytes | None) -> str:
    """With a key, what tells no name and no address."""
    if key is None or PLAIN_REASON.fullmatch(reason):
        return reason
    return next((begin for begin in REASONS if reason.startswith(begin)), "cannot read")


class _Found:
    """A scan on its way to tables."""

    def __init__(
        self,
        scan: _core.Scan,
        job: Job,
        settings: Settings,
        labels: Mapping[tuple[str, int], Label],
    ) -> None:
        self._scan = scan
        self._job = job
        self._settings = settings
        self._labels = labels
        self._summary = scan.summary()
        self._connections = scan.columns("connections")
        self._stalls = scan.columns("stalls")
        self._order = np.argsort(self._connections["connection"])
        self._ids = self._connections["connection"][self._order]

    def tables(self) -> dict[str, pa.Table]:
        everything = self._settings.everything
        stalls, waits = self._of_stalls(), self._of_waits()
        confidence = stalls["confidence"]
        is_sure = pc.is_in(confidence, pa.array(CONFIDENCES[:-1]))
        made = {
            "sums": self._sums(stalls, waits),
            "stalls": stalls if everything else _filtered(stalls, is_sure),
            "connections": self._of_connections(stalls),
            "waits": waits if everything else {name: array[:0] for name, array in waits.items()},
        }
        tables = {
            name: _conformed(name, rows, len(next(iter(rows.values()))), self._job.id)
            for name, rows in made.items()
        }
        return {**tables, "captures": self._captures()}

    def _of_stalls(self) -> Rows:
        rows = self._columns(self._stalls)
        at = self._places(self._stalls["connection"])
        ends = self._ends(at)
        is_client = pc.equal(rows["sender"], "client")
        ends["sender_addr"] = pc.if_else(is_client, ends["client_addr"], ends["server_addr"])
        return {**rows, **ends, "day": self._days(self._stalls["time_ns"])}

    def _of_waits(self) -> Rows:
        waits = self._scan.columns("waits")
        ends = self._ends(self._places(waits["connection"]))
        return {**self._columns(waits), **ends, "day": self._days(waits["time_ns"])}

    def _of_connections(self, stalls: Rows) -> Rows:
        rows = self._columns(self._connections)
        every = np.arange(len(self._connections["connection"]))
        rows |= self._ends(every)
        rows["day"] = self._days(self._connections["first_ns"])
        at = self._places(self._stalls["connection"])
        wait_ms = self._stalls["wait_ms"]
        lost = {}
        for word in CONFIDENCES:
            is_such = pc.equal(stalls["confidence"], word).to_numpy(zero_copy_only=False)
            is_such = is_such.astype(bool)
            counts = np.bincount(at[is_such], minlength=len(every))
            lost[word] = np.bincount(at[is_such], wait_ms[is_such], len(every))
            rows[f"stalls_{word}"] = _array(counts.astype(np.int64))
            rows[f"lost_ms_{word}"] = _array(lost[word])
        has_stalls = np.bincount(at, minlength=len(every)) > 0
        if has_stalls.any():
            told = sentences.of(self._scan, self._job, self._settings)
            ends = list(
                zip(rows["server_addr"].to_pylist(), rows["server_port"].to_pylist(), strict=True)
            )
            nothing = ("", "", "")
            said = [
                told.get(end, nothing) if has else nothing
                for end, has in zip(ends, has_stalls, strict=True)
            ]
            for name, texts in zip(
                ("sentence", "change", "fix"), zip(*said, strict=True), strict=True
            ):
                rows[name] = _texts(texts)
        if self._settings.everything:
            return rows
        sure_ms = lost["certain"] + lost["likely"]
        return _filtered(rows, _array(_is_worst(sure_ms, rows["service"].to_pylist())))

    def _sums(self, stalls: Rows, waits: Rows) -> Rows:
        """Waits and stalls by service, hour, cause, side and confidence; exchanges likewise."""
        keys = ["service", "owner", "pod", "server_addr", "server_port"]
        of_waits = [*keys, "hour", "cause", "sender", "confidence"]
        rows = [
            pa.table(
                {**{key: each[key] for key in of_waits if key in each}, "wait_ms": each["wait_ms"]}
            )
            for each in (
                {**stalls, "hour": self._hours(self._stalls["time_ns"])},
                {
                    **waits,
                    "hour": self._hours(self._scan.columns("waits")["time_ns"]),
                    "confidence": pa.nulls(len(waits["wait_ms"]), pa.string()),
                },
            )
        ]
        every = pa.concat_tables(rows)
        counted = every.group_by(of_waits, use_threads=False).aggregate(
            [("wait_ms", "count"), ("wait_ms", "sum")]
        )
        counted = counted.rename_columns([*of_waits, "waits", "wait_ms"])
        hours = self._scan.columns("hours")
        ends = self._labelled(hours["addr"], hours["port"])
        of_hours = [*keys, "hour"]
        latencies = pa.table(
            {
                **ends,
                "hour": self._hours(hours["hour_ns"]),
                "bucket": _array(hours["bucket"]),
                "exchanges": _array(hours["exchanges"]),
            }
        )
        latencies = latencies.group_by(of_hours, use_threads=False).aggregate(
            [("exchanges", "sum"), ("bucket", "list"), ("exchanges", "list")]
        )
        latencies = latencies.rename_columns(
            [*of_hours, "exchanges", "latency_bucket", "latency_count"]
        )
        both = pa.concat_tables([counted, latencies], promote_options="default")
        both = both.append_column("day", both["hour"].cast(DAY))
        return {name: both[name].combine_chunks() for name in both.column_names}

    def _captures(self) -> pa.Table:
        """One row for each file. Numbers of the whole set stand in the row of its first file."""
        summary, key = self._summary, self._settings.key
        read = _in_order(json.loads(self._scan.json_head())["captures"])
        files = sorted(self._job.captures, key=_begin)
        places = [place(file.host, file.url, key) for file in files]
        files = [identity.keyed(file, key) for file in files]
        rows = len(files)
        first_ns = [file.first_ns for file in files]
        last_ns = [each["last_ns"] if each["packets"] else None for each in read]
        rest = [None] * (rows - 1)
        return _conformed(
            "captures",
            {
                "file": _integers(range(rows)),
                "path": _texts([path for _, path in places]),
                "host": _texts([host for host, _ in places]),
                "size": _integers([file.size for file in files]),
                "modified": _texts([file.modified for file in files]),
                "content": _texts([file.content for file in files]),
                "head": _texts([file.head for file in files]),
                "first": self._moments(first_ns),
                "first_ns": _integers(first_ns),
                "last": self._moments(last_ns),
                "first_frame": _integers([each["first_frame"] for each in read]),
                "packets": _integers([each["packets"] for each in read]),
                "complete": _array(np.array([each["complete"] for each in read], bool)),
                "warnings": _texts(["\n".join(each["warnings"]) for each in read]),
                "verdict": _texts([summary.verdict] * rows),
                "cannot_tell": _texts([_cannot_tell(summary)] * rows),
                "connections": _integers([summary.connections, *rest]),
                "exchanges": _integers([summary.exchanges, *rest]),
                "stalls": _integers([summary.stalls, *rest]),
                "stalled_ms": _array(np.array([summary.stalled_ms, *([np.nan] * len(rest))])),
                "version": _texts([self._settings.version] * rows),
                "scanned": _array(np.full(rows, _now_us())).view(TIME),
                "day": self._moments(first_ns).cast(DAY),
            },
            rows,
            self._job.id,
        )

    def _columns(self, columns: Mapping[str, Any]) -> Rows:
        return {
            name.removesuffix("_ns"): self._times(values)
            if name.endswith("_ns")
            else _array(values)
            for name, values in columns.items()
        }

    def _places(self, connection: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of `connections` of these."""
        return self._order[np.searchsorted(self._ids, connection)]

    def _ends(self, at: NDArray[np.int64]) -> Rows:
        addrs, ports = (
            [
                np.array(self._connections[f"{end}_{of}"], object if of == "addr" else None)[at]
                for end in ("client", "server")
            ]
            for of in ("addr", "port")
        )
        client = {"client_addr": _texts(addrs[0].tolist()), "client_port": _array(ports[0])}
        return {**client, **self._labelled(addrs[1].tolist(), ports[1])}

    def _labelled(self, addr: list[str], port: NDArray[np.int64]) -> Rows:
        labels = [self._labels[end] for end in zip(addr, port.tolist(), strict=True)]
        named = {
            name: _texts([getattr(label, name) for label in labels])
            for name in ("service", "owner", "pod")
        }
        return {**named, "server_addr": _texts(addr), "server_port": _array(port)}

    def _times(self, time_ns: NDArray[np.int64]) -> pa.Array:
        """Null where the capture tells no date."""
        known = None if self._summary.has_dates else np.zeros(len(time_ns), bool)
        return _of_buffers(TIME, len(time_ns), known, pa.py_buffer(time_ns // 1000))

    def _moments(self, time_ns: Sequence[int | None]) -> pa.Array:
        known = [each is not None and self._summary.has_dates for each in time_ns]
        at_us = np.array([(each or 0) // 1000 for each in time_ns], np.int64)
        return _of_buffers(TIME, len(at_us), np.array(known, bool), pa.py_buffer(at_us))

    def _hours(self, time_ns: NDArray[np.int64]) -> pa.Array:
        return self._times(self._on_days(time_ns) // HOUR_NS * HOUR_NS)

    def _days(self, time_ns: NDArray[np.int64]) -> pa.Array:
        return self._times(self._on_days(time_ns)).cast(DAY)

    def _on_days(self, time_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        if len(time_ns) > MOST_DAYS and len(np.unique(time_ns // DAY_NS)) > MOST_DAYS:
            return np.full(len(time_ns), self._summary.first_ns)
        return time_ns


def to_bytes(tables: Mapping[str, pa.Table]) -> dict[str, bytes]:
    """As Arrow IPC streams; tables without rows are left out."""
    return {name: _stream(table) for name, table in tables.items() if table.num_rows}


def from_bytes(stream: bytes) -> pa.Table:
    """What `to_bytes` wrote."""
    return pa.ipc.open_stream(pa.py_buffer(stream)).read_all()


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _servers(scan: _core.Scan) -> list[tuple[str, int]]:
    """Each once, in the order of the connections."""
    connections = scan.columns("connections")
    ports = connections["server_port"].tolist()
    return list(dict.fromkeys(zip(connections["server_addr"], ports, strict=True)))


def _is_worst(sure_ms: NDArray[Any], services: Sequence[str]) -> NDArray[np.bool_]:
    """The connections of each service that lose most to stalls that are likely or better."""
    is_worst = np.zeros(len(sure_ms), bool)
    kept: dict[str, int] = {}
    for at in np.argsort(-sure_ms, kind="stable").tolist():
        if sure_ms[at] <= 0:
            break
        kept[services[at]] = kept.get(services[at], 0) + 1
        is_worst[at] = kept[services[at]] <= WORST
    return is_worst


def _conformed(name: str, rows: Rows, length: int, set_id: str | None = None) -> pa.Table:
    """With all columns of the table in their order; what is not there is null."""
    if set_id is not None:
        rows["set"] = _texts([set_id] * length)
    arrays = [
        rows[field.name].cast(field.type) if field.name in rows else pa.nulls(length, field.type)
        for field in schema(name)
    ]
    return pa.Table.from_arrays(arrays, schema=schema(name))


def _filtered(rows: Rows, keep: pa.Array) -> Rows:
    return {name: array.filter(keep) for name, array in rows.items()}


def _begin(capture: Capture) -> tuple[bool, int]:
    """An empty file is the last of a rotation."""
    return capture.first_ns is None, capture.first_ns or 0


def _in_order(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As `_begin` orders the files."""
    return sorted(read, key=lambda each: (not each["packets"], each["first_ns"] or 0))


def _cannot_tell(summary: _core.Summary) -> str:
    if summary.verdict != "inconclusive":
        return ""
    return sentence_start(verdicts.cannot_tell(summary))


def _now_us() -> int:
    return int(datetime.now(UTC).timestamp() * 1_000_000)


def _array(values: Column) -> pa.Array:
    """A column of the engine. `pa.array` would import pandas, which a worker has no room for."""
    if isinstance(values, tuple):
        codes, names = values
        indices = _array(codes.astype(np.int64, copy=False))
        return _texts(names).take(indices)
    if isinstance(values, list):
        return _texts(values)
    if values.dtype == bool:
        return _of_buffers(pa.bool_(), len(values), None, _bits(values))
    if values.dtype == np.float64:
        return _of_buffers(FLOAT, len(values), ~np.isnan(values), pa.py_buffer(values))
    return _of_buffers(
        INTEGER, len(values), None, pa.py_buffer(values.astype(np.int64, copy=False))
    )


def _integers(values: Sequence[int | None]) -> pa.Array:
    known = np.array([value is not None for value in values], bool)
    numbers = np.array([value or 0 for value in values], np.int64)
    return _of_buffers(INTEGER, len(values), known, pa.py_buffer(numbers))


def _texts(values: Sequence[str]) -> pa.Array:
    encoded = [value.encode() for value in values]
    ends = np.array([*accumulate(map(len, encoded), initial=0)], np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _of_buffers(
    kind: pa.DataType, rows: int, known: NDArray[np.bool_] | None, content: pa.Buffer
) -> pa.Array:
    is_known = None if known is None or known.all() else _bits(known)
    return pa.Array.from_buffers(kind, rows, [is_known, content])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
