"""Networks that a user gives to an estimator, plain torch modules among them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from torch import nn

from clearwatt.errors import ConfigurationError, StateError
from clearwatt.training.networks import ModulePredictor, Network, Reconstructor


@dataclass(frozen=True, eq=False)
class ModuleCopy:
    """A factory of copies of a module, each with the weights that the module has."""

    module: nn.Module

    def __call__(self) -> nn.Module:
        """A copy, so that training does not change the user's module."""
        return deepcopy(self.module)


def own_predictor(given: object, inputs: int) -> Network | None:
    """The network of a parameter `predictor`: a network, a plain module, or None.

    Args:
        given: The parameter.
        inputs: Width of the representation, which is the predictor's input.
    """
    if given is None or isinstance(given, Network):
        return given
    if not isinstance(given, nn.Module):
        raise ConfigurationError(f"predictor is {given!r}; {_predictor_remedy(given, inputs)}")
    try:
        return ModulePredictor(ModuleCopy(given), inputs=inputs)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"the predictor cannot be used: {error}. It gets the representation, which is "
            f"{inputs} wide (the parameter latent, at most the number of inputs), and returns 1 "
            "value per sample"
        ) from error


def saved_predictor(
    given: object, values: Mapping[str, Any], autoencoder: Reconstructor | None
) -> Network | None:
    """The network of a predictor given to `load`.

    Args:
        given: A network, a plain module, or None.
        values: What was saved of the estimator.
        autoencoder: The user's own, if any.
    """
    if not isinstance(given, nn.Module):
        return own_predictor(given, 0)
    if autoencoder is not None:
        return own_predictor(given, autoencoder.latent)
    try:
        return own_predictor(given, min(values["parameters"]["latent"], values["n_features_in"]))
    except KeyError as error:
        raise StateError(f"the state of the estimator is incomplete ({error!r})") from error


def own_autoencoder(given: object) -> Reconstructor | None:
    """The network of a parameter `autoencoder`: one that encodes and decodes, or None."""
    if given is None or isinstance(given, Reconstructor):
        return given
    name = type(given).__name__ if isinstance(given, nn.Module) else repr(given)
    raise ConfigurationError(
        f"autoencoder is {name}, which does not say what is its encoder and its decoder; give "
        "ModuleAutoencoder(encoder, decoder, inputs=…, latent=…) with functions that make a "
        "torch.nn.Module each (docs/networks.md)"
    )


def _predictor_remedy(given: object, inputs: int) -> str:
    if isinstance(given, type) and issubclass(given, nn.Module):
        return f"give a module, such as {given.__name__}(…), not its class"
    if callable(given):
        return f"give ModulePredictor(function, inputs={inputs or '…'}) instead of the function"
    return "give a torch.nn.Module or a network of clearwatt.training.networks"
