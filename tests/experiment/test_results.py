import json

import pytest
from tests.experiment.finished_run import DAYS, run_document

from clearwatt.errors import DataError
from clearwatt.experiment.results import read_results


def test_a_run_is_read_with_its_series(write_run):
    results = read_results(write_run())
    assert results.name == "run"
    assert len(results.trials) == 18
    assert len(results.trials[0].daily) == DAYS
    assert results.trials[0].daily[0] is None
    assert results.drifts[1].entity is None


def test_a_run_copied_without_its_series_still_has_its_tables(write_run):
    folder = write_run()
    for file in (folder / "series").iterdir():
        file.unlink()
    assert read_results(folder).trials[0].daily == ()


def test_a_ratio_that_is_not_finite_is_no_figure(write_run):
    document = run_document()
    document["trials"][0]["predictor"]["forgetting_ratio"] = float("inf")
    assert read_results(write_run(document)).trials[0].predictor.forgetting_ratio is None


@pytest.mark.parametrize(
    ("done", "says"),
    [
        (5, r"19 of 24 trials are missing; run 'clearwatt experiment run --out \S+' with the same"),
        (24, "its last scores are missing; run"),
    ],
)
def test_an_unfinished_run_says_what_is_missing_and_how_to_go_on(tmp_path, done, says):
    grid = {"novelty_capacity": [100], "alpha": [0.9, 1.3], "replay_weight": [0.5, 1.0]}
    about = {
        "experiment": {"instances": ["Ra", "G"], "grid": grid},
        "data": {"entities": 3},
    }
    (tmp_path / "run.json").write_text(json.dumps(about))
    (tmp_path / "trials").mkdir()
    for number in range(done):
        (tmp_path / "trials" / f"{number}.json").write_text("{}")
    with pytest.raises(DataError, match=says):
        read_results(tmp_path)


def test_an_unfinished_run_with_a_strange_description_is_still_unfinished(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(DataError, match="unfinished, 0 trials are done"):
        read_results(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(DataError, match=r"does not exist; give the folder"):
        read_results(tmp_path / "nowhere")


def test_a_folder_of_something_else(tmp_path):
    (tmp_path / "power.csv").write_text("time\n")
    with pytest.raises(DataError, match="is not an experiment"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not readable as JSON"),
        ("[]", "no JSON object"),
        (json.dumps({"format": "clearwatt-experiment", "version": 2}), "version 2"),
        (json.dumps({"format": "clearwatt-experiment", "version": 1}), "'configuration': Field"),
    ],
)
def test_results_that_cannot_be_used(write_run, content, says):
    folder = write_run()
    (folder / "results.json").write_text(content)
    with pytest.raises(DataError, match=says):
        read_results(folder)


def test_a_trial_without_an_entity_is_damage(write_run):
    document = run_document()
    folder = write_run(document)
    del document["trials"][3]["entity"]
    (folder / "results.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"damaged.*'entity'.*finished trials are kept"):
        read_results(folder)
