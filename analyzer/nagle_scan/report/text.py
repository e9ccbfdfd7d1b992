"""The terminal report: the verdict, the connections, the clearest stall, what to change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nagle_scan import _core
from nagle_scan.report import header, sections, verdicts
from nagle_scan.report.sections import PLAIN, SPARE_OF_LATENCIES, Block, Head, Step, Table
from nagle_scan.report.stall_frames import frames
from nagle_scan.report.view import Limits, View
from nagle_scan.system.terminal import Style
from nagle_scan.words.wording import count, printable

if TYPE_CHECKING:
    from nagle_scan.report.comparison import ShownComparison
    from nagle_scan.report.options import Options
    from nagle_scan.result import Result

LIMITS = Limits(
    groups=10, fixes=2, connections=10, servers=5, compared=10, waits=5, sockets=6, hops=12,
    slowest=3,
)  # fmt: skip


def render(result: Result, style: Style, options: Options) -> str:
    """The whole report, without a final newline."""
    view = View(result, LIMITS, options)
    parts = [_header(view.summary, result.captures, style)]
    parts += _notices(view.urgent, style)
    if view.comparison is not None:
        parts += _comparison(view.comparison, style)
    answer = header.of(view)
    said = header.said(answer)
    # Verdict, cost, fix and rest, on the first screen.
    parts += ["", *items([(item.head.upper(), item.text) for item in answer], style)]
    if view.summary.stalls:
        parts += _stalls(view, said, style)
    elif view.summary.verdict == "clean" or view.has_other_waits:
        parts += _rest(view, said, style)
    if view.notes:
        parts += ["", *_notices(view.notes, style)]
    return "\n".join(parts)


def in_one_line(result: Result, options: Options) -> str:
    """The verdict, or the comparison with the baseline."""
    return View(result, LIMITS, options).in_one_line


def _header(summary: _core.Summary, paths: Sequence[str], style: Style) -> str:
    names = printable(", ".join(paths[:3])) + (f" and {len(paths) - 3} more" * (len(paths) > 3))
    counts = (
        f"{count(summary.packets, 'packet')}, {count(summary.connections, 'TCP connection')}, "
        f"{count(summary.exchanges, 'exchange')}"
    )
    return title(f"{names}: {counts}", style, verdicts.mark(summary))


def title(about: str, style: Style, mark: str = "") -> str:
    """The first line of a report: the version, and what was scanned."""
    said = style.wrapped(f"nagle-scan {_core.VERSION}{mark}: {about}", "  ")
    return f"{style.faint}{said}{style.end}"


def _notices(notices: Sequence[str], style: Style) -> Iterator[str]:
    for notice in notices:
        lines = style.wrapped(f"note: {notice}.", "      ")
        yield lines.replace("note:", f"{style.bold}note:{style.end}", 1)


def items(pairs: Sequence[tuple[str, str]], style: Style) -> Iterator[str]:
    """Heads, of one width, and their texts."""
    colours = {"STALLS": style.bad, "STALLS, MINOR": style.bad, "CLEAN": style.good}
    width = max(len(head) for head, _ in pairs)
    for head, text in pairs:
        yield style.headed(head.ljust(width), colours.get(head, style.bold), text)


def _stalls(view: View, said: str, style: Style) -> Iterator[str]:
    yield from laid_out(sections.groups(view, PLAIN), style)
    if view.clearest is not None:
        yield from clearest(view.clearest, style)
    if view.plain_words is not None:
        yield "\n" + style.wrapped(view.plain_words, "")
    for fix in view.fixes_for_readers:
        yield from laid_out(sections.fix(fix, PLAIN), style)
        if fix.test_well:
            yield "\n" + style.wrapped(f"  {fix.test_well}", "  ")
    if view.fixes_more:
        yield f"\n{view.fixes_more}"
    if view.first_exchange is not None:
        yield "\n" + style.wrapped(f"  {view.first_exchange}", "  ")
    yield from laid_out(sections.nodelay(view, PLAIN), style)
    yield from _exchanges(view, style)
    yield from laid_out(sections.connections(view, PLAIN), style)
    if view.summary.verdict == "possible":
        yield from _other_waits(view, said, style)


def _rest(view: View, said: str, style: Style) -> Iterator[str]:
    """Sections worth seeing without a stall."""
    yield from _exchanges(view, style)
    yield from _other_waits(view, said, style)
    yield from laid_out(sections.nodelay(view, PLAIN), style)


def _exchanges(view: View, style: Style) -> Iterator[str]:
    for section in (sections.chains, sections.latencies, sections.slowest):
        yield from laid_out(section(view, PLAIN), style)


def _other_waits(view: View, said: str, style: Style) -> Iterator[str]:
    if not view.waits:
        yield f"\nNo other wait was longer than {view.min_wait_ms:g} ms beyond the round trip."
        return
    yield from laid_out(sections.causes(view, PLAIN), style)
    said += " ".join(meaning for _, meaning in view.causes)
    yield from laid_out(sections.waits(view.waits_heading, view.waits, PLAIN, said), style)


def laid_out(blocks: Iterable[Block], style: Style) -> Iterator[str]:
    """Blocks of sections for a terminal."""
    for block in blocks:
        match block:
            case Head(words, note):
                head = style.wrapped(f"{words} ({note})" if note else words, "")
                yield f"\n{style.bold}{head[: len(words)]}{style.end}{head[len(words) :]}\n"
            case Step(number, words, known_by, settings):
                yield style.wrapped(f"  {number}. {words}", "     ")
                if known_by:
                    yield style.wrapped(f"     {known_by}", "     ")
                yield from (style.wrapped(f"     - {one}", "       ") for one in settings)
            case Table(rows, spare):
                yield from style.table(rows, spare)
            case words:
                yield style.wrapped(f"  {words}", "  ")


def clearest(stall: _core.WaitRow, style: Style) -> Iterator[str]:
    """A stall, frame by frame, and its evidence."""
    yield f"\n{style.bold}The clearest stall{style.end} (tcp.stream {stall.connection})\n"
    rows = [("frame", "time", "from", "to", "payload", "")]
    rows += [
        (
            str(frame.frame),
            f"{frame.after_ms:.3f} ms",
            frame.sender,
            frame.receiver,
            f"{frame.length:,} B",
            frame.what,
        )
        for frame in frames(stall)
    ]
    yield from style.table(rows, ("to",))
    yield f"\n  Why this is {stall.confidence}:"
    for reason in stall.evidence:
        yield style.wrapped(f"  - {reason}.", "    ")


def _comparison(shown: ShownComparison, style: Style) -> Iterator[str]:
    colours = {
        "clean": style.good,
        "fixed": style.good,
        "inconclusive": style.bold,
        "possible": style.bold,
    }
    colour = colours.get(shown.outcome, style.bad)
    yield "\n" + style.headed(shown.head, colour, shown.text)
    yield style.wrapped(f"(before: {shown.names})", " ")
    yield from (style.wrapped(f"note: {note}.", "      ") for note in shown.notes)
    if shown.table:
        yield "\n" + "\n".join(style.table(shown.table, SPARE_OF_LATENCIES))
    if shown.more:
        yield f"  ... and {shown.more} more (see -o result.json)"
    yield from ("\n" + style.wrapped(prediction, "") for prediction in shown.predictions)
