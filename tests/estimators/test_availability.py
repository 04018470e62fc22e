import pytest
from sklearn.exceptions import NotFittedError

from clearwatt.errors import ClearwattError
from clearwatt.estimators.availability import AfterWarmUp, NotWarmedUpError


class Estimator:
    """One method that needs a warm-up."""

    fitted = False

    def require_warm_up(self, method):
        if not self.fitted:
            raise NotWarmedUpError(f"call fit before {method}")

    @AfterWarmUp
    def predict(self, x):
        """Double a number."""
        return 2 * x


def test_a_method_is_missing_before_the_warm_up():
    estimator = Estimator()
    with pytest.raises(NotWarmedUpError, match="call fit before predict"):
        estimator.predict(1)
    assert not hasattr(estimator, "predict")


def test_a_method_is_there_after_the_warm_up():
    estimator = Estimator()
    estimator.fitted = True
    assert estimator.predict(4) == 8


def test_the_class_shows_the_function_itself():
    assert Estimator.predict(Estimator(), 3) == 6
    assert Estimator.predict.__doc__ == "Double a number."


def test_the_error_is_one_of_ours_and_of_scikit_learns():
    assert issubclass(NotWarmedUpError, ClearwattError)
    assert issubclass(NotWarmedUpError, NotFittedError)
