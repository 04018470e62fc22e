from tests.experiment.finished_run import run_document, with_adaptive

from clearwatt.experiment.report.learning import describe_learning
from clearwatt.experiment.results import read_results

# Of the documents: Baseline_L has a mean error of 0.157 live, every instance of the paper 0.1.


def sentence(write_run, document):
    return describe_learning(read_results(write_run(document)))


def test_the_adaptive_forecaster_is_compared_with_the_frozen_models(write_run):
    assert sentence(write_run, with_adaptive(run_document(), live=0.06)) == (
        "Learning from the stream lowered the live error of the 3 entities by 62 % against the "
        "models frozen after the warm-up (RMSE 0.060 of CLeaR_A, our adaptive forecaster, against "
        "0.157 of Baseline_L and 0.120 of its own first networks; the best of the paper's "
        "instances, CLeaR_E: 0.100)."
    )


def test_a_run_without_it_tells_of_the_best_of_the_papers_instances(write_run):
    document = run_document(instances=("Ra", "G"))
    for trial in document["trials"]:
        if trial["instance"] == "G":
            trial["live"]["rmse"] *= 0.8
    assert sentence(write_run, document) == (
        "Learning from the stream lowered the live error of the 3 entities by 49 % against the "
        "models frozen after the warm-up (RMSE 0.080 of CLeaR_G against 0.157 of Baseline_L)."
    )


def test_learning_that_did_harm_is_said(write_run):
    found = sentence(write_run, with_adaptive(run_document(), live=0.2))
    assert "raised the live error of the 3 entities by 27 % against the models frozen" in found


def test_no_difference_is_said(write_run):
    found = sentence(write_run, with_adaptive(run_document(), live=0.157))
    assert "left the live error of the 3 entities equal to that of the models frozen" in found


def test_without_a_baseline_nothing_is_claimed(write_run):
    document = with_adaptive(run_document()) | {"baselines": []}
    assert sentence(write_run, document) == ""
