"""Settings of an instance: impossible values are refused by name."""

import pytest

from clearwatt.clear.settings import ClearSettings
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import FineTune


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": float("inf")}, "alpha is inf"),
        ({"novelty_capacity": 0}, "novelty_capacity is 0; it must be a whole number of at least 1"),
        ({"novelty_capacity": 2.5}, r"novelty_capacity is 2\.5"),
        ({"familiarity_capacity": 0}, "familiarity_capacity is 0"),
        ({"strategy": "RandomReplay"}, "strategy is 'RandomReplay'; give an instance"),
        ({"gate": "off"}, r"gate is 'off'; give a Gate\(\), or None"),
        ({"strategy": FineTune}, "give an instance such as RecentReplay"),
    ],
)
def test_settings_refuse_what_cannot_be(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        ClearSettings(**parameters)
