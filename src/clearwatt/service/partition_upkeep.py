"""Keeps partitions for the months to come, while the service runs."""

from __future__ import annotations

from clearwatt.service.regular_work import RegularWork
from clearwatt.service.store import Store

INTERVAL = 600.0
"""Seconds between two rounds; one that finds nothing to do reads the catalogue."""


class PartitionUpkeep(RegularWork):
    """Creates partitions of the next months, and converts the tables of an earlier release.

    A round that finds a table busy, as during a backup, is repeated later; until then rows go to
    the default partition.

    Args:
        store: The store of the service.
    """

    thread_name = "partition-upkeep"
    complaint = "partitions not kept up"

    def __init__(self, store: Store, *, interval: float = INTERVAL) -> None:
        super().__init__(interval)
        self._store = store

    def run_round(self) -> None:
        """Do what is due."""
        self._store.keep_partitions()
