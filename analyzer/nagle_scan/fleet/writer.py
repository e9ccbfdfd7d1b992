"""The one run that writes the table. A batch is one commit: all of it is there, or nothing.

Every commit carries the number of its turn (a transaction of the protocol), so that a second run
is refused, and a mark of its run, by which a commit is found again whose answer was lost. On a
local disk, files, log and folders are synced before a commit counts as written. Nothing is deleted
but by `tidy`, and there only what the log has removed.
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from deltalake import (
    CommitProperties,
    PostCommitHookProperties,
    Transaction,
    WriterProperties,
    write_deltalake,
)

from nagle_scan.errors import OutputError
from nagle_scan.fleet import storage
from nagle_scan.fleet.fields import DETAILS, TEXT, Field, columns
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.storage import LOG
from nagle_scan.fleet.table import Scope, Table, reason, storage_options
from nagle_scan.fleet.work import Place
from nagle_scan.words.wording import count

if TYPE_CHECKING:
    import pyarrow as pa

    from nagle_scan.fleet.actions import Action
    from nagle_scan.fleet.parquet import Part

APP = "nagle-scan"
PARTS = ["kind", "day"]
ENTRY = rf"{LOG}/\d+\.json"
TRIES = 3
"""At a commit."""
MOST_SMALL_FILES = 8
"""Of a kind and day: more are made one."""
MOST_ENTRIES = 20
"""Of the log, behind its last checkpoint."""
RETENTION = timedelta(days=7)
"""A reader that began before may still use a file."""
CONFIGURATION = {
    # Only `tidy` deletes, whenever it comes.
    "delta.enableExpiredLogCleanup": "false",
    "delta.deletedFileRetentionDuration": "interval 10000 days",
}
NO_CHECKPOINT = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
COMPACTED = WriterProperties(compression="ZSTD", compression_level=3)
REPAIR = "put it back, or let go of it with --again"


class Writer(Table):
    """Raises `OutputError`, also while another run writes."""

    error = OutputError

    def __init__(self, path: str) -> None:
        storage.check(path)
        super().__init__(path)
        self._begun: dict[str, int] = {}
        """The version before each commit, by its mark."""
        if self.is_there:
            self.scope  # noqa: B018

    def check(self, scope: Scope, may_lack: bool = False) -> None:
        """Raises for a fleet that is scanned otherwise, or damaged; writes nothing."""
        if not self.is_there:
            return
        if difference := self.scope.differs(scope):
            raise OutputError(f"{self.path}: scanned with {difference}: name a new folder")
        if may_lack:
            return
        there = storage.sizes(self.path)
        if _empty_entries(there):
            raise OutputError(f"{self.path}: damaged: an entry of its log is empty: {REPAIR}")
        if gone := self._gone(there):
            what = f"{count(len(gone), 'file')} of {len(self.files()):,} gone or cut off"
            raise OutputError(f"{self.path}: damaged: {what}, first {gone[0]['path']}: {REPAIR}")

    def begin(self, scope: Scope) -> None:
        """Makes the table if there is none, and adds columns that are new."""
        with self._told():
            if not self.is_there:
                self._make(scope)
            there = {field.name for field in self.delta.schema().fields}
            if new := [field for name, field in columns().items() if name not in there]:
                from deltalake import Schema

                from nagle_scan.fleet import parquet

                wanted = Schema.from_arrow(parquet.schema(new)).fields
                self._once(
                    lambda info: self.delta.alter.add_columns(wanted, commit_properties=info)
                )

    def _make(self, scope: Scope) -> None:
        from arro3.core import Schema
        from arro3.core import Table as Rows

        from nagle_scan.fleet import parquet

        kind = Field("kind", TEXT, "")
        every = Schema.from_arrow(parquet.schema([kind, *columns().values()]))
        # `DeltaTable.create` would tell the folder in the log.
        write_deltalake(
            self.path,
            Rows.from_batches([], schema=every),
            partition_by=PARTS,
            description=json.dumps(scope._asdict()),
            configuration=CONFIGURATION,
            storage_options=storage_options(self.path),
        )
        self._found = self._opened()
        self._sync(0)

    def commit(
        self,
        rows: Mapping[Part, pa.Table],
        replaced: Collection[str] = (),
        tried: Collection[Place] = (),
        mark: str = "",
    ) -> None:
        """Adds a batch. It takes the place of the sets `replaced`, and of failures at the places
        `tried`. One with the `mark` of a commit that was interrupted is not added twice."""
        with self._told():
            if mark in self._begun and self._is_there(mark):
                return
            from nagle_scan.fleet import actions

            gone = list(actions.without(self, replaced, tried))
            self._act([*gone, *actions.added(self.path, rows)], mark)

    def drop(self, before: date) -> None:
        """Removes stalls, connections and waits of the days before; sums stay."""
        details = [one for one in self.files() if one["partition.kind"] in DETAILS]
        if old := [one for one in details if (one["partition.day"] or before) < before]:
            from nagle_scan.fleet import actions

            self._act(list(map(actions.removed, old)))

    def end(self) -> None:
        """Makes few files of many, and a log that is read at once."""
        every = self.files()
        parts = {(one["partition.kind"], one["partition.day"]) for one in every}
        if len(every) > MOST_SMALL_FILES * max(1, len(parts)):
            self._once(
                lambda info: self.delta.optimize.compact(
                    commit_properties=info,
                    writer_properties=COMPACTED,
                    post_commithook_properties=NO_CHECKPOINT,
                )
            )
        names = storage.sizes(self.path)
        last = max((name for name in names if "checkpoint.parquet" in name), default="")
        if sum(name > last for name in names if re.fullmatch(ENTRY, name)) > MOST_ENTRIES:
            with self._told():
                self.delta.create_checkpoint()
                self._sync(self.delta.version())

    def sync_page(self, name: str) -> None:
        """It was written beside the table."""
        with self._told():
            storage.sync(self.path, name)

    def is_older(self, name: str) -> bool:
        """Is a file beside the table older than its last commit, or not there?"""
        if not is_url(self.path):
            log = f"{self.path}/{LOG}/{self.delta.version():020}.json"
            with suppress(FileNotFoundError):
                return os.stat(f"{self.path}/{name}").st_mtime_ns < os.stat(log).st_mtime_ns
        return True

    def tidy(self) -> int:
        """Deletes files that the log has removed, a week ago or earlier; how many."""
        with self._told():
            hours = int(RETENTION / timedelta(hours=1))
            return len(self.delta.vacuum(hours, dry_run=False, enforce_retention_duration=False))

    def verify(self) -> tuple[int, int]:
        """Reads every row; files and rows. Raises `OutputError` for what cannot be read."""
        from nagle_scan.fleet import actions

        every = self.files()
        for one in every:
            try:
                read = len(actions.read(self.path, one))
            except Exception as error:
                raise OutputError(f"{self.path}: {one['path']}: {reason(error)}") from None
            if read != one["num_records"]:
                told = f"{read:,} rows of {one['num_records']:,}"
                raise OutputError(f"{self.path}: {one['path']}: {told}")
        return len(every), sum(one["num_records"] for one in every)

    def repair(self) -> int:
        """Lets go of what is gone. How many files of captures have to be read again for it."""
        there = storage.sizes(self.path)
        for name in _empty_entries(there):
            storage.put(self.path, name, b'{"commitInfo":{}}\n')
        gone = self._gone(there)
        if not gone:
            return 0
        from nagle_scan.fleet import actions

        left = [one for one in self.files() if one not in gone]
        made, lost = actions.without_gone(self.path, gone, left)
        self._act(made)
        return lost

    def _gone(self, there: Mapping[str, int]) -> list[dict[str, Any]]:
        """Files that the log names and that are not there with their size."""
        return [one for one in self.files() if there.get(one["path"]) != one["size_bytes"]]

    def _act(self, actions: list[Action], mark: str = "") -> None:
        if actions:
            self._once(
                lambda info: self.delta.create_write_transaction(
                    actions,
                    "append",
                    self.delta.schema(),
                    PARTS,
                    commit_properties=info,
                    post_commithook_properties=NO_CHECKPOINT,
                ),
                mark,
            )

    def _once(self, commit: Callable[[CommitProperties], object], mark: str = "") -> None:
        """Commits, and whatever the answer is, looks whether it is there."""
        why, mark = "", mark or uuid.uuid4().hex
        self._begun[mark] = self.delta.version()
        turn = (self.delta.transaction_version(APP) or 0) + 1
        info = CommitProperties({APP: mark}, app_transactions=[Transaction(APP, turn)])
        for attempt in range(TRIES):
            time.sleep(attempt)
            try:
                commit(info)
            except Exception as error:
                why = reason(error)
            if self._is_there(mark):
                return
        raise OutputError(f"{self.path}: {why}")

    def _is_there(self, mark: str) -> bool:
        """Did a commit take effect? Raises `OutputError` if that of another run did."""
        base = self._begun[mark]
        try:
            self._found = self._opened()
            more = self.delta.version() - base
            entries = self.delta.history(more) if more else []
        except Exception as error:
            unknown = "nobody can tell whether the last batch is written"
            raise OutputError(f"{self.path}: {unknown}: {reason(error)}") from None
        if mark in [entry.get(APP) for entry in entries]:
            self._sync(base + 1)
            return True
        if entries:
            raise OutputError(f"{self.path}: another run writes into it")
        return False

    def _sync(self, version: int) -> None:
        """Entries of the log from this version on, and what they added."""
        if is_url(self.path):
            return
        for name in os.listdir(f"{self.path}/{LOG}"):
            if name[:20].isdigit() and int(name[:20]) < version:
                continue
            storage.sync(self.path, f"{LOG}/{name}")
            if name.endswith(".json"):
                entry = storage.content(self.path, f"{LOG}/{name}")
                for line in entry.splitlines():
                    if added := json.loads(line).get("add"):
                        storage.sync(self.path, added["path"])


def _empty_entries(there: Mapping[str, int]) -> list[str]:
    return [name for name, size in there.items() if re.fullmatch(ENTRY, name) and not size]
