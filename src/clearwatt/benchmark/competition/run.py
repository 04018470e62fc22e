"""Run peers through the competition, block by block."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from clearwatt.benchmark.competition.board import (
    CompetitionBoard,
    CompetitionRow,
    score_blocks,
)
from clearwatt.benchmark.competition.peer import CompetitionPeer
from clearwatt.benchmark.leaderboard import SkippedPeer
from clearwatt.data.wind_competition import WindCompetition
from clearwatt.runs.work import MULTIPLY_ADDS, Progress
from clearwatt.training.fleet import one_thread

ORGANISERS = "organisers"
"""Key of the organisers' own forecasts, which are read, not made."""


class CompetitionRun:
    """A run through all blocks: iterate over `steps`, then read `board`.

    Args:
        competition: The task.
        peers: Who takes part, besides the organisers.
        seed: Of everything random in the peers.
    """

    def __init__(
        self, competition: WindCompetition, peers: Sequence[CompetitionPeer], *, seed: int = 0
    ) -> None:
        self._competition, self._seed = competition, seed
        reasons = {peer.key: peer.missing_requirement() for peer in peers}
        self._peers = [peer for peer in peers if reasons[peer.key] is None]
        self._skipped = [SkippedPeer(key, reason) for key, reason in reasons.items() if reason]
        self._rows = [
            score_blocks(
                competition,
                competition.benchmark,
                peer=ORGANISERS,
                label="the organisers' benchmark",
                seconds=0.0,
            )
        ]

    def steps(self) -> Iterator[Progress]:
        """Forecast every block with every peer; yields the progress after each block."""
        left = sum(peer.seconds for peer in self._peers)
        for peer in self._peers:
            left -= peer.seconds
            yield from self._forecast_blocks(peer, left)

    @property
    def board(self) -> CompetitionBoard:
        """The errors of the peers that have finished, lowest first."""
        blocks = len(self._competition.issues)
        rows = tuple(sorted(self._rows, key=_rmse))
        values = int(self._competition.solution.size)
        return CompetitionBoard(blocks, values, self._seed, rows, tuple(self._skipped))

    def _forecast_blocks(self, peer: CompetitionPeer, left: float) -> Iterator[Progress]:
        issues, power, seconds = self._competition.issues.tolist(), [], 0.0
        cost = peer.seconds * MULTIPLY_ADDS
        after = left * MULTIPLY_ADDS
        forecaster = peer.start(seed=self._seed)
        yield Progress(peer.key, 0, len(issues), 0.0, cost, after)
        for done, issue in enumerate(issues, start=1):
            known = self._competition.known_at(issue)
            started = time.process_time()
            with one_thread(), threadpool_limits(1):
                power.append(forecaster.forecast(known))
            seconds += time.process_time() - started
            yield Progress(peer.key, done, len(issues), cost * done / len(issues), cost, after)
        row = score_blocks(
            self._competition,
            np.stack(power),
            peer=peer.key,
            label=peer.label,
            seconds=seconds,
        )
        self._rows.append(row)


def _rmse(row: CompetitionRow) -> float:
    return row.rmse
