"""News of the night: told once, and not told where chance explains it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from fleets import BEGIN, capture, hour, opened, written
from nagle_scan.fleet import changes, parquet
from nagle_scan.fleet.changes import Change
from nagle_scan.fleet.folder import Folder

DAY, CLEAN = (1000, 100), (1000, 0)
"""Exchanges and stalls of a day."""


class World:
    """A fleet, day by day."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sets = folder, 0

    def add(self, day: int, exchanges: int, stalls: int, host: str = "", **more: object) -> None:
        """The captures of a day on a host."""
        self.sets += 1
        id = f"{self.sets:032}"
        service = str(more.pop("service", "a:1"))
        end = {"server_addr": "10.0.0.1", "server_port": 1, "set": id}
        sums = hour(24 * day, service, exchanges, stalls, **end)
        at = BEGIN + timedelta(days=day, hours=1)
        row = {"host": host, "first": at, "last": at, "scanned": at, **more}
        written(self.folder, {"sums": sums, "captures": [capture(id, **row)]})

    def news(self) -> list[Change]:
        """News that a run tells now; it is told with that."""
        found = changes.untold(opened(self.folder))
        if found:
            told = parquet.rows("changes", changes.columns(found))
            Folder(str(self.folder)).put("changes", parquet.content("changes", [told]))
        return found

    def nights(self, each: Sequence[tuple[int, int]], begin: int = 0, host: str = "") -> list[str]:
        """News of each night."""
        said = []
        for number, (exchanges, stalls) in enumerate(each, begin):
            self.add(number, exchanges, stalls, host)
            said.append(" ".join(one.change for one in self.news()))
        return said


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "fleet")


NIGHTS: dict[str, tuple[Sequence[tuple[int, int]], Sequence[tuple[int, str]]]] = {
    "new, and as ever": ([DAY] * 4, [(0, "new")]),
    "clean for days": ([CLEAN] * 4 + [(1000, 9)], [(4, "new")]),
    "one stall, and another": ([(1000, 1)] * 4, [(2, "new")]),
    "stalls that are too rare": ([(1000, 1), *[CLEAN] * 7] * 3, []),
    "a night like others": ([DAY] * 4 + [(1000, 130)] * 2, [(0, "new")]),
    "thrice as much": ([DAY] * 5 + [(1000, 300)] * 3, [(0, "new"), (5, "worse")]),
    "one night of more": ([DAY] * 5 + [(1000, 170)] + [DAY] * 3, [(0, "new")]),
    "fewer exchanges": ([DAY] * 5 + [(20, 4)], [(0, "new")]),
    "a long weekend": ([DAY] * 3 + [CLEAN] * 3 + [DAY] * 2, [(0, "new")]),
    "gone": ([DAY] * 3 + [CLEAN] * 6, [(0, "new"), (6, "gone")]),
    "too few exchanges to tell": ([DAY] * 3 + [(2, 0)] * 6, [(0, "new")]),
    "back": ([DAY] * 3 + [CLEAN] * 4 + [DAY], [(0, "new"), (6, "gone"), (7, "new")]),
    "every other day": ([DAY, CLEAN] * 6, [(0, "new")]),
    "it flaps": (
        [DAY] + ([CLEAN] * 4 + [DAY] * 2 + [CLEAN] * 11 + [DAY]),
        [(0, "new"), (4, "gone"), (5, "new"), (17, "gone"), (18, "flaps")],
    ),
}


@pytest.mark.parametrize(("each", "said"), NIGHTS.values(), ids=NIGHTS)
def test_a_change_is_more_than_chance_and_told_once(
    each: Sequence[tuple[int, int]], said: Sequence[tuple[int, str]], world: World
) -> None:
    found = world.nights(each)
    assert [(night, word) for night, word in enumerate(found) if word] == said


def test_one_of_two_hosts_that_is_cured_is_not_gone(world: World) -> None:
    for day in range(8):
        world.add(day, *DAY, host="web-1")
        world.add(day, *(DAY if day < 3 else CLEAN), host="web-2")
        for one in world.news():
            assert (one.change, one.hosts) == ("new", "web-1, web-2")
            assert one.sentence == "new: a:1 loses 4.0 ms per exchange (200 stalls) on web-1, web-2"
    for day in range(8, 12):
        world.add(day, *CLEAN, host="web-2")
        assert "gone" not in [one.change for one in world.news()], "web-1 may still stall"
    for day in range(8, 13):
        world.add(day, *CLEAN, host="web-1")
    assert [one.change for one in world.news()] == ["gone"]


def test_the_second_host_makes_no_news(world: World) -> None:
    """One of twenty that stalls as ever is not news, though all together lose far less."""
    for day in range(3):
        for host in range(20):
            world.add(day, 100, 90 * (host == 3), host=f"web-{host}")
            assert len(world.news()) == ((day, host) == (0, 3))


def test_a_host_that_stops_capturing_is_told_once_at_its_own_rhythm(world: World) -> None:
    for day in range(30):
        world.add(day, *CLEAN, host="daily")
        if day % 7 == 0 and day < 15:
            world.add(day, *CLEAN, host="weekly")
        if day < 5:
            world.add(day, *CLEAN, host="h07")
        for one in world.news():
            assert one.sentence == "silent: h07: no capture since 2026-11-24"
            assert day == 7


def test_odd_clocks_and_late_captures_make_no_news(world: World) -> None:
    world.nights([DAY] * 3 + [CLEAN] * 5)
    world.add(7, *DAY, first=BEGIN + timedelta(days=40))
    later = BEGIN + timedelta(days=40)
    written(
        world.folder,
        {
            "sums": hour(24 * 40, "a:1", *DAY, set="late"),
            "captures": [
                capture("late", first=later, last=later, scanned=BEGIN + timedelta(days=9))
            ],
        },
    )
    world.add(1, *DAY)
    assert [one.change for one in world.news()] == ["new"]  # that of day 7
    assert world.news() == []


def test_a_name_that_is_given_later_splits_no_history(world: World) -> None:
    assert world.nights([DAY] * 3) == ["new", "", ""]
    world.add(3, *DAY, service="payments")
    assert world.news() == []


def test_noisy_nights_of_a_hundred_steady_services_are_no_news() -> None:
    chance = Random(7)
    found = 0
    for _ in range(100):
        days, share = [], chance.choice([0.01, 0.05, 0.2])
        told = changes.Told("new", BEGIN.date(), "", 100, 1000)
        for number in range(20):
            stalls = 4000 * share * chance.lognormvariate(0, 0.25)
            day = BEGIN.date() + timedelta(days=number)
            days.append(changes.Day(day, "", round(stalls), 40.0 * stalls, 4000))
            found += changes._changed(days, [told]) is not None
    assert found <= 3
