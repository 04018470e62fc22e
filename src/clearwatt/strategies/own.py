"""Approaches of a user's own module, by "package.module:name"."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isabstract, signature

from clearwatt.errors import ConfigurationError
from clearwatt.own_code import load_object
from clearwatt.strategies.base import Strategy


def own_strategy(path: str, parameters: Mapping[str, object] | None = None) -> Strategy:
    """Make an approach of a user's own: a class with these parameters, or an object as it is."""
    found = load_object(path)
    if isinstance(found, Strategy) and not parameters:
        return found
    kind = _strategy_class(found, path)
    try:
        return kind(**dict(parameters or {}))
    except TypeError as error:
        raise ConfigurationError(
            f"{path!r} cannot be made ({error}); give each of its hyperparameters a default"
        ) from error


def own_parameters(path: str) -> tuple[str, ...]:
    """Hyperparameters of an approach of a user's own; none for an object, which has its values."""
    found = load_object(path)
    if isinstance(found, Strategy):
        return ()
    kind = _strategy_class(found, path)
    return tuple(signature(kind).parameters)


def _strategy_class(found: object, path: str) -> type[Strategy]:
    if not isinstance(found, type) or not issubclass(found, Strategy):
        what = f"the class {found.__name__}" if isinstance(found, type) else repr(found)
        raise ConfigurationError(
            f"{path!r} is {what}, not a strategy; derive it from clearwatt.strategies.Strategy "
            "(docs/strategies.md)"
        )
    if isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise ConfigurationError(f"{path!r} lacks {missing}; define it (docs/strategies.md)")
    return found
