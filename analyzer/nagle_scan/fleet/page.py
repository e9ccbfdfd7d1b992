"""`index.html` of a dataset: where time is lost, over everything, and since when."""

from __future__ import annotations

import os
import shlex
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from nagle_scan.fleet import parquet, sums
from nagle_scan.fleet.changes import TOLD
from nagle_scan.fleet.hours import Hours
from nagle_scan.fleet.work import on_host
from nagle_scan.report import html
from nagle_scan.report.comparison import STATES
from nagle_scan.result import DEFAULT_MIN_WAIT_MS
from nagle_scan.system import files
from nagle_scan.words import certainty
from nagle_scan.words.certainty import Total
from nagle_scan.words.wording import count, duration, endpoint, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan.compare import Numbers
    from nagle_scan.fleet.fleet import Fleet

NAME = "index.html"
MOST_SERVICES = 100
MOST_HOSTS = 50
MOST_CHANGED = 10
"""Services that are new, that are worse, that are gone."""
MOST_LISTED = 100
"""Captures that failed, or that cannot tell."""
ON_PAPER = 15
SET_LEN = 12
"""Digits of a set that commands show: `Fleet.report` takes the beginning."""


Cells: TypeAlias = Mapping[Hashable, Any]


class Connection(NamedTuple):
    """One of the worst of a service."""

    stream: int
    client: str
    path: str
    total: Total
    command: str


class Row(NamedTuple):
    """A service, or a host that must change."""

    name: str
    total: Total
    cells: Cells
    worst: Sequence[Connection] = ()


class Changed(NamedTuple):
    """What became of a service."""

    name: str
    words: str
    before: str
    after: str


def write(fleet: Fleet) -> str:
    """Writes the page into the folder of the dataset; its path. Raises `OutputError`."""
    path = os.path.join(fleet.path, NAME)
    files.replace(path, html.rendered("fleet.html", Page(fleet)))
    return path


class Page:
    """Everything that the template shows; it only lays it out."""

    on_paper = ON_PAPER

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.is_hidden = fleet.about["key"] is not None
        self.services_all = fleet.services[_have_stalls(fleet.services)]
        self.hosts_all = fleet.hosts
        self.total = fleet.total
        self.has_stalls = any(self.total.stalls_by_confidence)
        self.verdict = self._verdict()
        self.word = {
            "stalls": "Stalls",
            "possible": "Possible stalls",
            "clean": "No stall",
            "inconclusive": "Cannot tell",
        }[self.verdict]

    def _verdict(self) -> str:
        if self.has_stalls:
            return "possible" if certainty.is_only_possible(self.total) else "stalls"
        return "clean" if self._fleet.verdicts.get("clean") else "inconclusive"

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.has_stalls:
            where = f"on {count(len(self.services_all), 'service')}"
            return f"{certainty.told(self.total)}, {where}"
        if self.verdict == "clean":
            return "No stall was found."
        return "No capture can tell whether there are stalls."

    @property
    def restrictions(self) -> list[str]:
        """What was not looked for, or not at."""
        told = []
        if (min_wait_ms := self._fleet.about["min_wait_ms"]) != DEFAULT_MIN_WAIT_MS:
            told.append(f"Waits shorter than {min_wait_ms:g} ms were ignored (--min-wait).")
        if (filter := self._fleet.about["filter"]) is not None:
            named = "a filter" if self.is_hidden else f"the filter {printable(filter)}"
            told.append(f"Only what {named} lets through was analysed.")
        return told

    @property
    def capture_sentence(self) -> str:
        """What was read."""
        runs = self._fleet.runs
        sets = count(sum(self._fleet.verdicts.values()), "capture")
        told = f"{sets}, {count(int(self._captures['packets'].sum()), 'packet')}"
        begin, end = self._captures["first"].min(), self._captures["last"].max()
        if not pd.isna(begin):
            told += f", captured {_moment(begin)} to {_moment(end)} UTC"
        if len(runs):
            last = runs.iloc[-1]
            told += (
                f". Run {last['run']:,} ended {last['ended']:%Y-%m-%d %H:%M} UTC and added "
                f"{count(int(last['sets']), 'capture')}"
            )
        return f"{told}."

    @cached_property
    def _captures(self) -> pd.DataFrame:
        """Of each file, what this page needs; times of the days that are told."""
        columns = [
            "set",
            "path",
            "host",
            "packets",
            "first",
            "last",
            "verdict",
            "cannot_tell",
            "complete",
            "warnings",
            "file",
        ]
        found: pd.DataFrame = parquet.captures(self._fleet.path, columns).to_pandas()
        return found

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """The numbers at the top: label, value, note."""
        verdicts = self._fleet.verdicts
        all_sets = sum(verdicts.values())
        with_stalls = f"{verdicts.get('stalls', 0):,}"
        only = verdicts.get("possible", 0)
        note = f"of {all_sets:,}" + (f"; {only:,} more have only possible stalls" if only else "")
        told = [("Captures with stalls", with_stalls, note)]
        if self.has_stalls:
            surest, *rest = certainty.shares(self.total)
            less = "; ".join(f"{duration(share.lost_ms)} {share.word}" for share in rest)
            told.insert(0, ("Time lost", duration(surest.lost_ms), _and(surest.word, less)))
        cannot = verdicts.get("inconclusive", 0)
        failed = len(self._fleet.failures)
        in_part = len(self._captures) - int(self._captures["complete"].sum())
        unread = [f"{count(failed, 'file')} could not be read"] if failed else []
        unread += [f"{count(in_part, 'file')} read in part"] if in_part else []
        told.append(
            (
                "Captures that cannot tell",
                f"{cannot:,}",
                "; ".join(unread) or "all could be read",
            )
        )
        return told

    @cached_property
    def services(self) -> list[Row]:
        """Those that lose most."""
        worst = dict(list(self._fleet.worst.groupby(sums.SERVER, sort=False)))
        shown = self.services_all.head(MOST_SERVICES)
        return [
            Row(
                _server(row),
                sums.total_of(row),
                row,
                tuple(self._connections(worst[row["server_addr"], row["server_port"]])),
            )
            for row in shown.to_dict("records")
        ]

    @property
    def services_more(self) -> int:
        """Those that are not shown."""
        return len(self.services_all) - len(self.services)

    def _connections(self, rows: pd.DataFrame) -> Iterator[Connection]:
        for row in rows.to_dict("records"):
            yield Connection(
                row["connection"],
                printable(endpoint(row["client_addr"], row["client_port"])),
                self._path_of[row["set"]],
                sums.total_of(row),
                self._command(row),
            )

    @cached_property
    def _path_of(self) -> dict[str, str]:
        """Of each set, its first file."""
        firsts = self._captures[self._captures["file"] == 0]
        names = (
            printable(on_host(host, path))
            for path, host in zip(firsts["path"], firsts["host"], strict=True)
        )
        return dict(zip(firsts["set"], names, strict=True))

    def _command(self, row: Cells) -> str:
        """What makes its report; with a key nobody can."""
        if self.is_hidden:
            return ""
        folder = shlex.quote(printable(self._fleet.path))
        place = f"{row['set'][:SET_LEN]}/{row['connection']}"
        there = " --scheduler ADDRESS" if row["set"] in self._on_hosts else ""
        return f"nagle-scan fleet -o {folder} --report {place}{there}"

    @cached_property
    def _on_hosts(self) -> set[str]:
        """Sets that only a host has: a worker there makes the report."""
        captures = self._captures
        return set(captures["set"][captures["host"] != ""])

    @property
    def hosts(self) -> list[Row]:
        """Those that hold data back."""
        shown = self.hosts_all.head(MOST_HOSTS).to_dict("records")
        return [Row(printable(row["addr"]), sums.total_of(row), row) for row in shown]

    @property
    def hosts_more(self) -> int:
        """Those that are not shown."""
        return max(0, len(self.hosts_all) - MOST_HOSTS)

    @cached_property
    def changes(self) -> str:
        """What became of the services, in a sentence."""
        return self._fleet.compared.sentence

    @property
    def runs_compared(self) -> tuple[int | None, int | None]:
        """The earlier and the later one."""
        return self._fleet.compared.before, self._fleet.compared.after

    @property
    def changed(self) -> list[Changed]:
        """The services that are new, worse or gone."""
        return [
            Changed(
                printable(server.shown),
                STATES[server.state],
                _numbers(server.before),
                _numbers(server.after),
            )
            for state in TOLD
            for server in self._fleet.compared.of(state)[:MOST_CHANGED]
        ]

    @property
    def changed_more(self) -> int:
        """Those that are not shown."""
        every = sum(len(self._fleet.compared.of(state)) for state in TOLD)
        return every - len(self.changed)

    @cached_property
    def hours(self) -> Hours:
        """When it was lost."""
        return Hours(self._fleet.hours)

    def day(self, time: datetime) -> str:
        """Of a table; a dash where the captures tell no date."""
        return "-" if pd.isna(time) else f"{time:%Y-%m-%d}"

    @property
    def failures(self) -> list[Cells]:
        """What could not be read."""
        found = self._fleet.failures
        if not len(found):
            return []
        rows = found.sort_values("path").head(MOST_LISTED).to_dict("records")
        return [
            {
                "path": printable(row["path"]),
                "reason": printable(row["reason"]),
                "attempts": row["attempts"],
                "last": f"{row['last_tried']:%Y-%m-%d %H:%M}",
            }
            for row in rows
        ]

    @property
    def failures_more(self) -> int:
        """Those that are not shown."""
        return max(0, len(self._fleet.failures) - MOST_LISTED)

    @cached_property
    def warned(self) -> list[tuple[str, str]]:
        """Captures that were read in part or with doubts, and what there is to say; those first."""
        rows = self._captures[self._captures["warnings"] != ""]
        rows = rows.sort_values(["complete", "path"])
        return [
            (
                printable(on_host(row["host"], row["path"])),
                " ".join(
                    f"{sentence_start(line)}."
                    for line in map(printable, row["warnings"].split("\n"))
                ),
            )
            for row in rows.head(MOST_LISTED).to_dict("records")
        ]

    @property
    def warned_more(self) -> int:
        """Those that are not shown."""
        return max(0, int((self._captures["warnings"] != "").sum()) - MOST_LISTED)

    @cached_property
    def unclear(self) -> list[tuple[str, str]]:
        """Captures without a verdict, and why."""
        rows = self._captures
        rows = rows[(rows["verdict"] == "inconclusive") & (rows["file"] == 0)].sort_values("path")
        return [
            (self._path_of[row["set"]], row["cannot_tell"])
            for row in rows.head(MOST_LISTED).to_dict("records")
        ]

    @property
    def unclear_more(self) -> int:
        """Those that are not shown."""
        return max(0, self._fleet.verdicts.get("inconclusive", 0) - MOST_LISTED)


def _have_stalls(rows: pd.DataFrame) -> pd.Series[bool]:
    return rows[sums.COUNTS].sum(axis=1) > 0


def _server(row: Cells) -> str:
    return printable(endpoint(row["server_addr"], row["server_port"]))


def _numbers(numbers: Numbers | None) -> str:
    if numbers is None:
        return "no data"
    stalls = (
        f"{certainty.counts(numbers)} ({certainty.lost(numbers)})" if numbers.stalls else "no stall"
    )
    return f"{stalls}, {count(numbers.exchanges, 'exchange')}"


def _and(first: str, second: str) -> str:
    return f"{first}; {second}" if second else first


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
