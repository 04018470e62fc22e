import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.intervals import LEVELS, checked_levels


def test_the_usual_levels_are_allowed():
    assert checked_levels(LEVELS).tolist() == list(LEVELS)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((), "give a list of levels"),
        (0.5, "give a list of levels"),
        ("low", "give numbers"),
        ((0.0, 0.5), "level is 0;"),
        ((0.5, 5.0), "level is 5;"),
        ((0.5, float("nan")), "level is nan;"),
        ((0.9, 0.1), "ascending"),
        ((0.1, 0.1), "each once"),
    ],
)
def test_other_levels_are_refused_by_name(levels, said):
    with pytest.raises(ConfigurationError, match=said):
        checked_levels(levels)
