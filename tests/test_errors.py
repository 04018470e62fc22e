import numpy as np
import pytest

from clearwatt import errors
from clearwatt.errors import ClearwattError, ConfigurationError, MissingExtraError, require_whole


def test_every_error_has_the_one_root():
    kinds = [each for each in vars(errors).values() if isinstance(each, type)]
    raised = [kind for kind in kinds if issubclass(kind, Exception)]
    assert len(raised) > 5
    assert [kind for kind in raised if not issubclass(kind, ClearwattError)] == []


def test_a_missing_package_is_told_with_its_extra():
    error = MissingExtraError("ray", "cluster")
    assert str(error) == "ray is not installed; run: pip install 'clearwatt[cluster]'"
    assert isinstance(error, ImportError)


def test_whole_numbers_of_at_least_one_are_accepted():
    require_whole(width=1, layers=np.int64(3))


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True, None, float("nan")])
def test_any_other_value_is_refused_by_name(value):
    with pytest.raises(ConfigurationError, match=f"layers is {value}; it must be a whole number"):
        require_whole(width=4, layers=value)
