"""What was found in a capture set, as Arrow tables. Workers build them, so without pandas."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nagle_scan.api.names import Label
from nagle_scan.fleet import identity, sentences
from nagle_scan.fleet.fields import CONFIDENCES, DAY, TEXT, TIME, schema
from nagle_scan.report import verdicts
from nagle_scan.words.wording import sentence_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nagle_scan import _core
    from nagle_scan.fleet.work import Failure, Job, Settings

DAY_NS, HOUR_NS = 86_400_000_000_000, 3_600_000_000_000
MOST_DAYS = 400
"""A set with more has all its rows on the day of its first frame: a broken clock must not make a
file for each."""
WORST = 3
"""Connections of each service and set that are kept, those that lose most."""
KEYS = ("service", "owner", "pod", "server_addr", "server_port", "hour", "day")
"""Of sums."""
HIDDEN = ("cannot read", "not a capture file")
SAID = ("sentence", "change", "fix")
OF_FILE = ("size", "modified", "content", "head", "first_ns")
NAME_LEN = 8
"""Bytes of what stands for a path: no two of a billion captures are likely to share it."""
Column: TypeAlias = "NDArray[Any] | list[str] | tuple[NDArray[Any], list[str]]"
"""As the engine gives it: numbers, texts, or codes of a category and its names."""
Rows: TypeAlias = "dict[str, pa.Array]"


def of(scan: _core.Scan, job: Job, settings: Settings) -> dict[str, pa.Table]:
    """The tables of `fields`, without `batch`: `Lake` knows it."""
    connections = scan.columns("connections")
    servers = told = _servers(connections)
    if settings.key is not None:
        scan = scan.anonymized(settings.key)
        connections = scan.columns("connections")
        told = _servers(connections)
    labels = {
        (shown, port): sentences.label(addr, port, settings, shown)
        for (addr, port), (shown, _) in zip(servers, told, strict=True)
    }
    return _Found(scan, job, settings, connections, labels).tables()


def hidden(text: str, key: bytes) -> str:
    """What stands for `text`: always the same with the same key."""
    # A name that is not UTF-8 is written so as well: see `identity.failed`.
    told = text.encode(errors="backslashreplace")
    return f"capture-{blake2b(told, digest_size=NAME_LEN, key=key).hexdigest()}"


def place(host: str, path: str, key: bytes | None) -> tuple[str, str]:
    """Host and path as the tables have them: with a key, both may tell an address or a person."""
    return (host, path) if key is None else ("", hidden(f"{host}:{path}", key))


def _place(host: str, path: str, settings: Settings) -> dict[str, str]:
    return dict(zip(("host", "path"), place(host, path, settings.key), strict=True))


def of_failures(failures: Sequence[Failure], settings: Settings) -> pa.Table:
    """Rows of `captures` for what could not be read."""
    rows = [
        {
            **_place(one.host, one.path, settings),
            "set": one.set,
            "size": one.size,
            "modified": one.modified,
            "version": settings.version,
            "scanned": datetime.now(UTC),
            # A reason may name a path, a host or an address.
            "error": one.reason if settings.key is None else HIDDEN[one.is_final],
            "attempts": one.attempts,
            "final": one.is_final,
        }
        for one in failures
    ]
    return pa.Table.from_pylist(rows, schema=schema("captures"))


class _Found:
    """A scan on its way to tables."""

    def __init__(
        self,
        scan: _core.Scan,
        job: Job,
        settings: Settings,
        connections: Mapping[str, Any],
        labels: Mapping[tuple[str, int], Label],
    ) -> None:
        self._scan = scan
        self._job = job
        self._settings = settings
        self._labels = labels
        self._summary = scan.summary()
        self._connections = connections
        self._order = np.argsort(self._connections["connection"])
        self._ids = self._connections["connection"][self._order]

    def tables(self) -> dict[str, pa.Table]:
        everything = self._settings.everything
        stalls, waits = self._of_stalls(), self._of_waits()
        sums = self._sums(stalls, waits)
        connections = self._of_connections(stalls)
        if not everything:
            is_sure = pc.is_in(stalls["confidence"], pa.array(CONFIDENCES[:-1]))
            stalls = _filtered(stalls, is_sure)
            waits = {name: array[:0] for name, array in waits.items()}
        made = {"sums": sums, "stalls": stalls, "connections": connections, "waits": waits}
        tables = {name: _conformed(name, rows, self._job.id) for name, rows in made.items()}
        return {**tables, "captures": self._captures()}

    def _of_stalls(self) -> Rows:
        rows = self._columns("stalls")
        is_client = pc.equal(rows["sender"], "client")
        rows["sender_addr"] = pc.if_else(is_client, rows["client_addr"], rows["server_addr"])
        return rows

    def _of_waits(self) -> Rows:
        rows = self._columns("waits")
        return {**rows, "confidence": pa.nulls(len(rows["wait_ms"]), TEXT)}

    def _of_connections(self, stalls: Rows) -> Rows:
        rows = self._columns("connections")
        number = len(self._ids)
        at = self._places(stalls["connection"].to_numpy())
        sure_ms = np.zeros(number)
        for word in CONFIDENCES:
            is_such = np.array(pc.equal(stalls["confidence"], word))
            hold_ms = np.array(stalls["hold_ms"])[is_such]
            rows[f"stalls_{word}"] = pa.array(np.bincount(at[is_such], minlength=number))
            lost_ms = np.bincount(at[is_such], hold_ms, number)
            rows[f"lost_ms_{word}"] = pa.array(lost_ms)
            sure_ms += lost_ms if word != "possible" else 0
        if len(at):
            told = sentences.of(self._scan, self._job, self._settings)
            ends = (rows[name].to_pylist() for name in ("server_addr", "server_port"))
            counts = np.bincount(at, minlength=number).tolist()
            said = [
                told[addr, port] if has else ("",) * len(SAID)
                for addr, port, has in zip(*ends, counts, strict=True)
            ]
            for name, texts in zip(SAID, zip(*said, strict=True), strict=True):
                rows[name] = pa.array(texts, TEXT)
        if self._settings.everything:
            return rows
        return _filtered(rows, pa.array(_is_worst(sure_ms, rows["service"].to_pylist())))

    def _sums(self, stalls: Rows, waits: Rows) -> Rows:
        """Waits and stalls by service, hour, cause, side and confidence; exchanges likewise."""
        of_waits = [*KEYS, "cause", "sender", "confidence"]
        every = pa.concat_tables(
            pa.table({name: each[name] for name in (*of_waits, "wait_ms")})
            for each in ({**stalls, "wait_ms": stalls["hold_ms"]}, waits)
        )
        counted = every.group_by(of_waits, use_threads=False).aggregate(
            [("wait_ms", "count"), ("wait_ms", "sum")]
        )
        counted = counted.rename_columns([*of_waits, "waits", "wait_ms"])
        hours = self._scan.columns("hours")
        rows = self._labelled(hours["addr"], hours["port"]) | self._days(hours["hour_ns"])
        numbers = {name: pa.array(hours[name]) for name in ("bucket", "exchanges")}
        latencies = pa.table({**{name: rows[name] for name in KEYS}, **numbers})
        latencies = latencies.group_by([*KEYS], use_threads=False).aggregate(
            [("exchanges", "sum"), ("bucket", "list"), ("exchanges", "list")]
        )
        names = [*KEYS, "exchanges", "latency_bucket", "latency_count"]
        both = [counted, latencies.rename_columns(names)]
        made = pa.concat_tables(both, promote_options="default")
        return {name: made[name].combine_chunks() for name in made.column_names}

    def _captures(self) -> pa.Table:
        """One row for each file. Numbers of the whole set stand in the row of its first file."""
        summary, settings = self._summary, self._settings
        of_set = {
            "set": self._job.id,
            "verdict": summary.verdict,
            "cannot_tell": _cannot_tell(summary),
            "version": settings.version,
            "scanned": datetime.now(UTC),
        }
        numbers = ("connections", "exchanges", "stalls", "stalled_ms")
        of_first = {name: getattr(summary, name) for name in numbers}
        read = sorted(json.loads(self._scan.json_head())["captures"], key=_begin_of_read)
        rows = []
        for number, (file, each) in enumerate(zip(self._job.captures, read, strict=True)):
            keyed = identity.keyed(file, settings.key)
            first_ns = file.first_ns if summary.has_dates else None
            rows.append(
                {
                    **of_set,
                    **(of_first if number == 0 else {}),
                    **_place(file.host, file.url, settings),
                    **{name: getattr(keyed, name) for name in OF_FILE},
                    **{name: each[name] for name in ("first_frame", "packets", "complete")},
                    "file": number,
                    "first": None if first_ns is None else first_ns // 1000,
                    "last": None if first_ns is None else each["last_ns"] // 1000,
                    "warnings": "\n".join(each["warnings"]),
                    "day": None if first_ns is None else first_ns // DAY_NS,
                }
            )
        return pa.Table.from_pylist(rows, schema=schema("captures"))

    def _columns(self, table: str) -> Rows:
        """With the ends of the connection of each row, and its day and hour."""
        is_whole = table == "connections"
        columns = self._connections if is_whole else self._scan.columns(table)
        at = self._places(columns["connection"])
        rows: Rows = {}
        for end in ("client", "server"):
            addr = np.array(self._connections[f"{end}_addr"], object)[at]
            rows[f"{end}_addr"] = pa.array(addr, TEXT)
            rows[f"{end}_port"] = pa.array(self._connections[f"{end}_port"][at])
        rows |= self._labelled(rows["server_addr"].to_pylist(), rows["server_port"].to_numpy())
        for name, values in columns.items():
            if name.endswith("_ns"):
                rows[name.removesuffix("_ns")] = self._times(values)
            else:
                rows[name] = _array(values)
        return rows | self._days(columns["first_ns" if is_whole else "time_ns"])

    def _places(self, connection: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of `connections` of these."""
        return self._order[np.searchsorted(self._ids, connection)]

    def _labelled(self, addr: Sequence[str], port: NDArray[np.int64]) -> Rows:
        labels = [self._labels[end] for end in zip(addr, port.tolist(), strict=True)]
        named = {
            name: pa.array([getattr(label, name) for label in labels], TEXT)
            for name in Label._fields
        }
        return {**named, "server_addr": pa.array(addr, TEXT), "server_port": pa.array(port)}

    def _times(self, time_ns: NDArray[np.int64]) -> pa.Array:
        """Null where the capture tells no date."""
        mask = None if self._summary.has_dates else np.ones(len(time_ns), bool)
        return pa.array(time_ns // 1000, mask=mask).cast(TIME)

    def _days(self, time_ns: NDArray[np.int64]) -> Rows:
        if len(time_ns) > MOST_DAYS and len(np.unique(time_ns // DAY_NS)) > MOST_DAYS:
            time_ns = np.full(len(time_ns), self._summary.first_ns)
        hour = self._times(time_ns // HOUR_NS * HOUR_NS)
        return {"hour": hour, "day": hour.cast(DAY)}


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


def _servers(connections: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Each once, in the order of the connections."""
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


def _conformed(name: str, rows: Rows, set_id: str) -> pa.Table:
    """With all columns of the table in their order; what is not there is null."""
    length = len(next(iter(rows.values())))
    rows["set"] = pa.repeat(set_id, length)
    arrays = [
        rows[field.name].cast(field.type) if field.name in rows else pa.nulls(length, field.type)
        for field in schema(name)
    ]
    return pa.Table.from_arrays(arrays, schema=schema(name))


def _filtered(rows: Rows, keep: pa.Array) -> Rows:
    return {name: array.filter(keep) for name, array in rows.items()}


def _begin_of_read(read: Mapping[str, Any]) -> tuple[bool, int]:
    """In the order of a `Job`: an empty file is the last of a rotation."""
    return not read["packets"], read["first_ns"] or 0


def _cannot_tell(summary: _core.Summary) -> str:
    if summary.verdict != "inconclusive":
        return ""
    return sentence_start(verdicts.cannot_tell(summary))


def _array(values: Column) -> pa.Array:
    if isinstance(values, tuple):
        codes, names = values
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), names).dictionary_decode()
    return pa.array(values, TEXT if isinstance(values, list) else None, from_pandas=True)
