"""The answer on the first screen: the same four items in every report."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan.report import held, sentences, verdicts
from nagle_scan.words.wording import sentence_start

if TYPE_CHECKING:
    from nagle_scan.report.view import View


class Item(NamedTuple):
    """A head in lower case, and one or two sentences."""

    head: str
    text: str


def of(view: "View") -> list[Item]:
    """The verdict; then cost, fix and rest, where there is something to say."""
    return [Item(head, text) for head, text in _items(view) if text]


def _items(view: "View") -> Iterator[tuple[str, str]]:
    summary = view.summary
    if summary.verdict == "clean":
        said = verdicts.clean(summary, view.min_wait_ms)
        yield "clean", f"{said} {verdicts.clean_means(summary)}"
    elif not summary.stalls:
        yield "inconclusive", sentence_start(verdicts.why_not(summary))
        yield "fix", verdicts.capture_instead(summary)
        if not summary.not_judged:
            other = sentences.rest(summary, [row for row, _ in view.causes])
            yield "rest", f"{sentences.handshakes(view.core)} {other}".strip()
        return
    else:
        yield summary.verdict, _verdict(view)
        yield "cost", view.cost
        yield "fix", _fix(view)
    other = sentences.rest(summary, [row for row, _ in view.causes])
    yield "rest", f"{other} {view.not_judged}".strip()


def _verdict(view: "View") -> str:
    if len(view.groups) > 1:
        return held.sum_sentence(view.groups)
    return view.sentence(view.groups[0])


def _fix(view: "View") -> str:
    """The first remedy; and whether TCP_NODELAY is in effect, unless it is a matter of ifs."""
    fix, group = view.fixes[0], view.groups[0]
    is_sure = held.word(group) == "stalls" and not fix.first
    option = held.option(group) if is_sure else ""
    return f"{fix.in_short} {option}".strip()
