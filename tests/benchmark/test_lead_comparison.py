"""A peer is lowest, level or higher at a lead, by all entities together."""

from dataclasses import replace

import numpy as np
import pytest

from clearwatt.benchmark.lead_comparison import compare_records, compare_with_others, mark_of
from clearwatt.benchmark.leaderboard import Leaderboard
from clearwatt.benchmark.peer import Cost
from clearwatt.benchmark.scores import PeerRecord, PhaseScore

DAYS = 120
NOISE = np.random.default_rng(1).normal(size=(2, DAYS))


def peer(key: str, *, updating: np.ndarray, test: np.ndarray) -> list[PeerRecord]:
    """Records of two entities whose daily losses are these."""
    scores = [PhaseScore(float(np.sqrt(np.nanmean(each))), 0.0, None) for each in (updating, test)]
    daily = [
        tuple(None if np.isnan(loss) else float(loss) for loss in each) for each in (updating, test)
    ]
    return [
        PeerRecord(key, key, entity, "zone", *scores, Cost(), *daily) for entity in ("farm", "town")
    ]


def board(**losses: float) -> Leaderboard:
    """Peers whose losses are these in the updating phase; in the test phase all are alike."""
    records = [
        record
        for at, (key, loss) in enumerate(losses.items())
        for record in peer(
            key, updating=loss + 0.01 * NOISE[at % 2], test=0.2 + 0.01 * NOISE[at % 2]
        )
    ]
    return Leaderboard({"data": {"name": "little"}}, tuple(records))


@pytest.mark.parametrize(
    ("own", "other", "mark", "verdict"),
    [(0.1, 0.2, "lowest", "lower"), (0.2, 0.1, "higher", "higher")],
)
def test_clear_differences_are_marked(own, other, mark, verdict):
    found = board(ours=own, theirs=other)
    assert mark_of(found, "ours", "updating") == mark
    (comparison,) = compare_with_others(found, "ours", "updating")
    assert (comparison.other, comparison.verdict) == ("theirs", verdict)
    assert comparison.p < 0.001


def test_a_lower_mean_within_the_noise_is_level():
    alike = board(ours=0.2005, theirs=0.2)
    ranked = sorted((row.rmse, row.peer) for row in alike.rows)
    marks = {key: mark_of(alike, key, "updating") for _, key in ranked}
    assert list(marks.values()) == ["lowest", "level"]


def test_phases_are_compared_each_by_itself():
    found = board(ours=0.5, theirs=0.1)
    assert mark_of(found, "ours", "updating") == "higher"
    assert mark_of(found, "ours", "test") in ("lowest", "level")


def test_days_that_are_not_measured_do_not_count():
    gap = NOISE[0].copy()
    gap[10:40] = np.nan
    first = peer("a", updating=0.1 + 0.01 * gap, test=0.1 + gap)
    second = peer("b", updating=0.2 + 0.01 * NOISE[1], test=0.2 + gap)
    assert compare_records(first, second, "updating").mean == pytest.approx(-0.1, abs=0.01)
    few = [replace(each, daily=each.daily[:15]) for each in first]
    assert compare_records(few, second, "updating") is None


def test_a_peer_without_errors_has_no_mark():
    one = board(ours=0.1, theirs=0.2)
    lost = PhaseScore(None, None, None)
    records = [
        replace(each, updating=lost) if each.peer == "ours" else each for each in one.records
    ]
    assert mark_of(Leaderboard(one.about, tuple(records)), "ours", "updating") is None
