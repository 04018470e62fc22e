from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pvlib import solarposition

from clearwatt.data.simulate.sun import sun_at


def test_the_sun_stands_where_the_precise_algorithm_says(clock):
    hours = clock("2023-01-01", 24 * 365, freq="h")
    site = hours.site
    precise = solarposition.get_solarposition(hours.times, site.latitude, site.longitude)
    sun = sun_at(hours)
    assert np.abs(sun.zenith - precise["zenith"]).max() < 1.0


def test_clear_sky_is_dark_below_the_horizon_and_bright_at_noon(clock):
    day = sun_at(clock("2023-06-21", 96))
    assert (day.clear_ghi[day.zenith > 90] == 0).all()
    assert 750 < day.clear_ghi.max() < 1000


def test_without_seasons_every_day_is_an_equinox(clock):
    noons = clock("2023-01-01 11:30", 365, freq="D")
    real, eternal = sun_at(noons), sun_at(replace(noons, seasons=0.0))
    assert np.ptp(real.zenith) > 40
    assert np.ptp(eternal.zenith) < 1.5
    assert eternal.zenith.mean() == pytest.approx(noons.site.latitude, abs=1.0)
    assert isinstance(noons.times, pd.DatetimeIndex)
