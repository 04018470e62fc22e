"""The comparison of the README, on a short stream."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENTITIES = ("pv_01", "household_block_01", "residential_01")


@pytest.fixture(scope="module")
def outcomes():
    """The outcomes by approach and entity."""
    script = ROOT / "examples" / "compare_approaches.py"
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = json.loads(run.stdout)
    assert len(found) == 9 * 3
    return {(each["approach"], each["entity"]): each for each in found}


def test_every_approach_and_reference_is_compared_for_every_entity(outcomes):
    assert len(outcomes) == 27
    assert all(
        each["predictor"]["updates"] >= 1
        for (approach, _), each in outcomes.items()
        if approach != "frozen"
    )


@pytest.mark.parametrize("entity", ENTITIES)
def test_a_frozen_model_forgets_nothing_learns_nothing_and_keeps_nothing(outcomes, entity):
    frozen = outcomes["frozen", entity]
    assert frozen["predictor"]["updates"] == frozen["autoencoder"]["updates"] == 0
    assert frozen["predictor"]["forgetting_ratio"] == 0
    assert frozen["autoencoder"]["forgetting_ratio"] == 0
    assert frozen["retained_bytes"] == 0


@pytest.mark.parametrize("entity", ENTITIES)
def test_both_components_of_generative_replay_update_together(outcomes, entity):
    generative = outcomes["Generative", entity]
    assert generative["predictor"]["updates"] == generative["autoencoder"]["updates"] > 0


def test_generative_replay_keeps_less_than_the_whole_past(outcomes):
    generative, replay = outcomes["Generative", "pv_01"], outcomes["Random", "pv_01"]
    assert generative["retained_bytes"] < replay["retained_bytes"]


def test_the_live_error_of_a_frozen_model_is_its_plain_error(outcomes):
    frozen = outcomes["frozen", "pv_01"]
    assert frozen["live"]["rmse"] == pytest.approx(frozen["predictor"]["fitting_error"], rel=1e-4)
