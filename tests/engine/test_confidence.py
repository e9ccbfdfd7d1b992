"""How sure a stall is follows from the numbers printed with it, and not from what is listed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from conftest import CAPTURES
from nagle_scan import _core
from nagle_scan.api.why import case_of
from nagle_scan.result.options import ScanOptions

LABELLED = sorted((CAPTURES / "labelled").glob("*/*.pcap*"))
WORDS = {"certain": 0.999, "likely": 0.95, "possible": 0.4, "": 0.0}
"""The least probability of each; the empty one is not a stall."""
MOST_BY_CLOCK = re.compile(
    r"(?:more than a probability of |, )(0\.\d+)(?:$| at most by)", re.MULTILINE
)
"""In the sentences of a stall, and in the formula that `--why` prints."""
ONE_OF = 40
"""The terms of one in this many stalls, and of one in as many waits, are read with `Scan.why`."""
EVIDENCE = {
    "ratio (LR)": r"timing is (no likelier|[\d,.]+ times (?:likelier|less likely)) if the kernel",
    "P(on)": r"was on with a probability of ([\d.]+),",
    "share (pi)": r"with Nagle on, ((?:over |under )?\d+) % of such waits are holds",
    "relay": r"would look the same(?: \(|: )probability (\d\.\d+)",
    "probability": r"together: held with a probability of ([\d.]+)",
}
"""The terms, as the sentences of a stall print them."""
Bounds = tuple[float, float]


def scanned(path: Path, min_wait_ms: float) -> _core.Scan:
    return _core.scan_captures([str(path)], ScanOptions(min_wait_ms=min_wait_ms), _core.Progress())


@pytest.fixture(scope="module")
def by_min_wait() -> dict[float, list[_core.Scan]]:
    return {ms: [scanned(path, ms) for path in LABELLED] for ms in (1.0, 10.0)}


def stalls(scan: _core.Scan) -> Iterator[_core.WaitRow]:
    for row in scan.affected(sys.maxsize):
        yield from scan.stalls_of(row.connection, sys.maxsize)


def bounds(printed: str) -> Bounds:
    """The interval of numbers that are rounded to this one."""
    half = 0.5 / 10 ** len(printed.partition(".")[2])
    return float(printed) - half, float(printed) + half


def in_words(name: str, words: str) -> Bounds:
    """The interval of a term as sentences tell it."""
    if name == "share (pi)":
        least, most = bounds(words)
        return least / 100, most / 100
    if name == "ratio (LR)":
        times, _, word = words.partition(" times ")
        least, most = (1 / 1.05, 1.05) if times == "no likelier" else bounds(times.replace(",", ""))
        return (1 / most, 1 / least) if word == "less likely" else (least, most)
    return bounds(words)


def computed(terms: dict[str, Bounds]) -> Bounds:
    """The formula that `--why` prints, for the least and the greatest value of each term."""
    low, high = (
        terms["P(on)"][end]
        * terms["share (pi)"][end]
        * terms["ratio (LR)"][end]
        / (1 - terms["share (pi)"][end] + terms["share (pi)"][end] * terms["ratio (LR)"][end])
        * (1 - terms["relay"][1 - end])
        for end in (0, 1)
    )
    return low, high


def check(terms: dict[str, Bounds], text: str, confidence: str, where: object) -> None:
    """The printed probability is what its terms make of it, and the word agrees with it."""
    least, most = terms["probability"]
    low, high = computed(terms)
    clock = MOST_BY_CLOCK.search(text)
    assert min(low, float(clock[1]) if clock else 1) <= most, where
    assert least <= high, where
    words = list(WORDS)
    surer = [WORDS[word] for word in words[: words.index(confidence)]]
    assert WORDS[confidence] <= most, where
    assert least < min(surer, default=2.0), where


def test_the_probability_of_a_stall_follows_from_the_numbers_in_its_evidence(
    by_min_wait: dict[float, list[_core.Scan]],
) -> None:
    seen = set()
    for path, scan in chain.from_iterable(
        zip(LABELLED, each, strict=True) for each in by_min_wait.values()
    ):
        for row in stalls(scan):
            evidence = "\n".join(row.evidence)
            found = {name: re.search(pattern, evidence) for name, pattern in EVIDENCE.items()}
            terms = {name: in_words(name, match[1]) for name, match in found.items() if match}
            check(terms, evidence, row.confidence, (path, row.frame_to, row.evidence))
            seen.add(row.confidence)
    assert seen == set(WORDS) - {""}


def test_the_probability_of_a_wait_follows_from_the_terms_that_why_prints(
    by_min_wait: dict[float, list[_core.Scan]],
) -> None:
    frames = [
        (path, row.frame_to, row.cause, row.confidence if row.evidence else "")
        for path, scan in zip(LABELLED, by_min_wait[10.0], strict=True)
        for row in [*stalls(scan), *scan.longest_waits(sys.maxsize)]
    ]
    impossible = 0
    for path, frame, cause, confidence in frames[::ONE_OF]:
        case = case_of([str(path)], ScanOptions(threads=1), frame)
        terms = {term.name: term.value for term in case.terms}
        where = (path, frame, str(case))
        assert (case.cause, case.confidence) == (cause, confidence), where
        assert (case.verdict == "held") == bool(confidence), where
        assert "look alike" not in str(case) or case.verdict == "cannot tell", where
        if len(terms) == 1:
            assert (terms["probability"] in {"0", "-"}, case.verdict) == (True, "not held"), where
            impossible += 1
            continue
        values = {name: bounds(terms[name]) for name in EVIDENCE if name in terms}
        check(values, str(case), confidence, where)
        assert f"{case.probability:.5f}" == terms["probability"], where
    assert impossible


Verdicts = dict[tuple[int, str], tuple[str, str, float, list[str]]]


def verdicts_of(scan: _core.Scan, min_wait_ms: float) -> Verdicts:
    return {
        (row.frame_to, row.sender): (row.cause, row.confidence, row.hold_ms, row.evidence)
        for row in stalls(scan)
        if row.hold_ms >= min_wait_ms
    }


def test_listing_shorter_waits_changes_no_longer_ones(
    by_min_wait: dict[float, list[_core.Scan]],
) -> None:
    """Where a wait begins may be seen only with shorter ones, so a few more may be found.

    These teach something of the others, but too little for another word.
    """
    pairs = zip(LABELLED, by_min_wait[1.0], by_min_wait[10.0], strict=True)
    for path, more, fewer in pairs:
        seen = verdicts_of(more, 10.0)
        for key, (*words, _) in verdicts_of(fewer, 10.0).items():
            assert [*seen[key][:-1]] == words, (path, key)
