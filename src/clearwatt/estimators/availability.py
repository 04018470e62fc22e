"""Methods of an estimator that are available only after its warm-up."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from sklearn.exceptions import NotFittedError

from clearwatt.errors import ClearwattError

P = ParamSpec("P")
R = TypeVar("R")


class NotWarmedUpError(ClearwattError, NotFittedError):
    """Streaming or forecasting before the warm-up; a CLeaR instance needs one to start."""


class WarmUpChecker(Protocol):
    """An estimator that can refuse what needs a warm-up."""

    def require_warm_up(self, method: str) -> None:
        """Raise a NotWarmedUpError that names the method, unless the estimator is fitted."""


class AfterWarmUp(Generic[P, R]):
    """A method that exists once the estimator is fitted, like scikit-learn's `available_if`.

    Before that, `hasattr` is false and access raises an error that says what to do. scikit-learn
    assumes that an estimator with `partial_fit` can start with it.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, estimator: WarmUpChecker | None, owner: type) -> Callable[..., R]:
        """The bound method of a fitted estimator; the function itself on the class."""
        if estimator is None:
            return self._method
        estimator.require_warm_up(self._method.__name__)
        return MethodType(self._method, estimator)
