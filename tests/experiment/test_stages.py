"""The search of the warm-up, and what a second start does again."""

import shutil
from dataclasses import replace

import pytest
from tests.experiment.running import finished

from clearwatt.errors import DataError


def test_a_candidate_that_diverges_is_passed_over(grid, one_point, tmp_path):
    networks = replace(one_point.networks, kl_weights=(1e38, 1e-6))
    results, _ = finished(
        replace(one_point, instances=("G",), networks=networks), grid, tmp_path / "run"
    )
    assert all(trial["predictor"]["fitting_error"] > 0 for trial in results["trials"])


def test_a_search_in_which_all_diverge_names_the_zone(grid, one_point, tmp_path):
    wild = replace(one_point.warmup, learning_rate=1e30)
    with pytest.raises(DataError, match="every candidate of the autoencoder of zone 'north'"):
        finished(replace(one_point, warmup=wild), grid, tmp_path / "run")


def test_what_is_missing_or_damaged_is_done_again_with_the_same_outcome(done, grid, tiny, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(done[0], out)
    trials = sorted((out / "trials").iterdir())
    trials[0].unlink()
    trials[-1].write_text('{"trial": {')
    shutil.rmtree(sorted((out / "finalists").iterdir())[0])
    warm = sorted((out / "warmup").iterdir())
    shutil.rmtree(warm[0])
    next(warm[1].glob("*.safetensors")).write_bytes(b"")
    assert finished(tiny, grid, out)[0] == done[1]
