"""Rows of a set, as columns of plain lists by kind: a worker needs neither Arrow nor
pandas, and arrays are made once for many sets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from nagle_scan import _core
from nagle_scan.api.names import Label
from nagle_scan.fleet.fields import SAID, tables
from nagle_scan.fleet.work import NO_CAPTURE, Failure, Place, Set, Settings, failure_id
from nagle_scan.report import fixes, held, verdicts
from nagle_scan.words.certainty import CONFIDENCES, doubt
from nagle_scan.words.wording import endpoint, sentence_start

DAY_NS, HOUR_NS = 86_400_000_000_000, 3_600_000_000_000
WORST = 3
"""Connections of each service and set that are kept, those that lose most."""
KEYS = ("service", "owner", "pod", "server_addr", "server_port", "hour", "day")
"""Columns that tell the sums of a set apart."""
OF_WAITS = (*KEYS, "cause", "sender", "confidence")
OF_SET = ("connections", "exchanges", "stalls", "stalled_ms")
"""Numbers of `captures` that are those of a whole set."""
HIDDEN = ("cannot read", NO_CAPTURE)
End: TypeAlias = tuple[str, int]
Columns: TypeAlias = dict[str, list[Any]]
Row: TypeAlias = dict[str, Any]


def of(
    scan: _core.Scan, wanted: Set, settings: Settings, hashes: Sequence[str]
) -> dict[str, Columns]:
    """The columns of `fields`, by kind. What is missing is null in all rows. `hashes` are
    those of the ends of the files."""
    connections = _columns(scan, "connections")
    servers = _servers(connections)
    if settings.key is not None:
        scan = scan.anonymized(settings.key)
        connections = _columns(scan, "connections")
    found = _Found(scan, settings, servers, connections)
    stalls, waits = found.of("stalls"), found.of("waits")
    waits["confidence"] = [None] * len(waits["wait_ms"])
    ends = zip(stalls["sender"], stalls["client_addr"], stalls["server_addr"], strict=True)
    stalls["sender_addr"] = [
        client if sender == "client" else server for sender, client, server in ends
    ]
    made = {
        "sums": found.sums(stalls, waits),
        "connections": found.connections(stalls, [file.path for file in wanted.files]),
        "stalls": stalls,
        "captures": _captures(scan, wanted, settings, hashes),
    }
    if settings.everything:
        made["waits"] = waits
    else:
        made["stalls"] = _filtered(stalls, [word != "possible" for word in stalls["confidence"]])
    for each in made.values():
        each["set"] = [wanted.id] * len(next(iter(each.values())))
    return made


def extend(every: dict[str, Columns], more: Mapping[str, Columns]) -> None:
    """Adds the rows of a set."""
    for kind, added in more.items():
        held = every.setdefault(kind, {field.name: [] for field in tables()[kind]})
        for name, values in held.items():
            values += added.get(name) or [None] * len(added["set"])


def failed(failures: Sequence[Failure], settings: Settings, attempts: Sequence[int]) -> Columns:
    """Rows of `captures` for what could not be read; `attempts` tells how often each failed before.

    With a key a reason is hidden: it may name a path, a host or an address."""
    is_hidden = settings.key is not None
    return columns(
        {
            **failure(settings.place(one.file), one.file.size),
            "modified": one.file.modified,
            "error": HIDDEN[one.is_final] if is_hidden else one.reason,
            "attempts": before + 1,
            "final": one.is_final,
        }
        for one, before in zip(failures, attempts, strict=True)
    )


def failure(place: Place, size: int, reason: str = "") -> Row:
    """The columns that all failures share: no attempt was made, by default."""
    ends = {"set": failure_id(place), "host": place[0], "path": place[1], "size": size}
    return {**ends, "error": reason, "version": _core.VERSION, "attempts": 0, "gone": False}


def gone(sets: Iterable[str]) -> Columns:
    """Rows of `captures` that take these sets away."""
    return columns({"set": one, "gone": True} for one in sorted(sets))


def columns(every: Iterable[Row], moment: str = "scanned") -> Columns:
    """Rows with the same names as columns, with one `moment` for all: now, in us."""
    rows, now_us = list(every), time.time_ns() // 1000
    made = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return made | {moment: [now_us] * len(rows)}


def label(server: End, settings: Settings, shown: End) -> Label:
    """The user's label for a server; without a name `shown`, its address as the table has it."""
    end, (addr, port) = endpoint(*server), server
    if end in settings.labels:
        known = settings.labels[end]
        return known._replace(service=known.service or endpoint(*shown))
    known = settings.labels.get(addr, Label())
    service = f"{known.service}:{port}" if known.service else endpoint(*shown)
    return known._replace(service=service)


class _Found:
    """A scan on its way to rows."""

    def __init__(
        self, scan: _core.Scan, settings: Settings, servers: Sequence[End], connections: Columns
    ) -> None:
        """`servers`: before a key replaced their addresses."""
        self._scan, self._settings, self._summary = scan, settings, scan.summary()
        self._connections = connections
        self._at = {id: row for row, id in enumerate(connections["connection"])}
        self._names = {
            shown: label(server, settings, shown)
            for server, shown in zip(servers, _servers(connections), strict=True)
        }

    def of(self, kind: str) -> Columns:
        """Rows with the ends of their connection, and their day and hour."""
        rows = _columns(self._scan, kind)
        at = [self._at[id] for id in rows["connection"]]
        for name in ("client_addr", "client_port", "server_addr", "server_port"):
            column = self._connections[name]
            rows[name] = [column[row] for row in at]
        time_ns = rows.pop("time_ns")
        rows["time"] = self._times(time_ns)
        return self._placed(rows, time_ns)

    def _placed(self, rows: Columns, time_ns: Sequence[int]) -> Columns:
        """Rows with their service, hour and day; times are null where the capture tells no date."""
        ends = zip(rows["server_addr"], rows["server_port"], strict=True)
        labels = [self._names[end] for end in ends]
        for at, field in enumerate(Label._fields):
            rows[field] = [one[at] for one in labels]
        rows["hour"] = self._times([at // HOUR_NS * HOUR_NS for at in time_ns])
        has_dates = self._summary.has_dates
        rows["day"] = [at // DAY_NS if has_dates else None for at in time_ns]
        return rows

    def _times(self, time_ns: Sequence[int]) -> list[int | None]:
        """Times in us; null where the capture tells no date."""
        has_dates = self._summary.has_dates
        return [at // 1000 for at in time_ns] if has_dates else [None] * len(time_ns)

    def sums(self, stalls: Columns, waits: Columns) -> Columns:
        """Waits and stalls by service, hour, cause, side and confidence; exchanges likewise."""
        counted: dict[tuple[Any, ...], list[float]] = {}
        for rows, wait_ms in ((stalls, "hold_ms"), (waits, "wait_ms")):
            keys = zip(*(rows[name] for name in OF_WAITS), strict=True)
            for key, each_ms in zip(keys, rows[wait_ms], strict=True):
                total = counted.setdefault(key, [0, 0.0])
                total[0] += 1
                total[1] += each_ms
        hours = _columns(self._scan, "hours")
        hours |= {"server_addr": hours.pop("addr"), "server_port": hours.pop("port")}
        hours = self._placed(hours, hours.pop("hour_ns"))
        latencies: dict[tuple[Any, ...], tuple[list[int], list[int]]] = {}
        keys = zip(*(hours[name] for name in KEYS), strict=True)
        for key, bucket, exchanges in zip(keys, hours["bucket"], hours["exchanges"], strict=True):
            buckets, counts = latencies.setdefault(key, ([], []))
            buckets.append(bucket)
            counts.append(exchanges)
        none = (None,) * (len(OF_WAITS) - len(KEYS))
        every = [(*key, *total, None, None, None) for key, total in counted.items()]
        every += [
            (*key, *none, None, None, sum(counts), buckets, counts)
            for key, (buckets, counts) in latencies.items()
        ]
        names = (*OF_WAITS, "waits", "wait_ms", "exchanges", "latency_bucket", "latency_count")
        return {name: [row[at] for row in every] for at, name in enumerate(names)}

    def connections(self, stalls: Columns, files: Sequence[str]) -> Columns:
        """The worst of each service, or all."""
        rows = dict(self._connections)
        number, first_ns = len(rows["connection"]), rows.pop("first_ns")
        rows["first"], rows["last"] = self._times(first_ns), self._times(rows.pop("last_ns"))
        rows = self._placed(rows, first_ns)
        for word in CONFIDENCES:
            rows[f"stalls_{word}"], rows[f"lost_ms_{word}"] = [0] * number, [0.0] * number
        each = zip(stalls["connection"], stalls["confidence"], stalls["hold_ms"], strict=True)
        for id, word, hold_ms in each:
            rows[f"stalls_{word}"][self._at[id]] += 1
            rows[f"lost_ms_{word}"][self._at[id]] += hold_ms
        if stalls["connection"]:
            said = self._said(files)
            ends = zip(rows["server_addr"], rows["server_port"], rows["stalls"], strict=True)
            texts = [said[addr, port] if count else ("",) * 3 for addr, port, count in ends]
            rows |= {field.name: [one[at] for one in texts] for at, field in enumerate(SAID)}
        if self._settings.everything:
            return rows
        sure_ms = [
            sum(both) for both in zip(rows["lost_ms_certain"], rows["lost_ms_likely"], strict=True)
        ]
        return _filtered(rows, _are_worst(sure_ms, rows["service"]))

    def _said(self, files: Sequence[str]) -> dict[End, tuple[str, str, str]]:
        """The side that held data, by server, and the change to make, in short and in full; the
        surest counts. It names no other server: who asks for a service sees this row alone."""
        groups = sorted(self._scan.groups(), key=doubt)
        by_party = fixes.of_each(groups, files, self._scan)
        said: dict[End, tuple[str, str, str]] = {}
        for group in groups:
            fix = by_party.get(held.party(group))
            change, full = ("", "") if fix is None else (fix.in_short, fix.in_full)
            end = group.worst.server_ip, group.worst.server_port
            said.setdefault(end, (held.sentence(group), change, full))
        return said


def _captures(scan: _core.Scan, wanted: Set, settings: Settings, hashes: Sequence[str]) -> Columns:
    """A row for each file. Numbers of the whole set stand in the row of its first file."""
    summary = scan.summary()
    # In the order of a set: an empty file is the last of a rotation.
    read = sorted(
        json.loads(scan.json_head())["captures"],
        key=lambda one: (not one["packets"], one["first_ns"] or 0),
    )
    return columns(
        {
            **{name: None if number else getattr(summary, name) for name in OF_SET},
            **{name: one[name] for name in ("first_frame", "packets", "complete")},
            **dict(zip(("host", "path"), settings.place(file), strict=True)),
            "size": file.size,
            "modified": file.modified,
            "first_ns": file.first_ns,
            "file": number,
            "first": None if first_ns is None else first_ns // 1000,
            "last": None if first_ns is None else one["last_ns"] // 1000,
            "warnings": "\n".join(one["warnings"]),
            "verdict": summary.verdict,
            "cannot_tell": _cannot_tell(summary),
            "version": settings.version,
            "gone": False,
            "day": None if first_ns is None else first_ns // DAY_NS,
            "ends": ends,
        }
        for number, (file, one, ends) in enumerate(zip(wanted.files, read, hashes, strict=True))
        for first_ns in [file.first_ns if summary.has_dates else None]
    )


def _columns(scan: _core.Scan, kind: str) -> Columns:
    """Columns as the engine gives them: numbers, texts, or codes of a category and its names."""
    rows: Columns = {}
    for name, values in scan.columns(kind).items():
        if isinstance(values, list):
            rows[name] = values
        elif isinstance(values, tuple):
            codes, names = values
            rows[name] = [names[code] for code in codes.tolist()]
        elif values.dtype.kind == "f":
            # Not a number, which is unlike itself, is what nobody knows.
            rows[name] = [None if one != one else one for one in values.tolist()]
        else:
            rows[name] = values.tolist()
    return rows


def _servers(connections: Columns) -> list[End]:
    """Each once, in the order of the connections."""
    ends = zip(connections["server_addr"], connections["server_port"], strict=True)
    return list(dict.fromkeys(ends))


def _are_worst(sure_ms: Sequence[float], services: Sequence[str]) -> list[bool]:
    """The connections of each service that lose most to stalls that are likely or better."""
    are_worst = [False] * len(sure_ms)
    kept: dict[str, int] = {}
    lossy = [at for at, lost in enumerate(sure_ms) if lost > 0]
    for at in sorted(lossy, key=lambda at: -sure_ms[at]):
        kept[services[at]] = kept.get(services[at], 0) + 1
        are_worst[at] = kept[services[at]] <= WORST
    return are_worst


def _filtered(rows: Columns, keep: Sequence[bool]) -> Columns:
    if all(keep):
        return rows
    at = [row for row, is_kept in enumerate(keep) if is_kept]
    return {name: [column[row] for row in at] for name, column in rows.items()}


def _cannot_tell(summary: _core.Summary) -> str:
    if summary.verdict != "inconclusive":
        return ""
    return sentence_start(verdicts.cannot_tell(summary))
