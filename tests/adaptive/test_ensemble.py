import pytest

from clearwatt.adaptive.ensemble import FEW, MOST, enough
from clearwatt.training.fleet import Training

THREE = Training(epochs=3, patience=None)


@pytest.mark.parametrize("samples", [FEW, 3_000, 50_000])
def test_many_samples_are_passed_over_as_often_as_was_asked(samples):
    assert enough(THREE, samples) == THREE


def test_few_samples_are_passed_over_more_often_but_not_without_end():
    assert enough(THREE, FEW // 2).epochs == 2 * THREE.epochs
    assert enough(THREE, 1).epochs == MOST * THREE.epochs
