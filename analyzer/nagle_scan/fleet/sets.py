"""Which files are one capture set, and which of them are still to be scanned."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from operator import attrgetter
from typing import NamedTuple, TypeAlias, TypeVar

from nagle_scan.api import captures as grouping
from nagle_scan.fleet import identity
from nagle_scan.fleet.identity import Located
from nagle_scan.fleet.remote import is_url
from nagle_scan.fleet.work import Capture, Failure, Job, Known, Ledger
from nagle_scan.words.wording import count, printable

LOST_MEMBERS = "grew, but not all files of its set were found"
PACKED = re.compile(r"\.(gz|zst)$", re.IGNORECASE)
Begin: TypeAlias = "tuple[int | None, str]"
"""First frame, and head."""
T = TypeVar("T")
MOST_COPIES = 3
"""That are named; the others are counted."""


class Plan(NamedTuple):
    """What is to be done."""

    jobs: list[Job]
    notes: list[str]
    """What a user must know of the files; printable, without full stops."""
    known_count: int
    """Files that the dataset has already, and that are not scanned again."""
    known_sets: int
    """Sets that they are of."""
    failures: list[Failure]
    """Files that grew, but cannot be scanned again without losing others."""


def plan(captures: Sequence[Capture], known: Ledger) -> Plan:
    """What is new among the captures that were found.

    - A content that is there twice is read once: also if one of both is compressed, or is what the
      other was before it grew. Files without frames are alike: each counts.
    - What the ledger has is known, whatever it is called now, and what it grew from.
    - A known file that was compressed since, under its name with a suffix, may have grown before.
    - A known file that is longer now, with the same first bytes and first frame, grew, also
      if it has another name now and nothing else holds what it was. Its set is scanned again, with
      the new files of its rotation. If a file of that set is neither among `captures` nor where it
      was, or nobody can look there, the old result stays, and a failure says so.
    - Other new files are grouped as `api.captures.rotated` does, ordered by first frame.
    """
    found = _Found(captures, known)
    jobs: list[Job] = []
    failures: list[Failure] = []
    new: dict[str, list[Capture]] = {}
    of_sets: dict[str, list[Capture]] = {}
    for capture in found.fresh:
        set_id = found.set_grown(capture)
        if set_id is None:
            new.setdefault(_rotation(capture), []).append(capture)
        else:
            of_sets.setdefault(set_id, []).append(capture)
    for set_id, grown in of_sets.items():
        members = [found.member(capture) for capture in known.members[set_id]]
        if None in members:
            failures += (Failure(capture.shown, set_id, LOST_MEMBERS, 1) for capture in grown)
            continue
        there = [one for one in members if one is not None]
        together = list(_rotated([*there, *new.get(_rotation(grown[0]), ())]))
        if len(together) == 1:
            there = together[0]
            new.pop(_rotation(grown[0]), None)
        jobs.append(_job(there, replaces=set_id))
    jobs += (_job(members) for same in new.values() for members in _rotated(same))
    again = {capture.shown for job in jobs for capture in job.captures}
    sets = [set_id for name, set_id in found.known.items() if name not in again]
    return Plan(jobs, found.notes, len(sets), len(set(sets)), failures)


class _Found:
    """Captures that were found, beside those that the ledger has."""

    def __init__(self, captures: Sequence[Capture], known: Ledger) -> None:
        self._known = known
        self._by_name = {capture.shown: capture for capture in captures}
        self._moved: dict[str, Capture] = {}
        # Their names may have been given to others since, so `known.at` has not all of them.
        every = [Known(one, set_id) for set_id, members in known.members.items() for one in members]
        self._known_as: dict[Begin, list[Known]] = {}
        for before in every:
            self._known_as.setdefault(_begin_of(before.capture), []).append(before)
        self._longest_known = _longest((before.capture, before) for before in every)
        self._longest_found = _longest((capture, capture) for capture in captures)
        self._by_content: dict[str, Capture] = {}
        # One that the ledger has by name may have grown; its copy must not come before it.
        for capture in sorted(captures, key=lambda one: one.shown not in known.at):
            self._by_content.setdefault(capture.content, capture)
        self._copies: list[str] = []
        self.known: dict[str, str] = {}
        """The set of each that the ledger has, by name."""
        self.fresh = list(self._fresh(captures))

    def _fresh(self, captures: Sequence[Capture]) -> Iterator[Capture]:
        for capture in captures:
            first = self._read_for(capture)
            set_id = self._set_with(capture) or self._set_with(first)
            if set_id is not None:
                self.known[capture.shown] = set_id
            elif capture is first or capture.first_ns is None:
                yield capture
            else:
                self._copies.append(f"{printable(capture.shown)} is {printable(first.shown)} again")

    @property
    def notes(self) -> list[str]:
        """An archive may hold a copy of everything."""
        told = [f"{copy}: read once" for copy in self._copies[:MOST_COPIES]]
        if more := len(self._copies) - len(told):
            told.append(f"{count(more, 'more file')} with the content of another: read once")
        return told

    def _read_for(self, capture: Capture) -> Capture:
        """That of several which is read: itself, or one that has all that it has."""
        if capture.first_ns is None:
            return capture
        plain = self._by_name.get(_plain_name(capture), capture)
        if plain is not capture and plain.first_ns == capture.first_ns:
            return plain
        longest = self._longest_found[_begin_of(capture)]
        return longest if _begins(capture, longest) else self._by_content[capture.content]

    def _set_with(self, capture: Capture) -> str | None:
        if capture.first_ns is not None:
            longest = self._longest_known.get(_begin_of(capture))
            is_older = longest is not None and _begins(capture, longest.capture)
            older = longest.set if longest is not None and is_older else None
            return self._known.set_of.get(capture.content) or older
        before = self._known.at.get(capture.shown)
        is_same = before is not None and before.capture.content == capture.content
        return before.set if before is not None and is_same else None

    def set_grown(self, capture: Capture) -> str | None:
        """The set of a file that grew to be this capture."""
        before = self._known.at.get(capture.shown)
        if before is not None and identity.grew(before.capture, capture):
            return before.set
        plain = self._known.at.get(_plain_name(capture))
        if plain not in (None, before) and plain.capture.first_ns == capture.first_ns:
            self._moved[plain.capture.content] = capture
            return plain.set
        for begin in _begins_of(capture):
            for other in self._known_as.get(begin, ()):
                if identity.grew(other.capture, capture) and self._has_moved(
                    other.capture, capture
                ):
                    return other.set
        return None

    def _has_moved(self, before: Capture, capture: Capture) -> bool:
        """Is it the one that a file became that grew, and has another name this time?"""
        at = before.content
        may_be = before.host == capture.host or _is_hidden(before)
        if at not in self._moved and may_be:
            still = self._still(before)
            # What its old name leads to may be the same file: a link to it, or it to that.
            is_named = before.shown in self._by_name
            if still is None or (not is_named and identity.holds(capture, still)):
                self._moved[at] = capture
        return self._moved.get(at) is capture

    def member(self, before: Capture) -> Capture | None:
        """What a file of a set is now; `None` if it is not there, or another."""
        return self._moved.get(before.content) or self._still(before)

    def _still(self, before: Capture) -> Capture | None:
        """The same, unless it grew and was renamed."""
        now = self._by_name.get(before.shown)
        if now is not None and identity.holds(before, now):
            return now
        if before.first_ns is not None and before.content in self._by_content:
            return self._by_content[before.content]
        if now is not None or before.host or _is_hidden(before):
            return None
        # Not named this time.
        again = identity.of(Located(before.url))
        return again if isinstance(again, Capture) and identity.holds(before, again) else None


def _begin_of(capture: Capture) -> Begin:
    return capture.first_ns, capture.head


def _begins_of(capture: Capture) -> Iterator[Begin]:
    """Those of all files that may have grown to be this one."""
    if capture.first_ns is not None:
        for end in range(0, len(capture.head) + 1, identity.HEAD_DIGITS):
            yield capture.first_ns, capture.head[:end]


def _longest(every: Iterable[tuple[Capture, T]]) -> dict[Begin, T]:
    """By each of its begins the longest. Many captures may have the same first frame."""
    longest: dict[Begin, tuple[int, T]] = {}
    for capture, item in every:
        for begin in _begins_of(capture):
            if begin not in longest or longest[begin][0] < capture.size:
                longest[begin] = capture.size, item
    return {begin: item for begin, (_, item) in longest.items()}


def _begins(capture: Capture, other: Capture) -> bool:
    """Does the other hold all of it, and more? A file too short to have a head is like any."""
    return bool(capture.head) and identity.grew(capture, other)


def _plain_name(capture: Capture) -> str:
    """The name before it was compressed, if it was."""
    return PACKED.sub("", capture.shown)


def _is_hidden(known: Capture) -> bool:
    """Is its name one that stands for another, because of a key? It leads to nothing."""
    return not os.path.isabs(known.url) and not is_url(known.url)


def _rotation(capture: Capture) -> str:
    return grouping.rotated_name(capture.shown)


def _rotated(captures: Sequence[Capture]) -> Iterator[list[Capture]]:
    return grouping.rotated(captures, attrgetter("shown"), attrgetter("first_ns"))


def _job(members: Sequence[Capture], replaces: str = "") -> Job:
    ordered = sorted(members, key=_begin)
    told = sha256()
    for capture in ordered:
        told.update(capture.content.encode())
        if capture.first_ns is None:
            told.update(capture.shown.encode())
    name = grouping.name_of([capture.shown for capture in ordered])
    return Job(told.hexdigest()[: identity.DIGITS], name, tuple(ordered), replaces)


def _begin(capture: Capture) -> float:
    """An empty file is the last of a rotation."""
    return float("inf") if capture.first_ns is None else capture.first_ns
