"""The leaderboard by lead: every peer at every lead, with the same knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from clearwatt.benchmark.leaderboard import Leaderboard, PeerRow
from clearwatt.benchmark.run import Benchmark, run
from clearwatt.compute import Executor
from clearwatt.data import Dataset
from clearwatt.report.formatting import ABSENT
from clearwatt.report.tables import TextTable
from clearwatt.runs.work import Progress


def lead_name(lead: pd.Timedelta) -> str:
    """The name of a lead in tables and folders."""
    return f"{lead / pd.Timedelta(hours=1):g}h"


def run_leads(
    benchmark: Benchmark,
    dataset: Dataset,
    out: Path,
    leads: Sequence[pd.Timedelta],
    *,
    compute: Executor,
) -> Iterator[Progress]:
    """Run a benchmark for each lead: the measurement of a step is known so much later.

    Results are in subfolders of ``out``, one for each lead; an interrupted run is resumed.
    """
    for lead in leads:
        name = lead_name(lead)
        own = replace(benchmark, delay=lead)
        for step in run(own, dataset, out / name, compute=compute):
            yield replace(step, stage=f"{name} ahead")


@dataclass(frozen=True, eq=False)
class LeadLeaderboard:
    """Leaderboards of one data set by lead."""

    boards: dict[str, Leaderboard]

    @classmethod
    def read(cls, out: Path, leads: Sequence[pd.Timedelta]) -> LeadLeaderboard:
        """The results of `run_leads`."""
        names = [lead_name(lead) for lead in leads]
        return cls({name: Leaderboard.read(out / name) for name in names})

    @property
    def peers(self) -> dict[str, str]:
        """Keys and labels of the peers, as the first lead ranks them."""
        first = next(iter(self.boards.values()))
        return {row.peer: row.label for row in first.rows}

    def row(self, lead: str, peer: str) -> PeerRow:
        """The figures of a peer at a lead."""
        return next(row for row in self.boards[lead].rows if row.peer == peer)

    def to_dict(self) -> dict[str, Any]:
        """The errors by peer and lead as plain values for JSON."""
        first = next(iter(self.boards.values()))
        rows = [
            {
                "peer": peer,
                "label": label,
                "rmse": {lead: self.row(lead, peer).rmse for lead in self.boards},
                "test_rmse": {lead: self.row(lead, peer).test_rmse for lead in self.boards},
            }
            for peer, label in self.peers.items()
        ]
        return {"data": first.about["data"], "leads": list(self.boards), "rows": rows}

    def table(self) -> TextTable:
        """Live RMSE of the updating phase by lead; the lowest of each lead is marked."""
        errors = [[self.row(lead, peer).rmse for lead in self.boards] for peer in self.peers]
        best = set()
        for column, own in enumerate(zip(*errors, strict=True), start=1):
            known = [error for error in own if error is not None]
            best |= {(at, column) for at, error in enumerate(own) if known and error == min(known)}
        first = next(iter(self.boards.values()))
        return TextTable(
            title=f"{first.about['data']['name']}: live RMSE by lead",
            columns=("peer", *self.boards),
            rows=tuple(
                (label, *map(_error, own))
                for label, own in zip(self.peers.values(), errors, strict=True)
            ),
            best=frozenset(best),
            note="Mean over entities, updating phase, as a share of capacity. A forecast uses "
            "measurements up to its lead before; weather is the data set's own at every lead.",
        )


def _error(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.4f}"
