"""The answer on the first screen: the same items in every report."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.report import held, sentences, slowest, verdicts
from nagle_scan.words import certainty
from nagle_scan.words.wording import sentence_start

if TYPE_CHECKING:
    from nagle_scan.report.view import View

OF_CALLS = "calls", "proven", "option"
"""Items that a trace of system calls adds."""


class Item(NamedTuple):
    """A head in lower case, and one or two sentences."""

    head: str
    text: str


def of(view: "View") -> list[Item]:
    """The verdict; then cost, fix, open and rest, where there is something to say."""
    return [Item(head, text) for head, text in _items(view) if text]


def said(items: Iterable[Item]) -> str:
    """All of their sentences."""
    return " ".join(item.text for item in items)


def _items(view: "View") -> Iterator[tuple[str, str]]:
    yield from _judged(view)
    if view.core.ends() is not None:
        from nagle_scan.report import both_ends

        yield "seen", both_ends.seen(view.core, view.result.captures)


def _judged(view: "View") -> Iterator[tuple[str, str]]:
    summary = view.summary
    if summary.verdict == "clean":
        yield "clean", verdicts.clean(summary, view.min_wait_ms)
        yield from verdicts.clean_means(view.core, view.min_wait_ms)
    elif not summary.stalls:
        yield "inconclusive", sentence_start(verdicts.why_not(summary))
        yield "fix", verdicts.capture_instead(summary)
        yield "open", sentences.in_vain(_causes(view), view.longest_of, view.meaning_of)
        known: list[str] = []
        if not summary.not_judged:
            known = [sentences.handshakes(view.core), _rest(view)]
        elif summary.clean:
            known = [sentences.known_besides(summary), _tail(view), _rest(view)]
        yield "rest", " ".join(filter(None, known))
        return
    else:
        yield verdicts.heading(summary).lower(), _verdict(view)
        yield "cost", view.cost
        yield "fix", _fix(view)
    if (traced := view.core.calls()) is not None:
        from nagle_scan.report import calls

        yield from calls.items(view, traced)
    yield "open", sentences.in_vain(_causes(view), view.longest_of, view.meaning_of)
    tail = "" if summary.stalls else _tail(view)
    unasked, not_judged = sentences.unasked(summary), verdicts.not_judged(summary)
    rest = tail, _rest(view), sentences.stale_requests(view.core), unasked, not_judged
    yield "rest", " ".join(filter(None, rest))


def _tail(view: "View") -> str:
    return slowest.dominated(view.tenth, view.min_wait_ms)


def _rest(view: "View") -> str:
    rows = [row for row in _causes(view) if not sentences.is_in_vain(row)]
    about = view.meaning_of, view.server_of_longest, view.told_twice_ms
    return sentences.rest(view.summary, rows, *about)


def _causes(view: "View") -> list[_core.CauseRow]:
    are_named = view.names_relays
    return [row for row, _ in view.causes if not (are_named and row.cause == "passed_on")]


def _verdict(view: "View") -> str:
    if len(view.groups) > 1:
        return held.sum_sentence(view.groups)
    return view.sentence(view.groups[0])


def _fix(view: "View") -> str:
    """The first remedy for every side that the verdict names.

    If a single side stalls for sure, with a single server, the fix also says whether TCP_NODELAY is
    in effect there.
    """
    from nagle_scan.report.fixes import in_short

    named = held.that_count(view.groups)
    senders = dict.fromkeys(map(held.party, named))
    fixes = view.fixes_of(senders.keys())
    first = fixes[0]
    is_one = len({(held.party(group), held.server(group.worst)) for group in named}) == 1
    is_sure = not (certainty.is_only_possible(named[0]) or first.proxies or first.is_nothing)
    return f"{in_short(fixes)} {held.option(named[0]) if is_one and is_sure else ''}".strip()
