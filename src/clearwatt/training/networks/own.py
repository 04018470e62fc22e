"""Networks of a user's own module, by "package.module:name".

Unlike `ModulePredictor`, they are known by a text, so that a configuration file can name them and
every process can make them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from clearwatt.errors import ConfigurationError
from clearwatt.own_code import load_object
from clearwatt.training.networks.module import (
    ModulePair,
    SingleModule,
    check_shape,
    require_pure,
    seeded,
)


@dataclass(frozen=True)
class OwnPredictor(SingleModule):
    """A predictor made by a user's function of the input width.

    Args:
        path: "package.module:name" of the function. Called with the width of the representation,
            it returns a module that maps `b x inputs` to `b x 1`.
        inputs: Width of the representation.
    """

    path: str
    inputs: int

    def __post_init__(self) -> None:
        check_shape(self.skeleton, self.inputs, self.outputs)

    def __reduce__(self) -> tuple[type[OwnPredictor], tuple[str, int]]:
        return type(self), (self.path, self.inputs)

    @property
    def outputs(self) -> int:
        """One value per sample."""
        return 1

    def build(self, seed: int) -> nn.Module:
        """Call the function with torch's random state set to the seed."""
        with seeded(seed):
            return require_pure(network_function(self.path)(self.inputs))


@dataclass(frozen=True)
class OwnAutoencoder(ModulePair):
    """An autoencoder made by a user's function of the input width.

    Args:
        path: "package.module:name" of the function. Called with the number of input features, it
            returns two modules: an encoder `b x inputs -> b x z` and a decoder back.
        inputs: Number of input features.
    """

    path: str
    inputs: int
    latent: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "latent", self._latent_width())
        check_shape(self.skeleton["encoder"], self.inputs, self.latent)
        check_shape(self.skeleton["decoder"], self.latent, self.inputs)

    def __reduce__(self) -> tuple[type[OwnAutoencoder], tuple[str, int]]:
        return type(self), (self.path, self.inputs)

    def _latent_width(self) -> int:
        """Width of the representation, as the encoder gives it."""
        rows = torch.empty(2, self.inputs, device="meta")
        try:
            return int(self.skeleton["encoder"](rows).shape[-1])
        except RuntimeError as error:
            raise ConfigurationError(
                f"the encoder of {self.path!r} does not accept b x {self.inputs} inputs: {error}"
            ) from error

    def build(self, seed: int) -> nn.ModuleDict:
        """Call the function with torch's random state set to the seed."""
        with seeded(seed):
            made = network_function(self.path)(self.inputs)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ConfigurationError(
                f"{self.path!r} returned {type(made).__name__}; let it return two modules, encoder "
                "and decoder"
            )
        parts = zip(("encoder", "decoder"), made, strict=True)
        return nn.ModuleDict({name: require_pure(part) for name, part in parts})


def network_function(path: str) -> Callable[[int], object]:
    """The function that makes an own network."""
    found = load_object(path)
    if not callable(found):
        raise ConfigurationError(
            f"{path!r} is {found!r}, not a function; let it take the input width and return a "
            "torch.nn.Module"
        )
    make: Callable[[int], object] = found
    return make
