"""The result of the competition: errors of each peer, in all, by lead and by farm."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clearwatt.arrays import Float64Array
from clearwatt.benchmark.leaderboard import SkippedPeer
from clearwatt.data.wind_competition import BLOCK, NAME, WindCompetition
from clearwatt.report.tables import TextTable

LEADS = 6
"""Hours of lead that an error by lead is taken over."""


@dataclass(frozen=True)
class CompetitionRow:
    """The errors of one peer, RMSE as a share of capacity.

    Args:
        peer: Its key.
        label: Its name in tables.
        rmse: Over all blocks, hours and farms.
        by_lead: Over each `LEADS` hours of lead.
        by_farm: Over each farm.
        seconds: Processor time of learning and forecasting.
    """

    peer: str
    label: str
    rmse: float
    by_lead: dict[str, float]
    by_farm: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class CompetitionBoard:
    """The peers, lowest error first."""

    blocks: int
    values: int
    seed: int
    rows: tuple[CompetitionRow, ...]
    skipped: tuple[SkippedPeer, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The board as plain values for JSON."""
        return {"data": NAME, "protocol": "competition", **asdict(self)}


def score_blocks(
    competition: WindCompetition,
    power: Float64Array,
    *,
    peer: str,
    label: str,
    seconds: float,
) -> CompetitionRow:
    """Errors of forecasts, `b x 48 x e`."""
    squares = np.square(power - competition.solution)
    leads = squares.reshape(len(power), -1, LEADS, len(competition.names)).mean(axis=(0, 2, 3))
    names = [f"{first + 1}-{first + LEADS} h" for first in range(0, BLOCK, LEADS)]
    farms = squares.mean(axis=(0, 1))
    return CompetitionRow(
        peer=peer,
        label=label,
        rmse=math.sqrt(squares.mean()),
        by_lead=dict(zip(names, np.sqrt(leads).tolist(), strict=True)),
        by_farm=dict(zip(competition.names, np.sqrt(farms).tolist(), strict=True)),
        seconds=seconds,
    )


def competition_table(board: CompetitionBoard) -> TextTable:
    """The board as text."""
    leads = tuple(board.rows[0].by_lead)
    rows = tuple(
        (str(place), row.label, *map(_error, (row.rmse, *row.by_lead.values())), _seconds(row))
        for place, row in enumerate(board.rows, start=1)
    )
    return TextTable(
        title=f"{NAME}, competition: {board.blocks} blocks of {BLOCK} hours",
        columns=("#", "peer", "RMSE", *leads, "CPU s"),
        rows=rows,
        left=2,
        best=frozenset({(0, 2)}),
        note=f"RMSE over {board.values:,} values as a share of capacity, in all and by hours of "
        "lead. Each block is forecast with what was known before it.",
    )


def _error(value: float) -> str:
    return f"{value:.4f}"


def _seconds(row: CompetitionRow) -> str:
    return f"{row.seconds:.1f}"
