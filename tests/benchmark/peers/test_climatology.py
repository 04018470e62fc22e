from dataclasses import replace

import numpy as np

from clearwatt.benchmark.peers.climatology import Climatology


def test_a_daily_pattern_is_learned_whole(coast):
    hours = coast.times.hour.to_numpy()
    pattern = np.stack([hours, 24 - hours], axis=1).astype(np.float32)
    said = Climatology().forecast(replace(coast, measured=pattern)).power
    np.testing.assert_allclose(said, pattern[coast.first :])


def test_a_month_never_seen_falls_back_on_the_hour_and_is_then_learned(coast):
    hours, months = coast.times.hour.to_numpy(), coast.times.month.to_numpy()
    pattern = np.where(months == 2, hours + 10.0, hours)[:, None].astype(np.float32)
    history = replace(coast.select_entities([0]), measured=pattern)
    said = Climatology().forecast(history).power[:, 0]
    late = months[coast.first :] == 2
    np.testing.assert_allclose(said[~late & (months[coast.first :] == 1)][:24], said[:24])
    assert np.abs(said[late][-24:] - pattern[coast.first :][late][-24:, 0]).max() < 1e-6


def test_a_table_is_all_it_keeps(coast):
    costs = Climatology().forecast(coast).costs
    assert {cost.held_bytes for cost in costs} == {2 * 8 * 12 * 24}
