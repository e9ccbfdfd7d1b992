"""Since when a service loses more time than usual: its hours, and a picture of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from nagle_scan.fleet.rises import EARLIER, RATIO, Cell, rise
from nagle_scan.words.certainty import CONFIDENCES
from nagle_scan.words.wording import duration

SHARP = 0.48
"""Chance from which one hour is named: it is conservative, and holds for nine of ten of these."""
UNDATED = "the captures tell no date"
STEPS = {
    timedelta(hours=1): "an hour",
    timedelta(days=1): "a day",
    timedelta(days=7): "a week",
}
"""Widths of a bar."""
MOST_BARS = 96
"""Four days of hours, three months of days, 22 months of weeks."""
MOST = 0.95
"""Share of the hours that must fit: a broken clock must not make years of a week."""
LEAST_BARS = 24
"""Room for this many: of two, neither is half as wide as the picture."""
BAR, GAP, HEIGHT = 2, 1, 32
"""Measures of a picture, in its own units."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Hour: TypeAlias = Mapping[str, Any]
"""A row of `services.hours`."""


class Trend(NamedTuple):
    """When a service began to lose more than usual."""

    onset: datetime | None
    """The first hour, UTC."""
    note: str
    """The usual loss before, and the hours in which it may have begun; or why none was found."""


def trend(hours: Sequence[Hour]) -> Trend:
    """The trend in the captured hours of one service with stalls, in order; at least one.

    Certain and likely stalls count per exchange: a busier hour is not an onset. An hour without a
    whole exchange (a stream, or the end of one) counts as one exchange. Hours without captures are
    unknown, and left out.
    """
    stalls = [one["stalls_certain"] + one["stalls_likely"] for one in hours]
    exchanges = [max(1, one["exchanges"]) for one in hours]
    cells = [
        Cell(*each) for each in zip(stalls, exchanges, (one["hour"] for one in hours), strict=True)
    ]
    found = rise(cells)
    if found is None or not _lasts(cells[found.place :], found.before):
        return Trend(None, _no_onset(stalls))
    before = f"{found.before:.2g} stalls per exchange" if found.before else "usually nothing"
    note = f"{before} before" + "; one hour so far" * (found.place == len(hours) - 1)
    first = hours[found.first - 1]["hour"] + timedelta(hours=1)
    last = hours[found.last]["hour"]
    if first < last:
        note += f"; between {first:%m-%d %H:%M} and {last:%m-%d %H:%M}"
    return Trend(hours[found.place]["hour"] if found.chance >= SHARP else None, note)


def _lasts(since: Sequence[Cell], before: float) -> bool:
    """A rise that fell again is a peak, and one in a single hour of several is one."""
    busiest = max(since, key=lambda cell: cell.stalls)
    rest = [cell for cell in since if cell is not busiest]
    expected = RATIO * before * sum(cell.exchanges for cell in rest)
    stalls = sum(cell.stalls for cell in rest)
    return not rest or (stalls > expected and rise(since[::-1]) is None)


def no_trend(hours: int) -> Trend:
    """The trend of a service without stalls."""
    return Trend(None, "" if hours else UNDATED)


def _no_onset(stalls: Sequence[int]) -> str:
    first = next((place for place, each in enumerate(stalls) if each), None)
    if first is None:
        return ""
    if first == 0:
        return "since the first capture"
    if first < EARLIER or len(stalls) <= EARLIER:
        return f"fewer than {EARLIER} captured hours before"
    return "now and then; no lasting rise"


class Axis(NamedTuple):
    """The time that the pictures of all services show: the latest that fits."""

    step: timedelta
    begin: datetime
    bars: int

    def place(self, hour: datetime) -> int:
        """The bar of an hour; negative if it is before all."""
        return (hour - self.begin) // self.step

    def shows(self, hour: datetime) -> bool:
        """An hour outside the time that the pictures show has no bar."""
        return 0 <= self.place(hour) < self.bars

    @property
    def width(self) -> int:
        """The width of the picture."""
        return max(self.bars, LEAST_BARS) * (BAR + GAP)

    @property
    def in_words(self) -> str:
        """The axis in words."""
        last = self.begin + (self.bars - 1) * self.step
        ends = " to ".join(f"{end:%Y-%m-%d %H:%M}" for end in (self.begin, last))
        return f"{ends} UTC; a bar is {STEPS[self.step]}"


def axis(hours: Sequence[datetime]) -> Axis:
    """The shortest step that shows most of these hours, of which there is at least one."""
    for step in STEPS:
        end = _floor(max(hours), step)
        shown = [hour for hour in hours if hour >= end - (MOST_BARS - 1) * step]
        if len(shown) >= MOST * len(hours):
            break
    begin = _floor(min(shown), step)
    return Axis(step, begin, (end - begin) // step + 1)


def _floor(hour: datetime, step: timedelta) -> datetime:
    return EPOCH + (hour - EPOCH) // step * step


class Chart(NamedTuple):
    """Time lost per captured hour: bars by confidence, the surest lowest."""

    bars: list[tuple[str, str]]
    """Confidence, and the path of its bars."""
    captured: str
    """The path of a line below all that was captured: a gap is unknown, not clean."""
    onset: int
    """Where it is; -1 if it is not in the picture."""
    label: str


def chart(hours: Sequence[Hour], onset: datetime | None, axis: Axis) -> Chart:
    """The picture of one service."""
    places: dict[int, list[Hour]] = {}
    for hour in hours:
        if axis.shows(hour["hour"]):
            places.setdefault(axis.place(hour["hour"]), []).append(hour)
    means_ms = {
        place: [sum(one[f"lost_ms_{word}"] for one in each) / len(each) for word in CONFIDENCES]
        for place, each in sorted(places.items())
    }
    most_ms = max(map(sum, means_ms.values()), default=0.0)
    bars = [(word, "".join(_bars(means_ms, at, most_ms))) for at, word in enumerate(CONFIDENCES)]
    captured = "".join(f"M{_x(place)} {HEIGHT}h{BAR}v1h-{BAR}z" for place in means_ms)
    at = _x(axis.place(onset)) if onset is not None and axis.shows(onset) else -1
    label = f"Time lost per hour, at most {duration(most_ms)}, {axis.in_words}"
    return Chart([bar for bar in bars if bar[1]], captured, at, label)


def _bars(means_ms: Mapping[int, Sequence[float]], at: int, most_ms: float) -> Iterator[str]:
    for place, each_ms in means_ms.items():
        if each_ms[at] > 0:
            top = HEIGHT - sum(each_ms[: at + 1]) * HEIGHT / most_ms
            yield f"M{_x(place)} {top:.1f}h{BAR}v{each_ms[at] * HEIGHT / most_ms:.1f}h-{BAR}z"


def _x(place: int) -> int:
    return place * (BAR + GAP)
