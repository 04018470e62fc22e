"""A preset on a short data set: what it is going to cost, and buffers that fit its length."""

from dataclasses import replace

import pytest

from clearwatt.compute import executor
from clearwatt.experiment.results import read_document
from clearwatt.experiment.run import run


@pytest.fixture(scope="module")
def short(grid, one_point, tmp_path_factory):
    """The steps of a run, and its results."""
    scaled = replace(one_point.grid, novelty_capacity=(3_000,), capacity_scale=None)
    experiment = replace(one_point, grid=scaled, preset="small")
    out = tmp_path_factory.mktemp("short") / "run"
    with executor("serial") as compute:
        steps = list(run(experiment, grid, out, compute=compute))
    return steps, read_document(out)


def test_the_cost_of_later_stages_is_foreseen(short):
    """With one candidate for each network the guess is close; at the end nothing is left."""
    steps, _ = short
    costs = {step.stage: step.cost for step in steps}
    assert steps[0].cost_after == pytest.approx(costs["predictors"] + costs["updating"], rel=0.2)
    assert steps[-1].cost_after == 0.0


def test_capacities_follow_the_data_and_the_run_says_so(short):
    _, results = short
    share = results["phases"]["updating"] / 54_764
    assert results["configuration"]["grid"]["capacity_scale"] == pytest.approx(share, abs=1e-4)
    assert {trial["configuration"]["novelty_capacity"] for trial in results["trials"]} == {200}
    assert any(trial["predictor"]["updates"] for trial in results["trials"])


def test_the_preset_is_recorded_but_no_part_of_what_the_run_is(short):
    _, results = short
    assert results["preset"] == "small"
    assert "preset" not in results["configuration"]
