"""The wishes of whoever asks for a report."""

from typing import NamedTuple

from nagle_scan.result import Pairs, Result


class Options(NamedTuple):
    """The wishes of the caller. A format lists those that it uses in `takes`."""

    baseline: Result | None = None
    """A scan of this service before a change."""
    payload: bool = False
    """Keep the payload of frames."""
    baseline_map: Pairs = ()
    """Servers of the baseline, and what they are now."""

    follows: bool = False
    """A result before it in the same file says how to read both."""

    def given(self) -> list[str]:
        """The options that are set."""
        return [name for name, value in self._asdict().items() if value]
