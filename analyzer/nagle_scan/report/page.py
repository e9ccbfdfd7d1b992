"""The parts that only the page shows: the connections in detail, the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.messages import split
from nagle_scan.report import header, pictures, sections, sentences, verdicts, wireshark
from nagle_scan.report.options import Options
from nagle_scan.report.pictures import Picture
from nagle_scan.report.view import Limits, View
from nagle_scan.words.wording import PERCENTILES, file_name, printable

if TYPE_CHECKING:
    from nagle_scan.result import Result

LIMITS = Limits(
    groups=20, fixes=2, connections=200, servers=15, compared=10, waits=20, sockets=12, hops=20,
    slowest=10,
)  # fmt: skip
PAPER = Limits(
    groups=20, fixes=2, connections=10, servers=5, compared=10, waits=5, sockets=5, hops=20
)  # fmt: skip
"""Limits that fit on six sheets."""
PAPER_DETAILS = 1
"""Connections in detail that fit on them, too."""
WAITS = {"clean": "Where the time went instead", "inconclusive": "What can be seen"}
"""Headings of the waits without a stall, by verdict."""
MAX_CAPTURES = 3
"""Captures that the head of the page names."""
MAX_IN_DETAIL = 10
"""Connections with a part of their own."""
MAX_STALLS = 3
"""Stalls of each that are shown frame by frame."""


class Detail(NamedTuple):
    """A connection with its clearest stalls."""

    row: _core.ConnectionRow
    stalls: Sequence[_core.WaitRow]
    messages: Sequence[str]
    """Where the message of the clearest stall was split."""
    pictures: Sequence[Picture]


class Page(View):
    """Everything that the templates show; they only lay it out."""

    percentiles = PERCENTILES
    paper = PAPER
    details_on_paper = PAPER_DETAILS
    without_stalls = sentences.WITHOUT_STALLS
    opened = pictures.IN_FULL
    is_of_one = False

    def __init__(self, result: Result, options: Options) -> None:
        super().__init__(result, LIMITS, options)
        self.title = self.in_one_line
        self.header = header.of(self)
        self.mark = verdicts.mark(self.summary)
        self.word = verdicts.heading(self.summary)
        self.not_judged = verdicts.not_judged(self.summary)
        self.waits_head = WAITS.get(self.summary.verdict, "Other waits")
        self.captures = [_name(path) for path in result.captures[:MAX_CAPTURES]]
        self.captures_more = max(len(result.captures) - MAX_CAPTURES, 0)
        self.begin = _time(self.summary.first_ns, self.summary.has_dates)
        self.end = _time(self.summary.last_ns, self.summary.has_dates)
        # Printed text does not say in which zone its times are.
        self.zone = "" if self.summary.is_text else " UTC"
        self._pictures = self._drawn()
        is_longest = any(
            picture.wanted.caption == pictures.LONGEST_WAIT for picture in self.pictures
        )
        self.drawn_head = "The longest wait" if is_longest else "What happens on the wire"

    @cached_property
    def explained(self) -> list[tuple[_core.WaitRow, str]]:
        """The longest waits, below those by cause."""
        said = " ".join(meaning for _, meaning in self.causes)
        return list(sections.once(self.waits, said))

    def _drawn(self) -> list[Picture]:
        """All pictures, the most important first, since space is limited."""
        in_detail = self.connections[:MAX_IN_DETAIL]
        wanted = [*pictures.in_detail([row.connection for row in in_detail], self.clearest)]
        if self.summary.verdict != "inconclusive":
            wanted = [*pictures.at_top(self.core, self.clearest), *wanted]
        numbers = dict.fromkeys(one.connection for one in wanted)
        rows = (self.core.connection(number) for number in numbers if number is not None)
        self.result.keep_segments(filter(None, rows))
        return list(pictures.drawn(self.result, wanted))

    @property
    def pictures(self) -> list[Picture]:
        """Pictures for all readers."""
        return [picture for picture in self._pictures if picture.wanted.at_top]

    @property
    def notes_of_capture(self) -> list[str]:
        """All notices, without full stops."""
        return [notice.text for notice in self.notices]

    @cached_property
    def details(self) -> list[Detail]:
        """The worst connections, each with its clearest stalls."""
        rows = self.connections[:MAX_IN_DETAIL]
        stalls = [self.core.stalls_of(row.connection, MAX_STALLS) for row in rows]
        messages = split.describe(self.result.files, [clearest[0] for clearest in stalls])
        return [
            Detail(row, stalls_of, messages_of, self._pictures_of(row.connection))
            for row, stalls_of, messages_of in zip(rows, stalls, messages, strict=True)
        ]

    def _pictures_of(self, connection: int) -> list[Picture]:
        return [
            picture
            for picture in self._pictures
            if picture.wanted.connection == connection and not picture.wanted.at_top
        ]

    @property
    def detailed(self) -> frozenset[int]:
        """The connections among `details`."""
        return frozenset(detail.row.connection for detail in self.details)

    @property
    def display_filter(self) -> str | None:
        """For Wireshark: the clearest stall; none of a text, which Wireshark does not open."""
        if self.clearest is None or self.summary.is_text:
            return None
        return wireshark.display_filter(self.clearest)


class ConnectionPage(Page):
    """The page of a capture, with one connection in detail, whichever it is."""

    is_of_one = True

    def __init__(self, result: Result, row: _core.ConnectionRow) -> None:
        self.connections = [row]
        super().__init__(result, Options())


def _name(path: str) -> str:
    return "standard input" if path == "-" else printable(file_name(path))


def _time(time_ns: int, has_date: bool) -> str:
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    date = f"{moment:%Y-%m-%d} " if has_date else ""
    return f"{date}{moment:%H:%M:%S}.{rest_ns // 1_000_000:03d}"
