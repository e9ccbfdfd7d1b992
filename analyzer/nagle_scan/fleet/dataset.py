"""The results of a fleet as Parquet files: what is added is there whole, once, or not at all.

    fleet.json                           format, version, settings
    stalls/day=2026-11-23/00000001.parquet   and the other tables; `day=none` without a date
    failures.parquet, runs.parquet
    replaced.parquet                     what sets that were scanned again had added: see `parts`
    .sums/                               what each part adds up to: see `parts`

A part, `00000001`, holds whole capture sets, in all tables; of a set with many rows
`00000001-SET.parquet` holds these. Only one process writes: see `journal`.
Each table has an empty `day=none/schema.parquet`, so that every reader finds its columns, and takes
`day` for the same type, whatever there is.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa

from nagle_scan.errors import OutputError
from nagle_scan.fleet import about, parquet, parts, sums, tables
from nagle_scan.fleet.journal import Change, Journal
from nagle_scan.fleet.work import Answer, Capture, Failure, Job, Known, Ledger, Settings
from nagle_scan.words.wording import printable

MOST_SETS = 1000
MOST_BYTES = 64 << 20
"""Of tables that wait to be written."""
MOST_WAIT_S = 60.0
PLAIN_REASON = re.compile(
    r"HTTP \d+: [a-z -]+|ends [\d,]+ (of [\d,]+ )?bytes too early|link type .*|"
    r"the worker died .*|changed .*while it was read|grew.*|a folder, pipe or device.*|"
    + "|".join(re.escape(os.strerror(number).lower()) for number in errno.errorcode)
)
"""Nothing in it comes from a name, an address or a library."""
KINDS = ("not a capture file", "no worker")
"""Beginnings of others."""
MOMENT = pa.timestamp("us", tz="UTC")
FAILURE_COLUMNS = pa.schema(
    {
        "path": pa.string(),
        "set": pa.string(),
        "reason": pa.string(),
        "attempts": pa.int64(),
        "last_tried": MOMENT,
    }
)
RUN_COLUMNS = pa.schema(
    {
        "run": pa.int64(),
        "begun": MOMENT,
        "ended": MOMENT,
        "sets": pa.int64(),
        "files": pa.int64(),
        "bytes": pa.int64(),
        "packets": pa.int64(),
        "failures": pa.int64(),
        "complete": pa.bool_(),
    }
)


class Run(NamedTuple):
    """What one run added; `failures` are what still fails at its end.

    One that was cut off is not complete: the next goes on with it, under the same number.
    """

    run: int
    begun: datetime
    ended: datetime
    sets: int = 0
    files: int = 0
    bytes: int = 0
    packets: int = 0
    failures: int = 0
    complete: bool = False


class _Added(NamedTuple):
    job: Job
    answer: Answer


class Dataset:
    """What is in the folder, and what is to be added. Nobody else writes while it is open.

    Raises `OutputError`, as all its methods do. What `flush` has written stays, whatever follows.
    """

    def __init__(self, path: str, settings: Settings) -> None:
        about.check(path, settings)
        self.path = path
        self._key = settings.key
        self._journal = Journal(path)
        self._added: list[_Added] = []
        self._bytes = 0
        self._since = 0.0
        self._is_closing = False
        about.write(path, settings)
        self._journal.recover()
        with parquet.reading(path, OutputError):
            self._part_of = _parts(path)
            self._failures = {row["path"]: row for row in parquet.rows(path, parquet.FAILURES)}
            self._runs = [Run(**row) for row in parquet.rows(path, parquet.RUNS)]
        now = datetime.now(UTC)
        is_cut_off = self._runs and not self._runs[-1].complete
        self.run = self._runs.pop() if is_cut_off else Run(len(self._runs) + 1, now, now)
        """What this run has added so far, as written."""

    def ledger(self, captures: Iterable[Capture] = ()) -> Ledger:
        """What the folder has. With a key it knows the names only of those that are given."""
        with parquet.reading(self.path, OutputError):
            return _ledger(self.path, {tables.shown(c, self._key): c for c in captures})

    @property
    def failures(self) -> list[Failure]:
        """What failed and has not been read since; `attempts` are those of all runs."""
        return [
            Failure(row["path"], row["set"], row["reason"], row["attempts"])
            for row in self._failures.values()
        ]

    def add(self, job: Job, answer: Answer) -> None:
        """Adds a set, in the place of `job.replaces` if there is one. A set counts once.

        It is written with others, when there are many, or large ones, or after a minute.
        """
        if job.id in self._part_of or any(added.job.id == job.id for added in self._added):
            return
        if self._added and self._bytes + answer.size > MOST_BYTES:
            self.flush()
        if not self._added:
            self._since = time.monotonic()
        self._added.append(_Added(job, answer))
        self._bytes += answer.size
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Writes what waits, if it has waited long enough or is much."""
        waited_s = time.monotonic() - self._since
        if self._added and (
            len(self._added) >= MOST_SETS or self._bytes >= MOST_BYTES or waited_s >= MOST_WAIT_S
        ):
            self.flush()

    def fail(self, failure: Failure) -> None:
        """Notes what could not be read; written with the next sets, or at the end."""
        path, reason = self._named(failure.path), printable(failure.reason)
        if self._key is not None:
            reason = kind_of(reason)
        before = self._failures.get(path)
        self._failures[path] = {
            "path": path,
            "set": failure.set,
            "reason": reason,
            "attempts": failure.attempts + (before["attempts"] if before else 0),
            "last_tried": datetime.now(UTC),
        }

    def forgive(self, paths: Iterable[str]) -> None:
        """Forgets failures of captures (`Capture.shown`) that need not be read any more."""
        for path in paths:
            self._failures.pop(self._named(path), None)

    def forgive_gone(self, failing: Iterable[str]) -> None:
        """Forgets failures of what is not there any more, or can be read now if it is a folder.

        But for those that failed again.
        """
        for path in self._failures.keys() - set(map(self._named, failing)):
            is_open = os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)
            if os.path.isabs(path) and (is_open or not os.path.lexists(path)):
                del self._failures[path]

    def flush(self) -> None:
        """Writes all that was added. If it fails, nothing of it is there, and it still waits."""
        added = sorted(self._added, key=lambda each: each.job.id)
        replaced = {
            each.job.replaces: self._part_of[each.job.replaces]
            for each in added
            if each.job.replaces in self._part_of
        }
        kept = dict(self._failures)
        for each in added:
            self.forgive(capture.shown for capture in each.job.captures)
        run = self._run_with(added)
        change = None
        try:
            with self._journal.change() as change:
                places = self._write_parts(change, added, replaced)
                self._write_replaced(change, replaced)
                self._write_lists(change, run)
        finally:
            if change is not None and change.has_happened:
                self.run = run
                self._added.clear()
                self._bytes = 0
                for old in replaced:
                    self._part_of.pop(old, None)
                self._part_of |= places
            else:
                self._failures = kept

    def close(self) -> None:
        """Writes what still waits, the run, and what all parts add up to."""
        self._is_closing = True
        self.flush()
        with parquet.reading(self.path, OutputError):
            kept = parts.to_keep(self.path)
        if kept:
            with self._journal.change() as change:
                for name, table in kept.items():
                    parquet.write(change, name, table)

    def _named(self, path: str) -> str:
        return printable(path) if self._key is None else tables.hidden(path, self._key)

    def _run_with(self, added: Sequence[_Added]) -> Run:
        captures = [capture for each in added for capture in each.job.captures]
        return self.run._replace(
            ended=datetime.now(UTC),
            sets=self.run.sets + len(added),
            files=self.run.files + len(captures),
            bytes=self.run.bytes + sum(capture.size for capture in captures),
            packets=self.run.packets + sum(each.answer.packets for each in added),
            failures=len(self._failures),
            complete=self._is_closing,
        )

    def _write_lists(self, change: Change, run: Run) -> None:
        runs = [each._asdict() for each in (*self._runs, run)]
        failures = list(self._failures.values())
        for name, rows, columns in (
            (parquet.RUNS, runs, RUN_COLUMNS),
            (parquet.FAILURES, failures, FAILURE_COLUMNS),
        ):
            parquet.write(change, name, pa.Table.from_pylist(rows, columns))

    def _write_replaced(self, change: Change, replaced: Mapping[str, str]) -> None:
        """What the run before added must stay, for the next comparison."""
        before = max((run.run for run in self._runs if run.sets), default=0)
        of_part: dict[str, set[str]] = defaultdict(set)
        for old, part in replaced.items():
            of_part[part].add(old)
        with parquet.reading(self.path, OutputError):
            gone = [parts.of_sets(self.path, part, sets) for part, sets in of_part.items()]
            gone += parts.replaced(self.path)
        every = [rows[rows["run"] == before] for rows in gone]
        if kept := [rows for rows in every if len(rows)]:
            table = pa.Table.from_pandas(sums.of_runs(kept), preserve_index=False)
            parquet.write(change, parts.REPLACED, table)

    def _write_parts(
        self, change: Change, added: Sequence[_Added], replaced: Mapping[str, str]
    ) -> dict[str, str]:
        """Writes new sets to a new part, and those that replace others to theirs; where each is."""
        of_part: dict[str, list[_Added]] = defaultdict(list)
        new = f"{1 + max(map(int, self._part_of.values()), default=0):08d}"
        for each in added:
            of_part[replaced.get(each.job.replaces, new)].append(each)
        for part, members in of_part.items():
            gone = {each.job.replaces for each in members if each.job.replaces in replaced}
            for name in tables.NAMES:
                self._write_table(change, name, part, members, gone)
        return {each.job.id: part for part, members in of_part.items() for each in members}

    def _write_table(
        self, change: Change, name: str, part: str, members: Sequence[_Added], gone: set[str]
    ) -> None:
        rows = [tables.from_bytes(each.answer.tables[name]) for each in members]
        table = tables.with_run(pa.concat_tables(rows), self.run.run)
        if name == "captures":
            table = table.append_column("part", pa.array([part] * len(table), pa.string()))
        parquet.add(change, self.path, name, part, table, gone)
        for each in members:
            parquet.add_files(change, name, part, each.job.id, each.answer.files.get(name, {}))


def kind_of(reason: str) -> str:
    """Of a reason what tells no name and no address."""
    if PLAIN_REASON.fullmatch(reason.removeprefix("cannot read: ")):
        return reason
    return next((kind for kind in KINDS if reason.startswith(kind)), "cannot read")


def _parts(path: str) -> dict[str, str]:
    """Of each set, its part."""
    return {row["set"]: row["part"] for row in parquet.captures(path, ("set", "part")).to_pylist()}


def _ledger(path: str, named: Mapping[tuple[str, str], Capture]) -> Ledger:
    columns = ("run", "set", "file", "path", "host", "size", "content", "head", "first_ns")
    ledger = Ledger({}, {}, {})
    members: dict[str, list[Capture]] = defaultdict(list)
    rows = parquet.captures(path, columns).to_pylist()
    # A name that was given again stands for what was found under it last.
    for row in sorted(rows, key=lambda row: (row["run"], row["file"])):
        now = named.get((row["path"], row["host"]))
        url, host = (now.url, now.host) if now else (row["path"], row["host"])
        access = {} if now is None else {"access": now.access}
        capture = Capture(
            url, host, row["size"], row["content"], row["head"], row["first_ns"], **access
        )
        ledger.set_of[capture.content] = row["set"]
        ledger.at[capture.shown] = Known(capture, row["set"])
        members[row["set"]].append(capture)
    ledger.members.update({set_id: tuple(captures) for set_id, captures in members.items()})
    return ledger
