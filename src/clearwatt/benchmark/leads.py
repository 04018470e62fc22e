"""The leaderboard by lead: every peer at every lead, with the same knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from clearwatt.benchmark.lead_comparison import (
    PHASES,
    Mark,
    PeerComparison,
    Phase,
    compare_records,
    compare_with_others,
    mark_of,
)
from clearwatt.benchmark.leaderboard import Leaderboard, PeerRow
from clearwatt.benchmark.run import Benchmark, run
from clearwatt.benchmark.significance import LEVEL
from clearwatt.compute import Executor
from clearwatt.data import Dataset
from clearwatt.runs.work import Progress

OURS = "clear-adaptive"
"""The peer that is compared with every other."""
FigureName = Literal["rmse", "test_rmse", "coverage", "test_coverage", "width", "test_width"]
FIGURES: tuple[FigureName, ...] = get_args(FigureName)


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
    def first(self) -> Leaderboard:
        """The leaderboard of the shortest lead."""
        return next(iter(self.boards.values()))

    @property
    def peers(self) -> dict[str, str]:
        """Keys and labels of the peers, as the first lead ranks them."""
        return {row.peer: row.label for row in self.first.rows}

    @property
    def name(self) -> str:
        """The name of the data set."""
        return str(self.first.about["data"]["name"])

    @property
    def hours(self) -> list[float]:
        """The leads in hours."""
        return [float(lead.removesuffix("h")) for lead in self.boards]

    def row(self, lead: str, peer: str) -> PeerRow:
        """The figures of a peer at a lead."""
        return next(row for row in self.boards[lead].rows if row.peer == peer)

    def figures(self, peer: str, figure: FigureName) -> dict[str, float | None]:
        """One figure of a peer by lead."""
        return {lead: getattr(self.row(lead, peer), figure) for lead in self.boards}

    @cached_property
    def marks(self) -> dict[Phase, dict[str, Mark | None]]:
        """How `OURS` stands, by phase and lead; empty if it did not take part."""
        if OURS not in self.peers:
            return {}
        return {
            phase: {lead: mark_of(board, OURS, phase) for lead, board in self.boards.items()}
            for phase in PHASES
        }

    @cached_property
    def comparisons(self) -> dict[Phase, dict[str, list[PeerComparison]]]:
        """`OURS` against each other peer, by phase and lead; empty if it did not take part."""
        if OURS not in self.peers:
            return {}
        return {
            phase: {
                lead: compare_with_others(board, OURS, phase) for lead, board in self.boards.items()
            }
            for phase in PHASES
        }

    @cached_property
    def falls(self) -> list[tuple[str, str]]:
        """Pairs of successive leads of which the longer has significantly lower errors of `OURS`.

        In the updating phase. More knowledge should not harm, so there should be none.
        """
        if OURS not in self.peers:
            return []
        found = []
        for shorter, longer in pairwise(self.boards):
            records = [self.boards[lead].of_peer(OURS) for lead in (longer, shorter)]
            change = compare_records(records[0], records[1], "updating")
            if change is not None and change.is_significant and change.mean < 0:
                found.append((shorter, longer))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The errors by peer and lead as plain values for JSON."""
        rows = [
            {
                "peer": peer,
                "label": label,
                **{figure: self.figures(peer, figure) for figure in FIGURES},
            }
            for peer, label in self.peers.items()
        ]
        return {
            "data": self.first.about["data"],
            "leads": list(self.boards),
            "rows": rows,
            "significance": {
                "test": "Diebold-Mariano, daily squared errors, mean over entities",
                "level": LEVEL,
            },
            "marks": self.marks,
            "comparisons": {
                phase: {lead: [asdict(each) for each in found] for lead, found in by_lead.items()}
                for phase, by_lead in self.comparisons.items()
            },
            "falls": self.falls,
        }
