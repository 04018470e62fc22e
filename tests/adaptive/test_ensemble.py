import pytest

from clearwatt.adaptive.ensemble import FEW_SAMPLES, MAX_MULTIPLIER, with_enough_epochs
from clearwatt.training.fleet import Training

THREE = Training(epochs=3, patience=None)


@pytest.mark.parametrize("samples", [FEW_SAMPLES, 3_000, 50_000])
def test_many_samples_are_passed_over_as_often_as_was_asked(samples):
    assert with_enough_epochs(THREE, samples) == THREE


def test_few_samples_are_passed_over_more_often_but_not_without_end():
    assert with_enough_epochs(THREE, FEW_SAMPLES // 2).epochs == 2 * THREE.epochs
    assert with_enough_epochs(THREE, 1).epochs == MAX_MULTIPLIER * THREE.epochs
