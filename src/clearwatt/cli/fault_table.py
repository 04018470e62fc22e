"""The table of faults of a data set or an export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.table import Table

from clearwatt.cli.printing import rows_table

if TYPE_CHECKING:
    from clearwatt.data.data_faults import DataFault


def fault_table(faults: Iterable[DataFault]) -> Table:
    """One row per fault, those that are not repaired first."""
    rows = [
        (
            "repaired" if each.repaired else "open",
            each.count,
            each.place,
            each.column or "",
            "" if each.row is None else each.row,
            each.value or "",
            each.wrong,
        )
        for each in sorted(faults, key=lambda each: each.repaired)
    ]
    header = ("state", "count", "file", "column", "first row", "there", "fault")
    return rows_table(header, rows)
