import numpy as np
import pytest

from clearwatt.errors import DataError
from clearwatt.experiment.metrics import (
    fitting_error,
    forgetting_ratio,
    live_error,
    prediction_error,
)

RNG = np.random.default_rng(3)


def rmse(targets, outputs):
    return np.sqrt(np.mean((targets - outputs) ** 2))


def test_fitting_error_is_the_rmse_up_to_the_last_update():
    targets, outputs = RNG.random(50), RNG.random(50)
    assert fitting_error(targets, outputs) == pytest.approx(rmse(targets, outputs))
    early = fitting_error(targets, outputs, last_update=20)
    assert early == pytest.approx(rmse(targets[:20], outputs[:20]))


def test_without_an_update_the_whole_phase_counts():
    targets, outputs = RNG.random(50), RNG.random(50)
    assert fitting_error(targets, outputs, last_update=0) == fitting_error(targets, outputs)


def test_a_vector_counts_as_much_as_a_scalar():
    targets = np.zeros((4, 3))
    outputs = np.full((4, 3), 0.5)
    assert prediction_error(targets, outputs) == pytest.approx(0.5)


def test_samples_without_a_measurement_do_not_count():
    targets = np.array([1.0, np.nan, 3.0])
    assert prediction_error(targets, np.array([1.0, 9.0, 5.0])) == pytest.approx(np.sqrt(2))
    assert live_error(targets, np.array([1.0, 9.0, 5.0])).mae == pytest.approx(1.0)


def test_forgetting_is_relative_to_the_warm_up_model_and_never_negative():
    targets = np.zeros(10)
    assert forgetting_ratio(targets, np.full(10, 0.3), np.full(10, 0.1)) == pytest.approx(2.0)
    assert forgetting_ratio(targets, np.full(10, 0.05), np.full(10, 0.1)) == 0.0


def test_a_perfect_warm_up_model_can_only_be_matched_or_infinitely_forgotten():
    targets = np.ones(5)
    assert forgetting_ratio(targets, targets, targets) == 0.0
    assert forgetting_ratio(targets, targets + 1, targets) == float("inf")


@pytest.mark.parametrize("metric", [fitting_error, prediction_error, live_error])
def test_shapes_must_match(metric):
    with pytest.raises(DataError, match=r"\(3,\).*\(2,\)"):
        metric(np.zeros(3), np.zeros(2))


def test_nothing_measured_is_an_error_not_a_nan():
    with pytest.raises(DataError, match="no measured sample"):
        prediction_error(np.full(3, np.nan), np.zeros(3))
