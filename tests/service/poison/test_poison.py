"""Meters that lie for weeks and are repaired, on a small slice of `benchmarks/poison.py`."""

from __future__ import annotations

import pytest
from benchmarks.poison import LIARS, Days, Learner, Run, compare, grid_of, prepared, run_lie

DAYS = Days(history=60, pause=3, lying=14, after=7)


@pytest.fixture(scope="module", params=["clear", "adaptive"])
def base(request, tmp_path_factory) -> Learner:
    return prepared(tmp_path_factory.mktemp("poison"), request.param, 0, DAYS)


@pytest.fixture(scope="module")
def clean(base) -> Run:
    return run_lie(base, base.folder.parent / "clean", None, DAYS)


@pytest.mark.slow
@pytest.mark.parametrize("lie", ["sign", "mirror"])
def test_two_weeks_of_lies_are_set_aside_and_hardly_matter_after_the_repair(base, clean, lie):
    found = run_lie(base, base.folder.parent / lie, lie, DAYS)
    rows = compare(found, clean, base.grid, DAYS)
    assert [row["kind"] for row in rows] == list(LIARS)
    for row in rows:
        assert row["set aside"] >= 0.95, row
        assert -1 <= row["told"] <= 2, row
        assert row["others"] <= 1.02, row
        assert row["false"] == 0, row
        assert row["after"] <= 1.4, row
    silent = run_lie(base, base.folder.parent / "silent", "silent", DAYS)
    expected = compare(silent, clean, base.grid, DAYS)
    for row, other in zip(rows, expected, strict=True):
        assert row["after"] <= 1.2 * max(1.0, other["after"]), "about as if it had been silent"


@pytest.mark.slow
def test_without_lies_nothing_is_suspected(base, clean):
    assert clean.suspicions == []
    assert grid_of(0, DAYS.total).power.shape[1] == 16
