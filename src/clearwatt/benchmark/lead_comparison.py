"""One peer against the others at a lead: lowest, level or higher."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.scores import PeerRecord
from clearwatt.benchmark.significance import Difference, difference

Phase = Literal["updating", "test"]
PHASES: tuple[Phase, ...] = ("updating", "test")
Mark = Literal["lowest", "level", "higher"]


@dataclass(frozen=True)
class PeerComparison:
    """A peer against another at one lead in one phase, over all entities.

    Args:
        other: key of the other.
        mean: mean difference of the squared errors; below zero, the peer is better.
        p: of the test of Diebold and Mariano.
        verdict: whether the error of the peer is significantly lower or higher.
    """

    other: str
    mean: float
    p: float
    verdict: Literal["lower", "level", "higher"]


def compare_records(
    first: Sequence[PeerRecord], second: Sequence[PeerRecord], phase: Phase
) -> Difference | None:
    """Compare records of the same entities: squared errors of each day, mean over the entities.

    Returns:
        None where a phase has too few days.
    """
    losses = [
        pd.DataFrame([_daily(record, phase) for record in records], dtype="float64")
        for records in (first, second)
    ]
    gaps = (losses[0] - losses[1]).mean(axis=0)
    return difference(gaps.tolist(), [0.0] * len(gaps))


def compare_with_others(board: Leaderboard, peer: str, phase: Phase) -> list[PeerComparison]:
    """A peer against each other one that can be compared, in the order of the table."""
    found = []
    for row in board.rows:
        if row.peer == peer:
            continue
        own = compare_records(board.of_peer(peer), board.of_peer(row.peer), phase)
        if own is not None:
            found.append(PeerComparison(row.peer, own.mean, own.p, _verdict(own)))
    return found


def mark_of(board: Leaderboard, peer: str, phase: Phase) -> Mark | None:
    """How a peer stands at a lead; None if its error is not known.

    Returns:
        "higher" if another peer has significantly lower errors; otherwise "lowest" if no mean
        error is lower, else "level".
    """
    errors = {row.peer: row.errors(phase) for row in board.rows}
    own = errors.get(peer)
    if own is None:
        return None
    if any(each.verdict == "higher" for each in compare_with_others(board, peer, phase)):
        return "higher"
    return "lowest" if own <= _lowest(errors.values()) else "level"


def _lowest(errors: Iterable[float | None]) -> float:
    return min(error for error in errors if error is not None)


def _verdict(found: Difference) -> Literal["lower", "level", "higher"]:
    if not found.is_significant:
        return "level"
    return "lower" if found.mean < 0 else "higher"


def _daily(record: PeerRecord, phase: Phase) -> tuple[float | None, ...]:
    return record.daily if phase == "updating" else record.test_daily
