from dataclasses import replace

import numpy as np
import pandas as pd

from clearwatt.benchmark.peers.persistence import Persistence
from clearwatt.benchmark.run import Benchmark


def test_yesterday_is_repeated(coast):
    said = Persistence(1).forecast(coast).power[:, 0]
    np.testing.assert_array_equal(said, coast.measured[coast.first - 24 : -24, 0])


def test_a_longer_delay_takes_an_older_day(grid, phases):
    late = Benchmark(delay=pd.Timedelta(hours=30), phases=phases).histories(grid)[0]
    said = Persistence(1).forecast(late)
    np.testing.assert_array_equal(said.power[:, 0], late.measured[late.first - 48 : -48, 0])
    assert said.costs[0].held_bytes == 4 * 48


def test_where_yesterday_was_not_measured_the_day_before_stands_in(coast):
    power = coast.measured.copy()
    power[coast.first + 100 : coast.first + 110, 0] = np.nan
    said = Persistence(1).forecast(replace(coast, measured=power)).power[124:134, 0]
    np.testing.assert_array_equal(said, power[coast.first + 76 : coast.first + 86, 0])
