"""`-o ticket.md`: the findings in under 60 lines of Markdown, for GitHub, GitLab and Jira."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from nagle_scan import _core
from nagle_scan.advice import Setting
from nagle_scan.messages import split
from nagle_scan.report import header, held, sections, verdicts, wireshark
from nagle_scan.report.ascii_ladder import ladder
from nagle_scan.report.comparison import ShownComparison
from nagle_scan.report.markup import code, escaped, table
from nagle_scan.report.options import Options
from nagle_scan.report.sections import Block, Head, Step, Table
from nagle_scan.report.view import Limits, View
from nagle_scan.result import Result
from nagle_scan.system import files
from nagle_scan.words.wording import count, file_name

LIMITS = Limits(
    groups=4, fixes=1, connections=2, servers=2, compared=2, waits=5, sockets=2, hops=7, slowest=3
)  # fmt: skip
MAX_NOTES = 2
MAX_REASONS = 3
MAX_NAMES = 3


def write(result: Result, path: str, options: Options) -> None:
    """Writes the ticket. Raises `OutputError`."""
    view = View(result, LIMITS, options)
    files.replace(path, ("\n".join(_lines(view)) + "\n").encode())


def _lines(view: View) -> Iterator[str]:
    if view.comparison is not None:
        yield from _comparison(view.comparison)
    yield f"## {verdicts.in_one_line(view.summary)}"
    answer = header.of(view)
    yield from _answer(view, answer)
    if view.summary.stalls:
        yield from _stalls(view)
    elif view.summary.verdict == "clean":
        yield from _clean(view, header.said(answer))
    yield from _notes([notice.text for notice in view.notices])
    yield ""
    yield _versions(view.result, view.summary)


def _answer(view: View, answer: Sequence[header.Item]) -> Iterator[str]:
    """Verdict, cost, fix and rest."""
    verdict, *others = answer
    yield f"- {_marked(view, verdict.text)}"
    yield from (f"- {item.head.capitalize()}: {_marked(view, item.text)}" for item in others)


def _stalls(view: View) -> Iterator[str]:
    marks = _marks(view)
    yield from _laid_out(sections.groups(view, marks))
    if view.clearest is not None:
        yield from _clearest(view, view.clearest)
    for fix in view.fixes:
        yield from _laid_out(sections.fix(fix, marks))
    yield from _laid_out(sections.nodelay(view, marks))
    yield from _laid_out(sections.chains(view, marks))
    if len(view.groups) == 1:
        yield from _laid_out(sections.connections(view, marks))
    # The hops have their latency beside them.
    if not view.chains:
        yield from _laid_out(sections.latencies(view, marks))
    if view.clearest is not None and not view.summary.is_text:
        yield from _wireshark(view, view.clearest)


def _clean(view: View, said: str) -> Iterator[str]:
    marks = _marks(view)
    yield from _laid_out(sections.chains(view, marks))
    yield from _laid_out(sections.latencies(view, marks))
    yield from _laid_out(sections.slowest(view, marks))
    if view.waits:
        yield from _laid_out(sections.waits(view.waits_heading, view.waits, marks, said))
    yield from (f"{escaped(sentence)}\n" for sentence in view.other_waits)


def _laid_out(blocks: Iterable[Block]) -> Iterator[str]:
    before: Block = ""
    for block in blocks:
        match block:
            case Head(words, note):
                yield f"### {words}{f' ({note})' if note else ''}"
            case Step(number, words, known_by, settings):
                yield f"{number}. {words}"
                yield from ([f"   {known_by}"] if known_by else [])
                yield from (f"   - {one}" for one in settings)
            case Table(rows):
                # A row right below a list would belong to it.
                yield from ["", *table(rows)] if isinstance(before, str) else table(rows)
            case words if words:
                yield f"- {words}"
        before = block


def _marked(view: View, text: str) -> str:
    """`text` with its addresses as code: Markdown would make emoji of `:100:`."""
    text = escaped(text)
    pairs = [group.worst for group in view.groups]
    ends = [addr for pair in pairs for addr in (pair.sender_addr, pair.receiver_addr)]
    servers = [held.server(pair) for pair in pairs]
    for address in dict.fromkeys((*servers, *ends)):
        # Skip addresses that are code already.
        whole = rf"(?<![\w.:`\[]){re.escape(escaped(address))}(?![\w`]|:[\w:]|\.\d)"
        text = re.sub(whole, code(address), text)
    return text


def _clearest(view: View, stall: _core.WaitRow) -> Iterator[str]:
    yield f"### The clearest stall is {stall.confidence}"
    yield from ("```text", *ladder(stall), "```")
    for said in split.describe(view.result.files, [stall])[0]:
        yield f"- {escaped(said)}."
    yield from (f"- {escaped(reason)}." for reason in stall.evidence[:MAX_REASONS])
    if view.plain_words is not None:
        yield f"- {_marked(view, view.plain_words)}"
    yield ""


def _setting(setting: Setting) -> str:
    """Its source is a link: escaped, an underscore in an address would break it in Jira."""
    note = f"{escaped(setting.note)}; " if setting.note else ""
    knob, source = escaped(f"{setting.program}: {setting.knob}"), escaped(setting.label)
    return f"{knob} ({note}[{source}]({setting.address}))"


def _marks(view: View) -> sections.Marks:
    """Wireshark counts other streams than a scan with a filter."""
    stream = "tcp.stream" if view.result.options.filter is None else "stream"
    return sections.Marks(code, lambda text: escaped(text.replace("tcp.stream", stream)), _setting)


def _wireshark(view: View, stall: _core.WaitRow) -> Iterator[str]:
    first, last = stall.frame_from, stall.frame_to
    yield "### See it in Wireshark"
    yield f"- in the capture: {code(wireshark.display_filter(stall))}"
    if view.result.can_be_read_again:
        evidence = code(wireshark.evidence_filter(stall))
        yield f"- in `evidence.pcapng` of `-o ticket.zip`, which numbers frames anew: {evidence}"
    merged = ""
    if len(view.result.captures) > 1:
        merged = "Frame and stream numbers count across all files: merge them first (`mergecap`). "
    yield (
        f"- {merged}Frame {first} is not acknowledged before frame {stall.frame_ack} (`tcp.len` is "
        f"{stall.len_ack}); frame {last} leaves {stall.release_ms:.3f} ms later. Useful columns: "
        "`frame.time_delta_displayed`, `tcp.len`, `tcp.analysis.acks_frame`, "
        "`tcp.analysis.ack_rtt`."
    )


def _comparison(shown: ShownComparison) -> Iterator[str]:
    yield f"# {shown.head}: {escaped(shown.text)} (before: {code(shown.names)})"
    if shown.table:
        yield from table([tuple(map(escaped, row)) for row in shown.table])
    yield from (f"- {escaped(prediction)}" for prediction in shown.predictions)
    if shown.predictions or not shown.table:
        yield ""


def _notes(notes: Sequence[str]) -> Iterator[str]:
    yield from (f"- note: {escaped(note)}." for note in notes[: MAX_NOTES - 1])
    if notes[MAX_NOTES - 1 :]:
        more = len(notes) - MAX_NOTES
        others = f" ... and {count(more, 'more note')}" if more > 0 else ""
        yield f"- note: {escaped(notes[MAX_NOTES - 1])}.{others}"


def _versions(result: Result, summary: _core.Summary) -> str:
    names = ", ".join(code(file_name(name)) for name in result.captures[:MAX_NAMES])
    more = f" and {len(result.captures) - MAX_NAMES} more" * (len(result.captures) > MAX_NAMES)
    if result.options.filter is not None:
        # It may name addresses.
        shown = "of this scan" if result.is_anonymized else code(result.options.filter)
        more += f" with the filter {shown}"
    packets, connections = summary.packets, summary.connections
    return (
        f"nagle-scan {_core.VERSION}, capture {names}{more}: {count(packets, 'packet')}, "
        f"{count(connections, 'TCP connection')}."
    )
