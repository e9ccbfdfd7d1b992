"""The engine's columns as pandas tables. pandas is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nagle_scan.system import files

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

FLAGS = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
"""From the lowest bit on (RFC 9293, section 3.1; RFC 3168)."""


def check_installed(*packages: str) -> None:
    """Raises `ImportError` that names those that are missing."""
    missing = files.missing(packages)
    if missing:
        raise ImportError(f"needs {', '.join(missing)}: pip install {' '.join(missing)}")


def table(columns: dict[str, Any], has_dates: bool | None = None) -> pd.DataFrame:
    """A DataFrame of the engine's columns, with a time beside each `_ns` if `has_dates` is told."""
    import pandas as pd

    series: dict[str, object] = {}
    for name, column in columns.items():
        if isinstance(column, tuple):
            is_ordered = name == "confidence"
            series[name] = pd.Categorical.from_codes(column[0], column[1], ordered=is_ordered)
            continue
        series[name] = column
        if has_dates is not None and name.endswith("_ns"):
            series[name.removesuffix("_ns")] = _times(column, has_dates)
    return pd.DataFrame(series, copy=False)


def _times(time_ns: NDArray[np.int64], has_dates: bool) -> pd.DatetimeIndex:
    """The times as dates; `NaT` where they tell no date."""
    import numpy as np
    import pandas as pd

    times = time_ns.view("datetime64[ns]")
    if not has_dates:
        times = np.full(len(time_ns), np.datetime64("NaT", "ns"))
    return pd.DatetimeIndex(times).tz_localize("UTC")


def flags_text(flags: pd.Series[int]) -> pd.Series[Any]:
    """The flags as Wireshark writes them in its info column."""
    import numpy as np
    import pandas as pd

    seen, codes = np.unique(flags.to_numpy(), return_inverse=True)
    words = [
        ", ".join(name for bit, name in enumerate(FLAGS) if value >> bit & 1) or "<None>"
        for value in map(int, seen)
    ]
    return pd.Series(words, dtype="category").take(codes).reset_index(drop=True)
