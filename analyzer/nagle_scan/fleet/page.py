"""`index.html` of a fleet: which services lose time, since when, and what to change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from nagle_scan.fleet import services, trends
from nagle_scan.fleet.remote import put
from nagle_scan.fleet.services import Row, total
from nagle_scan.fleet.table import Table, quoted
from nagle_scan.fleet.work import File
from nagle_scan.report import html
from nagle_scan.result import DEFAULT_MIN_WAIT_MS
from nagle_scan.words import certainty
from nagle_scan.words.wording import count, duration, endpoint, printable, sentence_start

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


class Listed(NamedTuple):
    """The latest of some captures."""

    rows: list[Row]
    every: int

    @property
    def more(self) -> int:
        """Those that are not shown."""
        return self.every - len(self.rows)


def write(table: Table, coverage: str = "") -> str:
    """Writes the page into the folder of the fleet; its path. Raises `OutputError`.

    `coverage` tells which hosts the last run has seen.
    """
    path = f"{table.path.rstrip('/')}/{NAME}"
    put(path, html.rendered("fleet.html", Page(table, coverage)))
    return path


class Page:
    """Everything that the template shows; it only lays it out."""

    at_once = AT_ONCE
    height = trends.HEIGHT

    def __init__(self, table: Table, coverage: str) -> None:
        self._table, self._scope = table, table.scope
        self.coverage = printable(coverage)
        self.is_hidden = self._scope.key is not None
        self._verdicts = services.verdicts(table)
        (self._counted,) = table.rows(COUNTED)
        (told,) = table.rows(services.TOTAL)
        self._total = total(told)
        self.has_stalls = any(self._total.stalls_by_confidence)
        self.verdict = "clean" if self._verdicts.get("clean") else "inconclusive"
        if self.has_stalls:
            self.verdict = "possible" if certainty.is_only_possible(self._total) else "stalls"
        self.word = WORDS[self.verdict]
        self._services = [
            row for row in table.rows(services.SERVICES) if any(total(row).stalls_by_confidence)
        ]
        self.services_every = len(self._services)

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.has_stalls:
            return f"{certainty.told(self._total)}, on {count(self.services_every, 'service')}"
        if self.verdict == "clean":
            return "No stall was found."
        return "No capture can tell whether there are stalls."

    @property
    def restrictions(self) -> Iterator[str]:
        """What was not looked for, or not at."""
        if self._scope.min_wait_ms != DEFAULT_MIN_WAIT_MS:
            yield f"Waits shorter than {self._scope.min_wait_ms:g} ms were ignored (--min-wait)."
        if self._scope.filter is not None:
            named = f"the filter {printable(self._scope.filter)}"
            yield f"Only what {'a filter' if self.is_hidden else named} lets through was analysed."

    @property
    def capture_sentence(self) -> str:
        """What was read."""
        read = self._counted
        sets = count(sum(self._verdicts.values()), "capture")
        told = f"{sets}, {count(read['packets'], 'packet')}"
        if read["first"]:
            told += f", captured {_moment(read['first'])} to {_moment(read['last'])} UTC"
        if read["scanned"]:
            told += f". The last was read {_moment(read['scanned'])} UTC"
        return f"{told}."

    @property
    def figures(self) -> Iterator[tuple[str, str, str]]:
        """The numbers at the top: label, value, note."""
        if self.has_stalls:
            surest, *rest = certainty.shares(self._total)
            less = (f"{duration(share.lost_ms)} {share.word}" for share in rest)
            yield "Time lost", duration(surest.lost_ms), "; ".join([surest.word, *less])
        verdicts, only = self._verdicts, self._verdicts.get("possible", 0)
        note = f"of {sum(verdicts.values()):,}"
        note += f"; {only:,} more have only possible stalls" if only else ""
        yield "Captures with stalls", f"{verdicts.get('stalls', 0):,}", note
        failed, in_part = self._counted["failed"], self._counted["in_part"]
        unread = [f"{count(failed, 'file')} could not be read"] if failed else []
        unread += [f"{count(in_part, 'file')} read in part"] if in_part else []
        note = "; ".join(unread) or "all could be read"
        yield "Captures that cannot tell", f"{verdicts.get('inconclusive', 0):,}", note

    @cached_property
    def services(self) -> list[Row]:
        """Those that lose most."""
        return list(map(self._service, self._services[:MOST_SERVICES]))

    @cached_property
    def _hours(self) -> dict[str, list[Row]]:
        return services.hours(self._table)

    @cached_property
    def axis(self) -> trends.Axis | None:
        """The time that the charts show."""
        hours = [hour["hour"] for each in self._hours.values() for hour in each]
        return trends.axis(hours) if hours else None

    def _service(self, row: Row) -> Row:
        hours = self._hours.get(row["service"], [])
        onset, note = services.trend(row, hours)
        return row | {
            "name": printable(row["service"]),
            "about": ", ".join(map(printable, _about(row))),
            "change": printable(row["change"]),
            "fix": printable(row["fix"]),
            "total": total(row),
            "p95": "-" if row["p95_ms"] is None else duration(row["p95_ms"]),
            "onset": _moment(onset) if onset else "",
            "onset_note": note,
            "chart": trends.chart(hours, onset, self.axis) if hours and self.axis else None,
            "worst": [self._connection(one) for one in self._worst.get(row["service"], ())],
        }

    @cached_property
    def _worst(self) -> dict[str, list[Row]]:
        """By service."""
        found: dict[str, list[Row]] = {}
        for row in self._table.rows(services.WORST_OF_EACH):
            found.setdefault(row["service"], []).append(row)
        return {service: each[:MOST_WORST] for service, each in found.items()}

    @cached_property
    def _places(self) -> dict[str, Row]:
        """Host and path of the first file of each set with one of the worst connections."""
        sets = {row["set"] for each in self._worst.values() for row in each}
        told = (
            f'SELECT "set", host, path FROM captures WHERE file = 0 AND "set" IN ({quoted(sets)})'
        )
        return {row["set"]: row for row in self._table.rows(told)}

    def _connection(self, row: Row) -> Row:
        place = self._places[row["set"]]
        return row | {
            "client": printable(endpoint(row["client_addr"], row["client_port"])),
            "path": _path(place),
            "total": total(row),
            "sentence": printable(row["sentence"]),
            "command": "" if self.is_hidden else self._command(row, place["host"]),
        }

    def _command(self, row: Row, host: str) -> str:
        """What makes its report. A worker makes that of another host."""
        folder = shlex.quote(printable(self._table.path))
        place = f"{row['set'][:SET_LEN]}/{row['connection']}"
        there = " --scheduler ADDRESS" if host else ""
        return f"nagle-scan fleet -o {folder} --report {place}{there}"

    @property
    def failures(self) -> Listed:
        """What could not be read."""
        return self._listed("error", "error IS NOT NULL", "", self._counted["failed"])

    @property
    def failures_about(self) -> str:
        """How many of them are tried again."""
        none = self._counted["no_captures"]
        told = "The numbers above are without them. The next run that finds them tries again"
        what = "that is no capture" if none == 1 else "that are no captures"
        return f"{told}, but for {count(none, 'file')} {what}." if none else f"{told}."

    @property
    def warned(self) -> Listed:
        """Captures that were read in part or with doubts; those read in part first."""
        return self._listed("warnings", "warnings <> ''", "complete,", self._counted["warned"])

    @property
    def unclear(self) -> Listed:
        """Captures without a verdict."""
        which = "verdict = 'inconclusive' AND file = 0"
        return self._listed("cannot_tell", which, "", self._verdicts.get("inconclusive", 0))

    def _listed(self, told: str, which: str, first: str, every: int) -> Listed:
        rows = self._table.rows(
            f"SELECT host, path, attempts, scanned, {told} AS told FROM captures "
            f"WHERE {which} ORDER BY {first} scanned DESC, path LIMIT {MOST_LISTED}"
        )
        shown = [
            {
                "path": _path(row),
                "told": " ".join(map(_sentence, row["told"].splitlines())),
                "attempts": row["attempts"] or 0,
                "at": _moment(row["scanned"]),
            }
            for row in rows
        ]
        return Listed(shown, every)


def _about(row: Row) -> Iterator[str]:
    yield from filter(None, (row["owner"], row["pod"]))
    end = endpoint(row["server_addr"], row["server_port"])
    if row["servers"] > 1:
        yield f"{end} and {row['servers'] - 1:,} more"
    elif end != row["service"]:
        yield end


def _path(row: Row) -> str:
    return printable(File(row["path"], row["host"]).shown)


def _sentence(line: str) -> str:
    return f"{sentence_start(printable(line)).rstrip('.')}."


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
