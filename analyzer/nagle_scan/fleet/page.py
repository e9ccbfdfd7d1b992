"""`index.html` of a fleet: which services lose time, since when, and what to change."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from nagle_scan.errors import CaptureError
from nagle_scan.fleet import changes, services, trends
from nagle_scan.fleet.changes import Change
from nagle_scan.fleet.folder import PAGE, Folder
from nagle_scan.fleet.services import Row, total
from nagle_scan.fleet.table import Scope, Table, quoted
from nagle_scan.fleet.trends import Chart, Trend
from nagle_scan.report import html
from nagle_scan.result.options import DEFAULT_MIN_WAIT_MS
from nagle_scan.words import certainty
from nagle_scan.words.certainty import Total
from nagle_scan.words.wording import count, duration, endpoint, printable, sentence_start

MOST_SERVICES = 100
AT_ONCE = 6
"""Services that are shown unfolded."""
MOST_WORST = 5
"""Connections of a service that are shown."""
MOST_LISTED = 20
"""Captures in each list: those that failed, were read in part, or cannot tell."""
SET_LEN = 12
"""Digits of a set that commands show: `Fleet.report` takes the beginning."""
WORDS = {
    "stalls": "Stalls",
    "possible": "Possible stalls",
    "clean": "No stall",
    "inconclusive": "Cannot tell",
}
COUNTED = """
SELECT coalesce(sum(packets), 0)::BIGINT AS packets, min(first) AS first, max(last) AS last,
    max(scanned) AS scanned, count(error) AS failed, count(*) FILTER (WHERE final) AS no_captures,
    count(*) FILTER (WHERE NOT complete) AS in_part
FROM captures
"""
PATH = """
CASE WHEN host <> '' AND (SELECT count(DISTINCT nullif(host, '')) FROM captures) > 1
    THEN host || ':' || path ELSE path END AS path
"""
"""The path of a file, with its host where captures of several are in the fleet."""
CHANGED = "SELECT * FROM changes WHERE time > ? ORDER BY time DESC, now_ms * exchanges DESC"
SHOWN_DAYS = 7
"""Days of the changes that are shown."""
# Time lost on the last captured days of each service, possible stalls included.
RECENT = f"""
SELECT service, coalesce(sum(wait_ms) FILTER (WHERE confidence IS NOT NULL), 0) AS lost_ms
FROM (SELECT *, dense_rank() OVER (PARTITION BY service ORDER BY day DESC) AS age FROM sums)
WHERE age <= {SHOWN_DAYS} GROUP BY service
"""
FIRST_FILES = f'SELECT "set", {PATH} FROM captures WHERE file = 0 AND "set" IN'
UNCLEAR = "verdict = 'inconclusive' AND file = 0"


STATE = '<meta name="nagle-scan-fleet" content="{}">'
"""Tells which rows a page shows."""


def write(table: Table, news: Sequence[Change] = (), state: str = "") -> None:
    """Writes the page into the folder of the fleet, with what is about to be told.

    Raises `OutputError`, `CaptureError`."""
    content = _content(table, news, state or table.state())
    table.folder.replace(PAGE, html.rendered("fleet.html", content))


def state(folder: Folder) -> str:
    """`Table.state` of what the page shows; empty where there is none."""
    try:
        found = re.search(STATE.format("([0-9a-f]+)").encode(), folder.content(PAGE))
    except CaptureError:
        return ""
    return found[1].decode() if found else ""


def _content(table: Table, news: Sequence[Change], state: str) -> Mapping[str, Any]:
    """Everything that the template shows; it only lays it out."""
    (counted,), (stalling,) = table.rows(COUNTED), table.rows(services.STALLING)
    verdicts, lost = services.verdicts(table), services.of_all(table)
    is_hidden = table.scope.key is not None
    shown = table.rows(f"{services.SERVICES} LIMIT {MOST_SERVICES}")
    shown = [row for row in shown if any(total(row).stalls_by_confidence)]
    lost_ms = {row["service"]: row["lost_ms"] for row in table.rows(RECENT)}
    # Services that lose now come first, fixed ones last, and of equal ones those that lost most.
    shown.sort(key=lambda row: -lost_ms[row["service"]])
    verdict = _verdict(lost, verdicts)
    return {
        "state": STATE.format(state),
        **_changes(table, news),
        "is_hidden": is_hidden,
        "verdict": verdict,
        "word": WORDS[verdict],
        "headline": _headline(verdict, lost, stalling["counted"] or stalling["services"]),
        "has_stalls": bool(shown),
        "restrictions": list(_restrictions(table.scope)),
        "capture_sentence": _captures(counted, sum(verdicts.values())),
        "figures": list(_figures(counted, verdicts, lost)),
        "height": trends.HEIGHT,
        "at_once": AT_ONCE,
        "services_every": stalling["services"],
        **_services(table, shown, is_hidden),
        "losing": sum(lost_ms[row["service"]] > 0 for row in shown),
        "failures_about": _tried_again(counted["no_captures"]),
        "failures": _listed(table, "error", "error IS NOT NULL"),
        "warned": _listed(table, "warnings", "warnings <> ''", "complete,"),
        "unclear": _listed(table, "cannot_tell", UNCLEAR),
    }


def _changes(table: Table, news: Sequence[Change]) -> Mapping[str, Any]:
    """Changes of the last days, those that are about to be told first."""
    now = datetime.now(UTC)
    told = list(table.each(CHANGED, [now - timedelta(days=SHOWN_DAYS)]))
    every = [(now, one) for one in news]
    every += zip((row["time"] for row in told), changes.of_rows(told), strict=True)
    shown = [
        {"at": _moment(at), "sentence": printable(one.sentence)} for at, one in every[:MOST_LISTED]
    ]
    return {"changes": shown, "changes_every": len(every)}


def _safe(row: Row) -> Row:
    """A row with texts that are safe to print."""
    return {name: printable(one) if isinstance(one, str) else one for name, one in row.items()}


def _verdict(lost: Total, verdicts: Mapping[str, int]) -> str:
    if any(lost.stalls_by_confidence):
        return "possible" if certainty.is_only_possible(lost) else "stalls"
    return "clean" if verdicts.get("clean") else "inconclusive"


def _headline(verdict: str, lost: Total, services: int) -> str:
    if verdict == "clean":
        return "No stall was found."
    if verdict == "inconclusive":
        return "No capture can tell whether there are stalls."
    on = count(services, "service")
    return f"{certainty.counting(lost)}, on {on}{certainty.and_possible(lost)}"


def _restrictions(scope: Scope) -> Iterator[str]:
    """Restrictions of the scans: waits that were too short, packets that a filter left out."""
    if scope.min_wait_ms != DEFAULT_MIN_WAIT_MS:
        yield f"Waits shorter than {scope.min_wait_ms:g} ms were ignored (--min-wait)."
    if scope.filter is not None:
        named = "a filter" if scope.key else f"the filter {printable(scope.filter)}"
        yield f"Only what {named} lets through was analysed."


def _captures(read: Row, sets: int) -> str:
    sentence = f"{count(sets, 'capture')}, {count(read['packets'], 'packet')}"
    if read["first"]:
        sentence += f", captured {_moment(read['first'])} to {_moment(read['last'])} UTC"
    if read["scanned"]:
        sentence += f". The last was read {_moment(read['scanned'])} UTC"
    return f"{sentence}."


def _figures(
    counted: Row, verdicts: Mapping[str, int], lost: Total
) -> Iterator[tuple[str, str, str]]:
    """The numbers at the top: label, value, note."""
    if any(lost.stalls_by_confidence):
        parts = (f"{duration(share.lost_ms)} {share.word}" for share in certainty.shares(lost))
        yield "Time lost", duration(certainty.counted_ms(lost)), "; ".join(parts)
    note, only = f"of {sum(verdicts.values()):,}", verdicts.get("possible", 0)
    note += f"; {only:,} more have only possible stalls" if only else ""
    yield "Captures with stalls", f"{verdicts.get('stalls', 0):,}", note
    failed, in_part = counted["failed"], counted["in_part"]
    unread = [f"{count(failed, 'file')} could not be read"] if failed else []
    unread += [f"{count(in_part, 'file')} read in part"] if in_part else []
    note = "; ".join(unread) or "all could be read"
    yield "Captures that cannot tell", f"{verdicts.get('inconclusive', 0):,}", note


def _services(table: Table, shown: Sequence[Row], is_hidden: bool) -> Mapping[str, Any]:
    """Services with their trends and worst connections, and the axis of all charts."""
    names = quoted(["", *(row["service"] for row in shown)])
    source = f"{services.STALLED} AND service IN ({names})"
    counted = f"SELECT hour, count(DISTINCT service) AS services FROM {source} GROUP BY hour"
    hours = [row["hour"] for row in table.rows(counted) for _ in range(row["services"])]
    axis = trends.axis(hours) if hours else None
    found: dict[str, tuple[Trend, Chart | None]] = {}
    for service, each in services.hours_of_each(table, source):
        trend = trends.trend(each)
        found[service] = trend, trends.chart(each, trend.onset, axis) if axis else None
    worst = _worst(table, names, is_hidden)
    made = [
        _safe(row)
        | {
            "about": printable(", ".join(_about(row))),
            "total": total(row),
            "p95": "-" if row["p95_ms"] is None else duration(row["p95_ms"]),
            "onset": _moment(trend.onset) if trend.onset else "",
            "onset_note": trend.note,
            "chart": chart,
            "worst": worst.get(row["service"]),
        }
        for row in shown
        for trend, chart in [found.get(row["service"], (trends.no_trend(row["hours"]), None))]
    ]
    return {"axis": axis, "services": made}


def _about(row: Row) -> Iterator[str]:
    yield from filter(None, (row["owner"], row["pod"]))
    end = endpoint(row["server_addr"], row["server_port"])
    if row["servers"] > 1:
        yield f"{end} and {row['servers'] - 1:,} more"
    elif end != row["service"]:
        yield end


def _worst(table: Table, names: str, is_hidden: bool) -> dict[str, list[Row]]:
    """Connections by service, each with the command that makes its report, on the host that has
    the capture."""
    found: dict[str, list[Row]] = {}
    for row in table.each(services.worst(f"service IN ({names})")):
        found.setdefault(row["service"], []).append(_safe(row))
    shown = [row for each in found.values() for row in each[:MOST_WORST]]
    sets = quoted(["", *{row["set"] for row in shown}])
    paths = {row["set"]: _safe(row)["path"] for row in table.each(f"{FIRST_FILES} ({sets})")}
    folder = printable(table.folder.path)
    for row in shown:
        stream = f"{row['set'][:SET_LEN]}/{row['connection']}"
        command = f"nagle-scan fleet -o {shlex.quote(folder)} --report {stream}"
        row["command"] = "" if is_hidden else command
        row["client"] = endpoint(row["client_addr"], row["client_port"])
        row |= {"path": paths[row["set"]], "total": total(row)}
    return {service: each[:MOST_WORST] for service, each in found.items()}


def _tried_again(no_captures: int) -> str:
    about = "The numbers above are without them. The next run that finds them tries again"
    what = "that is no capture" if no_captures == 1 else "that are no captures"
    return f"{about}, but for {count(no_captures, 'file')} {what}." if no_captures else f"{about}."


def _listed(table: Table, reason: str, which: str, first: str = "") -> Mapping[str, Any]:
    """The latest captures that `which` (SQL) selects, with the column `reason` for each."""
    rows = table.rows(
        f"SELECT {PATH}, attempts, scanned, {reason} AS reason, count(*) OVER () AS every "
        f"FROM captures WHERE {which} ORDER BY {first} scanned DESC, captures.path "
        f"LIMIT {MOST_LISTED}"
    )
    every = rows[0]["every"] if rows else 0
    shown = [
        {
            "path": printable(row["path"]),
            "reason": " ".join(_sentences(row["reason"].splitlines())),
            "attempts": row["attempts"] or 0,
            "at": _moment(row["scanned"]),
        }
        for row in rows
    ]
    return {"rows": shown, "every": every, "more": every - len(shown)}


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    return (f"{sentence_start(printable(line)).rstrip('.')}." for line in lines)


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
