"""The content of every report; text, ticket and page only lay it out.

Everything is computed on demand: no format pays for what it does not show.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nagle_scan import _core
from nagle_scan.report import (
    both_ends,
    held,
    hops,
    notices,
    sentences,
    slowest,
    verdicts,
    wireshark,
)
from nagle_scan.report.nodelay import NOT_KNOWN, Answer, answers
from nagle_scan.result import Result
from nagle_scan.words import causes, certainty
from nagle_scan.words.wording import count, endpoint

if TYPE_CHECKING:
    from nagle_scan.report.comparison import ShownComparison
    from nagle_scan.report.fixes import Fix
    from nagle_scan.report.options import Options

MOST_ASKED = 10
"""Worst connections, and longest waits, that the sentences of every format rest on."""
MANY = 100
"""Longest waits that are searched for one of a rare kind."""
ROUNDED_MS = 0.001
"""Durations that differ by no more are the same."""
MOST_URGENT = 2
"""More notices than this would push the verdict off the screen."""
MOST_STALLING_SERVERS = 1000
"""Servers with exchanges that are summed for the cost."""


class Limits(NamedTuple):
    """How many of each fit a format."""

    groups: int = 0
    fixes: int = 0
    connections: int = 0
    servers: int = 0
    compared: int = 0
    waits: int = 0
    sockets: int = 0
    hops: int = 0
    slowest: int = 0


class _Shared:
    """Results of a pass over connections or captures: all reports on a result share them."""

    def __init__(self, result: Result) -> None:
        self.core = result.core
        self.files = result.files

    @cached_property
    def groups(self) -> list[_core.ServerGroupRow]:
        return self.core.groups()

    @cached_property
    def hops(self) -> list[_core.HopRow]:
        return self.core.hops()

    @cached_property
    def longest_waits(self) -> list[_core.WaitRow]:
        return self.core.longest_waits(MOST_ASKED)

    @cached_property
    def many(self) -> list[_core.WaitRow]:
        """More of the longest waits, to find one of a rare kind."""
        return self.core.longest_waits(MANY)

    @cached_property
    def worst(self) -> list[_core.ConnectionRow]:
        return self.core.affected(min(MOST_ASKED, self.core.summary().affected_connections))

    @cached_property
    def first_exchange(self) -> str | None:
        return sentences.first_exchange(self.worst, self.groups)

    @cached_property
    def fixes(self) -> "list[Fix]":
        from nagle_scan.report.fixes import fixes

        is_explained = self.first_exchange is not None
        return fixes(self.groups, self.files, self.core, is_explained)


class View:
    """The contents of a report, the worst first everywhere."""

    def __init__(self, result: Result, limits: Limits, options: "Options") -> None:
        self.result = result
        self.limits = limits
        self.options = options
        self.core = result.core
        self.summary = result.core.summary()
        self.min_wait_ms = result.options.min_wait_ms
        shared = _Shared(result)
        # A capture may be deleted and come back, which changes what can be read again.
        # Reports are written side by side: setdefault is atomic.
        kept: dict[tuple[str, ...], _Shared] = vars(result).setdefault("_shared", {})
        self._shared = kept.setdefault(tuple(shared.files), shared)

    @property
    def groups(self) -> list[_core.ServerGroupRow]:
        """All groups of stalls, the surest first; `limits.groups` are shown."""
        return self._shared.groups

    @property
    def shown_groups(self) -> Sequence[_core.ServerGroupRow]:
        """Groups in the table of groups."""
        return self.groups[: self.limits.groups]

    @property
    def groups_more(self) -> int:
        """Groups that are only counted."""
        return len(self.groups) - len(self.shown_groups)

    def group_table(self, name: Callable[[str], str] = str) -> list[tuple[str, ...]]:
        """Heads, and a row per group if there are several; `name` marks up addresses.

        Without the fix where it is the same for all: the header gives it.
        """
        if len(self.groups) < 2:
            return []
        by_sender = {sender: fix for fix in self._shared.fixes for sender in fix.senders}
        looked_at = (by_sender.get(held.party(group)) for group in self.shown_groups)
        fixes = [fix.in_few_words if fix else "" for fix in looked_at]
        rows = [held.cells(group, name) for group in self.shown_groups]
        if len(set(fixes)) == 1:
            return [held.HEADS, *rows]
        with_fixes = zip([held.HEADS, *rows], ["fix", *fixes], strict=True)
        return [(*row[:-1], fix, row[-1]) for row, fix in with_fixes]

    def sentence(self, group: _core.ServerGroupRow) -> str:
        """Who held what, and whether relays forward it."""
        return f"{held.sentence(group)} {hops.passed_on(group, self._shared.hops)}".rstrip()

    @property
    def names_relays(self) -> bool:
        """Do sentences on stalls say which relays pass them on? Those waits are not other waits."""
        return any(hops.passed_on(group, self._shared.hops) for group in self.groups)

    def sentence_and_option(self, group: _core.ServerGroupRow) -> str:
        """Who held what, and whether TCP_NODELAY is in effect."""
        return f"{self.sentence(group)} {held.option(group)}"

    @cached_property
    def chains(self) -> list[hops.Chain]:
        """Chains of relays, hop by hop."""
        if self.summary.verdict == "inconclusive":
            return []
        return hops.chains(self._shared.hops, self.limits.hops, self.groups)

    @cached_property
    def chains_more(self) -> int:
        """Hops that are not shown."""
        return len(self._shared.hops) - sum(len(chain.hops) for chain in self.chains)

    @property
    def cost(self) -> str:
        """The stalls' share of the latency, and their cost per exchange."""
        points = {row.capture_point for row in self._shared.worst}
        ends = self.core.ends()
        elsewhere = not points.isdisjoint({"server", "between"})
        elsewhere |= ends is not None and ends.first_at == "server"
        rows = self.core.servers(MOST_STALLING_SERVERS)
        stalling = [row for row in rows if row.affected_connections]
        at_most = held.at_most(held.that_count(self.groups))
        return sentences.cost(self.summary, stalling, elsewhere=elsewhere, at_most=at_most)

    @property
    def in_one_line(self) -> str:
        """The verdict for a title; with a baseline, the comparison."""
        if self.comparison is None:
            return verdicts.in_one_line(self.summary)
        said = f"{self.comparison.head.capitalize()}: {self.comparison.text}".removesuffix(".")
        return said + verdicts.mark(self.summary)

    @property
    def plain_words(self) -> str | None:
        """Plain words on the first group, for a reader who has never seen a packet."""
        if not self.groups:
            return None
        return held.in_plain_words(self.groups[0], self._shared.fixes[0].is_split)

    @cached_property
    def connections(self) -> list[_core.ConnectionRow]:
        """Connections with stalls that count."""
        return self.core.affected(min(self.limits.connections, self.summary.affected_connections))

    @property
    def connections_more(self) -> int:
        """Connections with stalls that are not shown."""
        return self.summary.affected_connections - len(self.connections)

    @cached_property
    def servers(self) -> list[_core.ServerRow]:
        """Servers with exchanges."""
        return self.core.servers(self.limits.servers)

    def has_prediction(self, server: _core.ServerRow) -> bool:
        """Would some of its exchanges be faster without stalls, and are they more than a stream?"""
        name = endpoint(server.addr, server.port)
        own = (group for group in self.groups if held.server(group.worst) == name)
        stalls = sum(map(certainty.counted_stalls, own))
        return server.stalled_exchanges > 0 and not certainty.is_stream(server.exchanges, stalls)

    @property
    def servers_more(self) -> int:
        """Servers that are not shown."""
        return max(self.core.server_count() - self.limits.servers, 0)

    @cached_property
    def slowest(self) -> slowest.Slowest | None:
        """The slowest exchanges and the median one, taken apart; `None` where all are quick."""
        return slowest.of(
            self.core, self._shared.longest_waits, self.limits.slowest, self.min_wait_ms
        )

    @property
    def first_exchange(self) -> str | None:
        """Why the first exchange was fast."""
        return self._shared.first_exchange

    @cached_property
    def clearest(self) -> _core.WaitRow | None:
        """The clearest stall of all."""
        return self.core.clearest()

    @property
    def fixes(self) -> "list[Fix]":
        """Changes to make, for each side that holds data."""
        return self._shared.fixes[: self.limits.fixes]

    @property
    def fixes_more(self) -> str:
        """How many sides need a fix that is not shown, and the file that has it; or empty."""
        more = sum(len(fix.senders) for fix in self._shared.fixes[self.limits.fixes :])
        return f"What to change for {count(more, 'more sender')}: -o result.json." if more else ""

    @property
    def fixes_for_readers(self) -> "list[Fix]":
        """Fixes for readers: a remedy that several sides need is explained once."""
        from nagle_scan.report.fixes import each_once

        return each_once(self.fixes)

    def fixes_of(self, senders: Set[str]) -> "list[Fix]":
        """Fixes for these sides, whatever a format shows below."""
        alike = (fix.of(senders) for fix in self._shared.fixes)
        return [fix for fix in alike if fix.senders]

    @cached_property
    def nodelay(self) -> list[Answer]:
        """Is TCP_NODELAY in effect? Empty for an inconclusive capture without evidence."""
        rows = list(answers(self._sockets[0]))[: self.limits.sockets]
        if self.summary.verdict == "inconclusive" and all(row.answer == NOT_KNOWN for row in rows):
            return []
        return rows

    @property
    def nodelay_more(self) -> int:
        """Sockets that are not shown."""
        if not self.nodelay:
            return 0
        rows, total = self._sockets
        return len(list(answers(rows))) - len(self.nodelay) + total - len(rows)

    @cached_property
    def _sockets(self) -> tuple[list[_core.NagleRow], int]:
        return self.core.nagle(MANY)

    @cached_property
    def causes(self) -> list[tuple[_core.CauseRow, str]]:
        """Waits that are not stalls, by cause and side, and what they mean."""
        rows = [row for row in self.core.causes() if not causes.of(row.cause).is_stall]
        return [(row, self.meaning_of(row)) for row in rows]

    def meaning_of(self, row: _core.CauseRow) -> str:
        """The meaning of one cause's waits; where each has its own story, that of the longest."""
        is_one_by_one = row.cause in causes.EXPLAINED_ONE_BY_ONE
        wait = self.longest_of(row) if is_one_by_one or row.cause == "cork" else None
        if wait is None:
            return causes.meaning_of_all(row)
        meaning = causes.meaning_of(wait, self.summary.is_elided)
        return ("in the longest, " if is_one_by_one and row.waits > 1 else "") + meaning

    def longest_of(self, row: _core.CauseRow) -> _core.WaitRow | None:
        """The longest wait of one cause; `None` if it is among too many."""
        return _longest(row, self._shared.longest_waits) or _longest(row, self._shared.many)

    def server_of_longest(self, row: _core.CauseRow) -> str:
        """The server of the longest wait of one cause; empty where there is only one server."""
        wait = _longest(row, self._shared.longest_waits)
        if wait is None or self.core.server_count() < 2:
            return ""
        return wait.sender_end if wait.sender == "server" else wait.receiver_end

    def told_twice_ms(self, row: _core.CauseRow) -> float:
        """How long hosts waited for their servers, while their own clients waited for them."""
        if row.sender == "client" or row.waits < 2:
            return 0.0
        waits = list(_alike(row, self._shared.many))
        return sum(one.wait_ms for one in waits if any(_holds(other, one) for other in waits))

    @property
    def has_other_waits(self) -> bool:
        """Does the capture show where the time went, though nothing stalls?"""
        summary = self.summary
        only_handshakes = not summary.not_judged and bool(self.causes)
        of_some = bool(summary.clean or summary.not_judged_by.keys() - {verdicts.ONE_DIRECTION})
        return only_handshakes or of_some

    @cached_property
    def other_waits(self) -> list[str]:
        """Sentences on connections that are slow to open, and on ACKs that come late."""
        connecting = sentences.connecting(self.core.connecting())
        late = [sentences.late_acks(row, self.summary) for row in self.core.late_acks()]
        return [*([connecting] if connecting else []), *late]

    @cached_property
    def tenth(self) -> "_core.TenthRow":
        """Sums of the slowest tenth of the exchanges, which the engine computes at each call."""
        return self.core.tenth()

    @cached_property
    def waits(self) -> list[tuple[_core.WaitRow, str]]:
        """The longest waits that are not stalls, and what they mean."""
        rows = self.core.longest_waits(self.limits.waits)
        return [(wait, self._meaning(wait)) for wait in rows]

    @property
    def waits_heading(self) -> str:
        """Above the longest waits: an idle client kept nobody waiting, so its waits come last."""
        # A client that paused in the middle of a message was not idle: its wait is not put last.
        idle = any((row.cause, row.sender) == causes.IDLE for row, _ in self.causes)
        longest_ms = {(row.cause, row.sender, row.turn): row.longest_ms for row, _ in self.causes}
        whole = ((wait.wait_ms, (wait.cause, wait.sender, wait.turn)) for wait, _ in self.waits)
        overlap = any(ms - longest_ms.get(kind, ms) > ROUNDED_MS for ms, kind in whole)
        said = ["those of idle clients last"] * idle
        said += ["each whole, where they overlap too"] * overlap
        return "Longest waits" + (f" ({'; '.join(said)})" if said else "")

    def _meaning(self, wait: _core.WaitRow) -> str:
        row = self.core.connection(wait.connection)
        if row is not None and row.hidden == verdicts.ONE_DIRECTION:
            return "only one direction captured: a stall would look the same"
        return causes.meaning_of(wait, self.summary.is_elided)

    @cached_property
    def notices(self) -> list[notices.Notice]:
        """Facts about the capture that a reader must know."""
        return list(notices.of(self.result))

    @cached_property
    def urgent(self) -> list[str]:
        """Notices that must be known before the verdict; without full stops."""
        return [notice.text for notice in self.notices if notice.is_urgent][:MOST_URGENT]

    @cached_property
    def notes(self) -> list[str]:
        """Notices that can wait, and how frames are numbered; without full stops."""
        rest = [notice.text for notice in self.notices if notice.text not in self.urgent]
        return [*rest, *self.numbering]

    @cached_property
    def numbering(self) -> list[str]:
        """Where stream and frame numbers differ from Wireshark's; without full stops."""
        paths = self.result.paths
        said = wireshark.numbering(self.result.options.filter is not None, len(paths))
        return [*said, *filter(None, [both_ends.numbering(self.core, self.result.captures)])]

    @cached_property
    def comparison(self) -> "ShownComparison | None":
        """The comparison with the baseline, if any."""
        if self.options.baseline is None:
            return None
        from nagle_scan.report.comparison import shown

        return shown(self.options, self.result, self.limits.compared)


def _longest(row: _core.CauseRow, waits: Sequence[_core.WaitRow]) -> _core.WaitRow | None:
    """The first of `waits` of this cause, side and turn."""
    return next(_alike(row, waits), None)


def _alike(row: _core.CauseRow, waits: Sequence[_core.WaitRow]) -> Iterator[_core.WaitRow]:
    kind = row.cause, row.sender, row.turn
    return (wait for wait in waits if (wait.cause, wait.sender, wait.turn) == kind)


def _holds(outer: _core.WaitRow, inner: _core.WaitRow) -> bool:
    """Did the server of the one wait within it as the client of another host?"""
    is_between = outer.sender_ip == inner.receiver_ip != outer.receiver_ip
    return is_between and outer.from_ns <= inner.from_ns and inner.to_ns <= outer.to_ns
