"""`index.html` of a fleet: which services lose time, since when, and what to change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from nagle_scan.fleet import trends
from nagle_scan.fleet.remote import put
from nagle_scan.fleet.services import COUNTS, total
from nagle_scan.fleet.table import quoted
from nagle_scan.fleet.work import File
from nagle_scan.report import html
from nagle_scan.result import DEFAULT_MIN_WAIT_MS
from nagle_scan.words import certainty
from nagle_scan.words.wording import count, duration, endpoint, printable, sentence_start

if TYPE_CHECKING:
    from nagle_scan.fleet.fleet import Fleet
    from nagle_scan.fleet.trends import Axis

NAME = "index.html"
MOST_SERVICES = 100
AT_ONCE = 6
"""Services that are shown unfolded."""
MOST_WORST = 5
"""Connections of a service."""
MOST_LISTED = 20
"""Captures that failed, that were read in part, or that cannot tell."""
SET_LEN = 12
"""Digits of a set that commands show: `Fleet.report` takes the beginning."""
WORDS = {
    "stalls": "Stalls",
    "possible": "Possible stalls",
    "clean": "No stall",
    "inconclusive": "Cannot tell",
}
COUNTED = """
SELECT coalesce(sum(packets), 0) AS packets, min(first) AS first, max(last) AS last,
    max(scanned) AS scanned, count(error) AS failed, count(*) FILTER (WHERE final) AS no_captures,
    count(*) FILTER (WHERE NOT complete) AS in_part,
    count(*) FILTER (WHERE warnings <> '') AS warned
FROM captures
"""
Row: TypeAlias = dict[Any, Any]


class Listed(NamedTuple):
    """The latest of some captures."""

    rows: list[Row]
    every: int

    @property
    def more(self) -> int:
        """Those that are not shown."""
        return self.every - len(self.rows)


def write(fleet: Fleet, coverage: str | None = None) -> str:
    """Writes the page into the folder of the fleet; its path. Raises `OutputError`.

    `coverage` tells which hosts the last run has seen.
    """
    path = f"{fleet.path.rstrip('/')}/{NAME}"
    content = html.rendered("fleet.html", Page(fleet, coverage))
    put(path, content)
    return path


class Page:
    """Everything that the template shows; it only lays it out."""

    at_once = AT_ONCE
    height = trends.HEIGHT

    def __init__(self, fleet: Fleet, coverage: str | None) -> None:
        self._fleet = fleet
        self.coverage = printable(coverage or "")
        self.is_hidden = fleet.scope.key is not None
        every = fleet.services
        self._services = every[every[COUNTS].sum(axis=1) > 0]
        self._counted = fleet.query(COUNTED).iloc[0]
        self.total = fleet.total
        self.has_stalls = any(self.total.stalls_by_confidence)
        self.verdict = self._verdict()
        self.word = WORDS[self.verdict]

    def _verdict(self) -> str:
        if self.has_stalls:
            return "possible" if certainty.is_only_possible(self.total) else "stalls"
        return "clean" if self._fleet.verdicts.get("clean") else "inconclusive"

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.has_stalls:
            where = f"on {count(len(self._services), 'service')}"
            return f"{certainty.told(self.total)}, {where}"
        if self.verdict == "clean":
            return "No stall was found."
        return "No capture can tell whether there are stalls."

    @property
    def restrictions(self) -> Iterator[str]:
        """What was not looked for, or not at."""
        scope = self._fleet.scope
        if scope.min_wait_ms != DEFAULT_MIN_WAIT_MS:
            yield f"Waits shorter than {scope.min_wait_ms:g} ms were ignored (--min-wait)."
        if scope.filter is not None:
            named = "a filter" if self.is_hidden else f"the filter {printable(scope.filter)}"
            yield f"Only what {named} lets through was analysed."

    @property
    def capture_sentence(self) -> str:
        """What was read."""
        read = self._counted
        sets = count(sum(self._fleet.verdicts.values()), "capture")
        told = f"{sets}, {count(int(read['packets']), 'packet')}"
        if not pd.isna(read["first"]):
            told += f", captured {_moment(read['first'])} to {_moment(read['last'])} UTC"
        if not pd.isna(read["scanned"]):
            told += f". The last was read {_moment(read['scanned'])} UTC"
        return f"{told}."

    @property
    def figures(self) -> Iterator[tuple[str, str, str]]:
        """The numbers at the top: label, value, note."""
        if self.has_stalls:
            surest, *rest = certainty.shares(self.total)
            less = (f"{duration(share.lost_ms)} {share.word}" for share in rest)
            yield "Time lost", duration(surest.lost_ms), "; ".join([surest.word, *less])
        verdicts = self._fleet.verdicts
        only = verdicts.get("possible", 0)
        note = f"of {sum(verdicts.values()):,}"
        note += f"; {only:,} more have only possible stalls" if only else ""
        yield "Captures with stalls", f"{verdicts.get('stalls', 0):,}", note
        yield "Captures that cannot tell", f"{verdicts.get('inconclusive', 0):,}", self._unread_note

    @property
    def _unread_note(self) -> str:
        failed, in_part = int(self._counted["failed"]), int(self._counted["in_part"])
        told = [f"{count(failed, 'file')} could not be read"] if failed else []
        told += [f"{count(in_part, 'file')} read in part"] if in_part else []
        return "; ".join(told) or "all could be read"

    @cached_property
    def services(self) -> list[Row]:
        """Those that lose most."""
        hours, worst = (
            dict(list(rows.groupby("service")))
            for rows in (self._fleet.hours_with_stalls, self._fleet.worst)
        )
        nothing = self._fleet.worst.head(0)
        return [
            self._service(row, hours.get(name), worst.get(name, nothing))
            for row in self._services.head(MOST_SERVICES).to_dict("records")
            if (name := row["service"])
        ]

    def _service(self, row: Row, hours: pd.DataFrame | None, worst: pd.DataFrame) -> Row:
        chart = None
        if hours is not None and self.axis is not None:
            chart = trends.chart(hours, row["onset"], self.axis)
        return row | {
            "name": printable(row["service"]),
            "about": ", ".join(map(printable, _about(row))),
            "change": printable(row["change"]),
            "fix": printable(row["fix"]),
            "total": total(pd.DataFrame([row])),
            "p95": "-" if pd.isna(row["p95_ms"]) else duration(row["p95_ms"]),
            "onset": "" if pd.isna(row["onset"]) else _moment(row["onset"]),
            "chart": chart,
            "worst": [self._connection(one) for one in worst.head(MOST_WORST).to_dict("records")],
        }

    def _connection(self, row: Row) -> Row:
        host, path = self._places[row["set"]]
        return row | {
            "client": printable(endpoint(row["client_addr"], row["client_port"])),
            "path": printable(File(path, host).shown),
            "total": total(pd.DataFrame([row])),
            "sentence": printable(row["sentence"]),
            "command": self._command(row, host),
        }

    @cached_property
    def axis(self) -> Axis | None:
        """The time that the charts show."""
        told = self._fleet.hours_with_stalls["hour"]
        # What is captured after it was read, a broken clock has told.
        told = told[told <= self._counted["scanned"]]
        return trends.axis(told) if len(told) else None

    @property
    def services_every(self) -> int:
        """All with stalls."""
        return len(self._services)

    @cached_property
    def _places(self) -> dict[str, tuple[str, str]]:
        """Host and path of the first file of each set with one of the worst connections."""
        sets = quoted(["", *self._fleet.worst["set"].unique()])
        rows = self._fleet.query(
            f'SELECT "set", host, path FROM captures WHERE file = 0 AND "set" IN ({sets})'
        )
        return dict(zip(rows["set"], zip(rows["host"], rows["path"], strict=True), strict=True))

    def _command(self, row: Row, host: str) -> str:
        """What makes its report; with a key nobody can. A worker makes that of another host."""
        if self.is_hidden:
            return ""
        folder = shlex.quote(printable(self._fleet.path))
        place = f"{row['set'][:SET_LEN]}/{row['connection']}"
        there = " --scheduler ADDRESS" if host else ""
        return f"nagle-scan fleet -o {folder} --report {place}{there}"

    @property
    def failures(self) -> Listed:
        """What could not be read."""
        rows = self._listed("error", "error IS NOT NULL", "")
        return Listed(rows, int(self._counted["failed"]))

    @property
    def failures_about(self) -> str:
        """How many of them are tried again."""
        none = int(self._counted["no_captures"])
        told = "The numbers above are without them. The next run that finds them tries again"
        if not none:
            return f"{told}."
        what = "that is no capture" if none == 1 else "that are no captures"
        return f"{told}, but for {count(none, 'file')} {what}."

    @property
    def warned(self) -> Listed:
        """Captures that were read in part or with doubts; those read in part first."""
        rows = self._listed("warnings", "warnings <> ''", "complete,")
        return Listed(rows, int(self._counted["warned"]))

    @property
    def unclear(self) -> Listed:
        """Captures without a verdict."""
        rows = self._listed("cannot_tell", "verdict = 'inconclusive' AND file = 0", "")
        return Listed(rows, self._fleet.verdicts.get("inconclusive", 0))

    def _listed(self, told: str, which: str, first: str) -> list[Row]:
        rows = self._fleet.query(
            f"SELECT host, path, attempts, scanned, {told} AS told FROM captures "
            f"WHERE {which} ORDER BY {first} scanned DESC, path LIMIT {MOST_LISTED}"
        )
        return [
            {
                "path": printable(File(row["path"], row["host"]).shown),
                "told": " ".join(
                    f"{sentence_start(printable(line)).rstrip('.')}."
                    for line in row["told"].splitlines()
                ),
                "attempts": row["attempts"],
                "at": _moment(row["scanned"]),
            }
            for row in rows.to_dict("records")
        ]


def _about(row: Row) -> Iterator[str]:
    if row["owner"]:
        yield row["owner"]
    if row["pod"]:
        yield row["pod"]
    end = endpoint(row["server_addr"], row["server_port"])
    if row["servers"] > 1:
        yield f"{end} and {row['servers'] - 1:,} more"
    elif end != row["service"]:
        yield end


def _moment(moment: pd.Timestamp) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
