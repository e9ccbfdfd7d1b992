"""Pictures of a scan: the ladder, the time-sequence graph, the histogram of waits, the overview.

Each takes a scan and the number of a connection, and gives matplotlib `Axes`; `svg` makes a picture
text for a page. They decide nothing: the scan says what is a stall, and which is the clearest.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagle_scan.timeline.picture import svg
    from nagle_scan.timeline.plots.histogram import histogram
    from nagle_scan.timeline.plots.ladder import ladder
    from nagle_scan.timeline.plots.overview import overview
    from nagle_scan.timeline.plots.sequence import sequence

__all__ = ["histogram", "ladder", "overview", "sequence", "svg"]

# Not `timeline.ladder`: importing a module of that name would hide the function.
_HOMES = {name: f"plots.{name}" for name in __all__} | {"svg": "picture"}


def __getattr__(name: str) -> object:
    """Loads matplotlib when the first picture is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    """The public names, though they are loaded only when they are asked for."""
    return sorted(__all__)
