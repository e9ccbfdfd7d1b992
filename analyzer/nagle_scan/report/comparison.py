"""The comparison with a baseline as reports show it: sentences and table cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.chances import Chances
from nagle_scan.compare import Comparison, Numbers, Outcome, ServerChange, compare
from nagle_scan.words import certainty
from nagle_scan.words.wording import (
    PERCENTILES,
    count,
    duration,
    endpoint,
    file_names,
    percentiles,
)

if TYPE_CHECKING:
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

STATES = {
    "none": "no stall",
    "gone": "no stalls left",
    "slow": "no stall, but slow",
    "hidden": "cannot be judged",
    "untested": "could hardly stall",
    "remain": "stalls remain",
    "worse": "worse",
    "new": "new stalls",
    "possible": "possible stalls only",
    "unseen": "not in this capture",
}
CHANCES = {
    "nodelay": "TCP_NODELAY is in effect on {party} now.",
    "one_write": "What stalled leaves in one piece now: {many} of {party}.",
    "chances": "Of {many} of {party} {like}, none did.",
    "": "No stalls, but too few chances of any: {many} of {party} are {like}.",
}
"""By what shows that stalls are gone."""
MOST_PAIRS = 2
"""The most servers that a sentence names."""
HEADS = ("server", "", "stalls", "lost", "exchanges", *PERCENTILES)
Row = tuple[str, ...]


class ShownComparison(NamedTuple):
    """The comparison that a report shows. Texts are plain; `names` are of files."""

    names: str
    notes: list[str]
    outcome: Outcome
    head: str
    text: str
    table: list[Row]
    """`HEADS`; then each server and what became of it: before, predicted and now."""
    more: int
    predictions: list[str]


def shown(options: Options, result: Result, limit: int) -> ShownComparison:
    """`result` compared with the baseline of `options`, at most `limit` servers."""
    baseline = options.baseline
    assert baseline is not None
    comparison = compare(baseline, result, options.baseline_map)
    servers = comparison.servers[:limit]
    head, text = _outcome(comparison, not result.is_anonymized)
    return ShownComparison(
        file_names(baseline.captures),
        [f"before: {warning}" for _, warning in baseline.warnings],
        comparison.outcome,
        head,
        text,
        [HEADS, *(row for server in servers for row in _rows(server))] if servers else [],
        len(comparison.servers) - len(servers),
        list(_predictions(servers)),
    )


def _outcome(comparison: Comparison, can_map: bool) -> tuple[str, str]:
    """`can_map`: addresses are real, so `--baseline-map` can name them."""
    before, after = comparison.before, comparison.after
    was = certainty.in_words(before) if before.stalls else "no stall"
    now = certainty.in_words(after) if after.stalls else "no stall"
    head, text = {
        "clean": ("CLEAN", "No stall before, none now."),
        "fixed": ("FIXED", f"No stalls left. Before: {was}."),
        "remain": ("STALLS REMAIN", f"Before: {was}. Now: {now}."),
        "worse": ("WORSE", f"Before: {was}. Now: {now}."),
        "possible": ("POSSIBLE", f"Before: {was}. Now: {now}."),
        "inconclusive": ("CANNOT TELL", _unclear(comparison)),
    }[comparison.outcome]
    proofs = _proofs(comparison) if comparison.outcome == "fixed" else ()
    sentences = (text, *proofs, *_paired_by_port(comparison), *_missing(comparison, can_map))
    return head, " ".join(filter(None, sentences))


def _paired_by_port(comparison: Comparison) -> Iterator[str]:
    """Servers taken for others of the baseline, each the only one on its port."""
    pairs = [f"{server.shown} with {server.was}" for server in comparison.servers if server.was]
    if pairs:
        more = f" and {len(pairs) - MOST_PAIRS:,} more" if len(pairs) > MOST_PAIRS else ""
        named = ", ".join(pairs[:MOST_PAIRS])
        yield f"Compared by their port alone: {named}{more} (before)."


def _missing(comparison: Comparison, can_map: bool) -> Iterator[str]:
    """Servers that stalled before and are missing now, and the new ones that they may be."""
    moves = comparison.moves
    unseen = sum(server.state == "unseen" for server in comparison.servers) - len(moves)
    if unseen:
        are = "is" if unseen == 1 else "are"
        yield f"{count(unseen, 'server')} that stalled before {are} missing now."
    for was, now in moves:
        yield f"{was.shown} stalled before and is missing now; {now.shown} is new."
    if moves and can_map:
        pairs = (
            f"--baseline-map {endpoint(*was.place)}={endpoint(*now.place)}" for was, now in moves
        )
        # Without a full stop, to be copied.
        yield f"Same service? {' '.join(pairs)}"


def _unclear(comparison: Comparison) -> str:
    """Why it is unknown whether the stalls are gone."""
    for server in comparison.servers:
        missed = server.missed
        if server.state not in {"slow", "hidden"} or missed is None:
            continue
        which, predicted_ms, now_ms = missed
        latency = "median" if which == "p50" else which
        seen = "No stalls left" if server.state == "slow" else "No stalls visible"
        return (
            f"{seen}, but the {latency} latency of {server.shown} is {duration(now_ms)} instead of "
            f"the predicted {duration(predicted_ms)}: the time is lost elsewhere, or the stalls "
            "are not visible."
        )
    for server in comparison.servers:
        if server.state == "untested" and server.chances:
            return _untested(server, server.chances)
    if any(server.state == "hidden" for server in comparison.servers):
        return "The servers that stalled cannot be judged now."
    if not comparison.before.stalls:
        return "One of the captures is inconclusive."
    is_seen = any(server.before and server.after for server in comparison.servers)
    return "" if comparison.moves or is_seen else "No server of the baseline carries data now."


def _proofs(comparison: Comparison) -> Iterator[str]:
    """Why the first servers that stalled no longer do."""
    for server in comparison.servers[:MOST_PAIRS]:
        if server.chances and server.chances.proof:
            yield _shown_chances(server, server.chances)


def _shown_chances(server: ServerChange, chances: Chances) -> str:
    return CHANCES[chances.proof].format(
        party=f"{'the clients of ' * (chances.sender == 'client')}{server.shown}",
        many=count(chances.chances, "message" if chances.proof == "one_write" else "turn"),
        like=f"like those of which {chances.stalled:,} of {chances.turns:,} stalled",
    )


def _untested(server: ServerChange, chances: Chances) -> str:
    """Why no stall says little, and what would say more."""
    if not chances.is_read:
        return f"What {server.shown} could have held is only known of captures that are files."
    sentences = [_shown_chances(server, chances)]
    if chances.split:
        first, second, frame = chances.split
        then = "an ACK that is delayed will hold the second, unless TCP_NODELAY is set"
        if chances.held_ms:
            then = f"the second was held for {duration(chances.held_ms)}, until the ACK"
        sentences.append(
            f"Still split into {first:,} and {second:,} bytes (frame {frame:,}): {then}."
        )
    return " ".join([*sentences, "Capture several requests on one connection, back to back."])


def _rows(server: ServerChange) -> list[Row]:
    rows = []
    before, after = server.before, server.after
    if before is not None:
        rows.append(("before", *_counts(before), *_latencies(before.latency_ms, before)))
        if before.stalls and before.predicted_ms:
            predicted = _latencies(before.predicted_ms, before)
            rows.append(("predicted", "", "", "", *predicted))
    rows.append(("now", *_counts(after), *_latencies(after.latency_ms if after else (), after)))
    names = [f"{server.shown}: {STATES[server.state]}", *[""] * (len(rows) - 1)]
    return [(name, *row) for name, row in zip(names, rows, strict=True)]


def _counts(numbers: Numbers | None) -> tuple[str, str, str]:
    if numbers is None:
        return ("", "", "")
    stalls = (certainty.counts(numbers), certainty.lost(numbers)) if numbers.stalls else ("0", "-")
    return (*stalls, f"{numbers.exchanges:,}")


def _latencies(latency_ms: Sequence[float], numbers: Numbers | None) -> tuple[str, ...]:
    if numbers is None or not latency_ms:
        return ("",) * len(PERCENTILES)
    return tuple(percentiles(latency_ms, numbers.exchanges))


def _predictions(servers: Sequence[ServerChange]) -> Iterator[str]:
    """Whether the prediction came true."""
    for server in servers:
        if server.prediction is not None:
            predicted_ms, measured_ms = server.prediction
            yield (
                f"Median exchange of {server.shown} without the stalls: "
                f"predicted about {duration(predicted_ms)}, measured {duration(measured_ms)}."
            )
