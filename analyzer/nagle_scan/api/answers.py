"""Answers of a scan, as objects for a notebook: the words are those of the reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nagle_scan import compare as pairs
from nagle_scan.api.written import Written
from nagle_scan.moves import moved
from nagle_scan.report import held, json
from nagle_scan.report.comparison import shown
from nagle_scan.report.options import Options
from nagle_scan.report.view import View
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import PERCENTILES, endpoint, sentence_start

if TYPE_CHECKING:
    import pandas as pd

    from nagle_scan import _core
    from nagle_scan.compare import Numbers, Outcome, ServerChange
    from nagle_scan.report.fixes import Fix
    from nagle_scan.result import Result

SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""The quantiles of `PERCENTILES`."""


@dataclass(frozen=True)
class Summary:
    """The verdict in words and numbers; `str()` gives all words, a line each."""

    verdict: str
    """The verdict, as in `Scan.verdict`."""
    sentence: str
    """The verdict in one line, the headline of the reports."""
    sentences: Sequence[str]
    """The answer: the verdict at length, then cost, fix and rest, if any."""
    notices: Sequence[str]
    """Facts about the capture that a reader must know."""
    packets: int
    connections: int
    exchanges: int
    stalls: int
    stalled_ms: float

    def __str__(self) -> str:
        """All words."""
        notices = [f"note: {notice}." for notice in self.notices]
        return "\n".join([f"{self.sentence}.", *self.sentences, *notices])

    __repr__ = __str__


@dataclass(frozen=True)
class Advice:
    """One thing to change; `str()` gives its text and the settings."""

    text: str
    """Where, what, and at what price."""
    host: str
    """The end to be changed."""
    where: str
    """The program, the socket or the system there."""
    setting: str
    """The setting of the likeliest program, if one is recognised; else empty."""
    settings: Sequence[str]
    """Settings of all programs that it may be, the likeliest first."""
    known_by: str
    """The signs of these programs in the capture; empty without settings."""
    sender: str
    """The end that holds data back."""
    receiver: str
    """The end that sends the ACK it waits for."""

    def __str__(self) -> str:
        """The text, and what to set."""
        known_by = f" ({self.known_by})" if self.known_by else ""
        settings = [f"Set{known_by}:", *(f"  {one}" for one in self.settings)]
        return "\n".join([self.text, *(settings if self.settings else ())])

    __repr__ = __str__


class AdviceList(list[Advice]):
    """All advice, the most rewarding first; `str()` gives one below the other."""

    def __str__(self) -> str:
        """Each in its lines."""
        return "\n\n".join(map(str, self)) or "Nothing to change."

    __repr__ = __str__


@dataclass(frozen=True)
class Comparison(Written):
    """Two scans of a service, before and after a change; `str()` gives the sentence.

    `write` and `render` give the report of the second one, compared with the first: as `.html`,
    `.md`, `.json`, `.png`, `.svg` or `.zip`.
    """

    verdict: Outcome
    """`clean`, `fixed`, `remain`, `worse`, `possible` or `inconclusive`."""
    sentence: str
    """The fate of the stalls, the headline of the reports."""
    predictions: Sequence[str]
    """Whether latencies are what was predicted before."""
    table: pd.DataFrame
    """One row for each server: `server` (text), `state` (category), then `before_` and `after_`:
    `stalls`, `exchanges` (int64), `stalled_ms`, `p50_ms` to `max_ms` (float64, NaN unknown); and
    `predicted_p50_ms` to `predicted_max_ms`, from before, without the stalls."""
    _after: Result
    _options: Options

    def _shown(self, payload: bool) -> tuple[Result, Options]:
        return self._after, self._options._replace(payload=payload)

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from nagle_scan.api import notebook

        return notebook.comparison_html(self.sentence, self.predictions, self.table)


def summary(result: Result) -> Summary:
    """The findings, in the words of the reports."""
    said, counted = json.report(result, Options()), result.core.summary()
    return Summary(
        counted.verdict,
        said["sentence"],
        said["sentences"],
        said["notices"],
        counted.packets,
        counted.connections,
        counted.exchanges,
        counted.stalls,
        counted.stalled_ms,
    )


def advice(result: Result) -> AdviceList:
    """Changes to make, best first, for each kind of stall."""
    return AdviceList(_advice(View(result, json.LIMITS, Options()).fixes))


def _advice(fixes: Sequence[Fix]) -> Iterator[Advice]:
    for fix in fixes:
        for remedy in fix.remedies:
            where = fix.where(remedy)
            change = sentence_start(f"{where}: {remedy.what} {remedy.price}")
            settings = [f"{one.program}: {one.knob}" for one in remedy.settings]
            yield Advice(
                f"{fix.first} {change}".lstrip(),
                fix.receiver if "{receiver}" in remedy.where else fix.sender,
                where,
                settings[0] if settings else "",
                settings,
                remedy.known_by,
                fix.sender,
                fix.receiver,
            )


def findings(result: Result) -> pd.DataFrame:
    """The groups of stalls: see `Scan.findings`."""
    import pandas as pd

    limits = json.LIMITS._replace(groups=sys.maxsize, fixes=sys.maxsize)
    view = View(result, limits, Options())
    places = ["server_addr", "server_port"]
    stalls = result.table("stalls").join(result.table("connections")[places], on="connection")
    waits = stalls.groupby([*places, "sender", "cause"], observed=True)["wait_ms"].median()
    rows = [_finding(view, group, waits) for group in view.groups]
    frame = _typed(pd.DataFrame(rows, columns=list(FINDINGS)))
    for name, words in _categories().items():
        frame[name] = pd.Categorical(frame[name], words, ordered=name == "confidence")
    return frame


FINDINGS = (
    "server",
    "sender",
    "cause",
    "confidence",
    "stalls",
    "clients",
    "wait_ms",
    "stalled_ms",
    "nagle",
    "setting",
    "sentence",
)
"""The columns of `findings`."""


def _categories() -> dict[str, list[str]]:
    return {
        "sender": ["client", "server"],
        "cause": [cause.name for cause in causes.CAUSES],
        "confidence": ["possible", "likely", "certain"],
        "nagle": ["on", "off", "unknown", "switched"],
    }


def _finding(view: View, group: _core.ServerGroupRow, waits: pd.Series[float]) -> list[object]:
    worst = group.worst
    place = (worst.server_ip, worst.server_port, worst.sender, worst.cause)
    return [
        held.server(worst),
        worst.sender,
        worst.cause,
        certainty.shares(group)[0].word,
        group.stalls,
        group.clients,
        waits[place],
        group.stalled_ms,
        group.nagle,
        _setting(view.fixes, held.party(group)),
        view.sentence_and_option(group),
    ]


def _setting(fixes: Sequence[Fix], party: str) -> str:
    """The setting of the likeliest program of a side; empty where none is recognised."""
    remedies = (remedy for fix in fixes if party in fix.senders for remedy in fix.remedies)
    settings = (one for remedy in remedies for one in remedy.settings)
    return next((f"{one.program}: {one.knob}" for one in settings), "")


def compare(before: Result, after: Result, baseline_map: Mapping[str, str] | None) -> Comparison:
    """The fate of the stalls of `before`."""
    import pandas as pd

    known = moved(baseline_map)
    options = Options(before, baseline_map=known)
    comparison = shown(options, after, sys.maxsize)
    changes = pairs.compare(before, after, known).servers
    table = _typed(pd.DataFrame([_change(change) for change in changes], columns=_CHANGES))
    table["state"] = table["state"].astype("category")
    sentence = f"{comparison.head.capitalize()}: {comparison.text}"
    return Comparison(comparison.outcome, sentence, comparison.predictions, table, after, options)


_NUMBERS = ("stalls", "exchanges", "stalled_ms", *(f"{name}_ms" for name in PERCENTILES))
_CHANGES = [
    "server",
    "state",
    *(f"{when}_{name}" for when in ("before", "after") for name in _NUMBERS),
    *(f"predicted_{name}_ms" for name in PERCENTILES),
]


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """The same, with numbers as numbers even in an empty table."""
    counts = [name for name in frame if str(name).endswith(("stalls", "exchanges", "clients"))]
    durations = [name for name in frame if str(name).endswith("_ms")]
    return frame.astype(dict.fromkeys(counts, "int64") | dict.fromkeys(durations, "float64"))


def _change(change: ServerChange) -> list[object]:
    predicted_ms = change.before.predicted_ms if change.before else ()
    numbers = [*_numbers(change.before), *_numbers(change.after)]
    return [change.shown, change.state, *numbers, *_padded(predicted_ms)]


def _numbers(numbers: Numbers | None) -> list[object]:
    if numbers is None:
        return [0, 0, 0.0, *_padded(())]
    counts = [numbers.stalls, numbers.exchanges, numbers.stalled_ms]
    return [*counts, *_padded(numbers.latency_ms)]


def _padded(values_ms: Sequence[float]) -> list[float]:
    return [*values_ms] or [float("nan")] * len(PERCENTILES)


def latency(result: Result, by: str) -> pd.DataFrame:
    """Percentiles of the latency: see `Scan.latency`."""
    import numpy as np

    if by == "server":
        return _latency_by_server(result)
    if by not in ("connection", "client"):
        raise ValueError(f"by is 'server', 'connection' or 'client', not {by!r}")
    table = result.table("exchanges")
    if by == "client":
        clients = result.table("connections")["client_addr"].rename("client")
        table = table.join(clients, on="connection")
    sizes = table.groupby(by, observed=True).size()
    frame = sizes.rename("exchanges").to_frame()
    begins = np.cumsum(sizes.to_numpy()) - sizes.to_numpy()
    for start, column in (("latency", "latency_ms"), ("predicted", "predicted_latency_ms")):
        values = table.sort_values([by, column])[column].to_numpy()
        for name, share in zip(PERCENTILES, SHARES, strict=True):
            # The least one that at least this share does not exceed, as the engine has it.
            ranks = np.ceil(share * sizes.to_numpy()).astype(int)
            frame[f"{start}_{name}_ms"] = values[begins + ranks - 1]
    return frame


def _latency_by_server(result: Result) -> pd.DataFrame:
    import pandas as pd

    table = result.table("servers")
    places = zip(table["addr"], table["port"], strict=True)
    names = [endpoint(addr, int(port)) for addr, port in places]
    columns = [f"{start}_{name}_ms" for start in ("latency", "predicted") for name in PERCENTILES]
    frame = table[["exchanges", *columns]]
    return frame.set_index(pd.Index(names, name="server", dtype=object))
