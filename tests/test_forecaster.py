"""What every forecaster inherits: a block is learned whole or not at all, and a folder holds it."""

from functools import cache

import pytest
from tests.testing.test_forecasters import start_clear

from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.errors import DataError
from clearwatt.testing.forecasters import WARM_UP, sample_stream, warm_up


@cache
def stream():
    return sample_stream()


def test_a_block_that_fails_changes_nothing():
    forecaster, block = warm_up(start_clear, stream()), stream().part(WARM_UP, WARM_UP + 5)
    before = forecaster.digest()
    with pytest.raises(DataError):
        forecaster.observe(block.x[:, :-1], block.y, block.at)
    assert forecaster.digest() == before


def test_a_saved_forecaster_continues_from_its_folder(tmp_path):
    forecaster, block = warm_up(start_clear, stream()), stream().part(WARM_UP, WARM_UP + 50)
    forecaster.save(tmp_path / "saved")
    again = ClearForecaster.load(tmp_path / "saved")
    for each in (forecaster, again):
        each.observe(block.x, block.y, block.at)
    assert again.digest() == forecaster.digest()
