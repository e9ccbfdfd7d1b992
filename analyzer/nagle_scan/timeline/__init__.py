"""Pictures of a scan: the ladder, the time-sequence graph, the histogram of waits, the overview.

Each takes a scan and the number of a connection. `plots` lay it out in numbers; then it is drawn on
matplotlib `Axes`, or `svg` makes it text for a page, without matplotlib. They decide nothing: the
scan says what is a stall, and which is the clearest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagle_scan.timeline.axes import histogram, ladder, overview, sequence
    from nagle_scan.timeline.picture import svg

__all__ = ["histogram", "ladder", "overview", "sequence", "svg"]

_HOMES = dict.fromkeys(__all__, "axes") | {"svg": "picture"}


def __getattr__(name: str) -> object:
    """Loads matplotlib when the first picture for it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    """The public names, though they are loaded only when they are asked for."""
    return sorted(__all__)
