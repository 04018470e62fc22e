import numpy as np


def test_what_some_entities_are_forecast_with_forecasts_them_alike(small):
    x, y, at = small.stream(50)
    forecaster = small.started(x, y, at)
    known = slice(small.WARMUP, 45 * small.DAY)
    forecaster.observe(x[known], y[known], at[known])
    whole = forecaster.deployed
    ahead = slice(45 * small.DAY, 46 * small.DAY)
    for place in (0, 1):
        own = whole.select([place])
        assert own.names == (whole.names[place],)
        np.testing.assert_allclose(
            own.forecast(x[ahead], at[ahead]).power[:, 0],
            whole.forecast(x[ahead], at[ahead]).power[:, place],
            rtol=1e-6,
        )
        np.testing.assert_allclose(
            own.networks(x, at)[:, 0], whole.networks(x, at)[:, place], rtol=1e-4, atol=1e-6
        )
        again = type(own).unpack(own.pack())
        np.testing.assert_array_equal(again.networks(x, at), own.networks(x, at))
