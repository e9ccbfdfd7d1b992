"""Columns of the engine, as pictures need them, without pandas: importing it takes 0.3 s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[Any] | tuple[NDArray[Any], list[str]]
    """Values, or of a category the codes and their names."""


class Rows:
    """Some rows of a table: `rows["len"]` is a column, `rows[mask]` or `rows[2:5]` fewer rows."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns

    def __len__(self) -> int:
        """How many rows there are."""
        column = next(iter(self._columns.values()))
        return len(column[0] if isinstance(column, tuple) else column)

    @overload
    def __getitem__(self, chosen: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, chosen: NDArray[Any] | slice) -> Rows: ...
    def __getitem__(self, chosen: str | NDArray[Any] | slice) -> NDArray[Any] | Rows:
        """A column by its name, or the rows that a mask or a slice selects."""
        if not isinstance(chosen, str):
            return Rows({name: _some(column, chosen) for name, column in self._columns.items()})
        column = self._columns[chosen]
        return np.asarray(column[1])[column[0]] if isinstance(column, tuple) else column

    def __iter__(self) -> Iterator[SimpleNamespace]:
        """Row by row, with the columns as attributes."""
        names = list(self._columns)
        for values in zip(*(self[name] for name in names), strict=True):
            yield SimpleNamespace(**dict(zip(names, values, strict=True)))


def _some(column: Column, chosen: NDArray[Any] | slice) -> Column:
    if isinstance(column, tuple):
        return column[0][chosen], column[1]
    return column[chosen]
