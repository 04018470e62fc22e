import numpy as np

from clearwatt.data.simulate.dispatchable import biogas_plant, river_station


def test_biogas_runs_at_the_peaks_and_rests_at_noon_in_summer(year):
    output, hour = biogas_plant("biogas", year), year.clock.hour
    summer = np.asarray(np.abs(year.clock.local.month - 7) <= 1)
    evening = output[summer & (np.abs(hour - 19) < 1)].mean()
    noon = output[summer & (np.abs(hour - 13) < 1)].mean()
    assert evening > noon + 0.3
    assert output.min() > 0 and output.max() <= 1.02


def test_the_river_carries_more_after_rain_and_in_spring_than_in_late_summer(year):
    output, month = river_station("hydro", year), np.asarray(year.clock.local.month)
    assert output[np.isin(month, (1, 2, 3))].mean() > output[np.isin(month, (7, 8, 9))].mean()
    assert output.min() > 0 and output.max() <= 1
    assert np.abs(np.diff(output)).max() < 0.1
