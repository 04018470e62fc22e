"""One kind of fault in a file: where it is first, how often, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from clearwatt.arrays import BoolArray
from clearwatt.errors import DataError


@dataclass(frozen=True, slots=True)
class DataFault:
    """One kind of fault at one place of a data set or an export.

    ``row`` is the first row with the fault, counted from 1, ``value`` its time, name or cell.
    ``wrong`` says what is wrong, then what to do, or what was done if the fault is ``repaired``.
    """

    place: str
    wrong: str
    column: str | None = None
    row: int | None = None
    value: str | None = None
    count: int = 1
    repaired: bool = False

    @property
    def message(self) -> str:
        """The fault as one sentence that begins with the place of its first row."""
        column = "" if self.column is None else f", column '{self.column}'"
        row = "" if self.row is None else f", row {self.row}"
        value = "" if self.value is None else f" ({self.value})"
        return f"{self.place}{column}{row}{value}: {self.wrong}"

    def error(self) -> FaultError:
        """The fault as an error."""
        return FaultError(self)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "file": self.place,
            "column": self.column,
            "first_row": self.row,
            "first_value": self.value,
            "count": self.count,
            "repaired": self.repaired,
            "fault": self.wrong,
        }


class FaultError(DataError):
    """A data set that cannot be used, with the fault that is the reason."""

    def __init__(self, fault: DataFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def first_true(rows: BoolArray) -> int:
    """Position of the first true value."""
    return int(np.argmax(rows))


def raise_first(faults: Iterable[DataFault]) -> None:
    """Raise the first fault, if there is one."""
    for fault in faults:
        raise fault.error()
