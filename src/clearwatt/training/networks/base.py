"""The interface of a network, built-in or the user's own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

import torch
from torch import Tensor

Params = dict[str, Tensor]
"""Weights of `m` models: every tensor has the leading axis `m`."""


def stack(members: Sequence[Params]) -> Params:
    """Put the weights of several models (each `m_i x ...`) behind one leading axis."""
    return {name: torch.cat([member[name] for member in members]) for name in members[0]}


def select(params: Params, index: int) -> Params:
    """Weights of one member of a stack, itself a stack of one (`1 x ...`, a copy)."""
    return {name: tensor[index : index + 1].clone() for name, tensor in params.items()}


class Differentiator(Protocol):
    """Writes the gradient of `sum(coefficients * losses)` of each member; see `Network`."""

    def __call__(
        self, x: Tensor, target: Tensor, *, coefficients: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Differentiate on one batch.

        Args:
            x: Inputs, `m x b x d`.
            target: Targets, `m x b x o`.
            coefficients: What each sample's loss counts, `m x b`.
            noise: Random values by `noise_of`, `m x noise_rows(b) x noise_width`, where the loss
                needs them.

        Returns:
            The per-sample losses, `m x b`.
        """


class Network(ABC):
    """A shape without weights: equal networks are equal by value and are trained stacked.

    Networks that differ only in their loss can train stacked, too: they have the same
    `stack_key`, and `combine` makes one of them.

    Shapes: `m` models in the stack, `b` samples, `d` inputs, `o` outputs. Where `params` holds
    `m` models and `x` is `1 x b x d`, all models see the same samples.
    """

    inputs: int
    optional_targets: ClassVar[bool] = False
    """Whether a target may be NaN: then the loss of the sample does not contain it."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Width `o` of what `forward` returns."""

    @property
    def noise_width(self) -> int:
        """Random values a training sample needs; 0 unless the loss is stochastic."""
        return 0

    def noise_rows(self, batch: int) -> int:
        """Rows of random values for a batch: one per sample, or fewer if samples share them."""
        return batch

    def noise_of(self, normal: Tensor) -> Tensor:
        """What the loss takes, from standard normal values `... x noise_width`; may overwrite them.

        The fleet draws the values of each member by its own seed, and calls this once for a stack.
        """
        return normal

    @property
    def stack_key(self) -> "Network":
        """Key of networks that can train in one stack; they have equal keys."""
        return self

    def combine(self, members: Sequence["Network"]) -> "Network":
        """One network for a stack of members with this `stack_key`, each with its own loss."""
        return self

    @abstractmethod
    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, each a function of its own seed only."""

    @abstractmethod
    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x d` (or `1 x b x d`, shared) to `m x b x o`."""

    def losses(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Tensor:
        """Per-sample losses, `m x b`: the squared error averaged over the outputs."""
        return (self.forward(params, x) - target).square().mean(dim=2)

    def align(self, params: Params) -> Params:
        """The same models in the form that trains fastest, which every method accepts."""
        return params

    def trim(self, params: Params) -> Params:
        """Undo `align`."""
        return params

    def align_inputs(self, x: Tensor) -> Tensor:
        """Samples `n x d` in the form that goes with aligned weights."""
        return x

    def align_targets(self, target: Tensor) -> Tensor:
        """Targets `n x o` in the form that goes with aligned weights."""
        return target

    @abstractmethod
    def differentiator(self, params: Params, out: Params, *, batch: int) -> Differentiator:
        """A function that differentiates at `params`, as they are whenever it is called.

        Args:
            params: Weights of `m` models.
            out: Tensors like `params`, overwritten at each call.
            batch: Samples `b` of each call, which must not record for autograd.
        """

    @torch.no_grad()
    def gradients(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        coefficients: Tensor,
        noise: Tensor | None = None,
    ) -> tuple[Tensor, Params]:
        """Per-sample losses, `m x b`, and the gradient of `sum(coefficients * losses)`."""
        out = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        differentiate = self.differentiator(params, out, batch=x.shape[1])
        return differentiate(x, target, coefficients=coefficients, noise=noise), out

    @abstractmethod
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Diagonal Fisher information: the mean over samples of squared per-sample gradients."""


class Reconstructor(Network):
    """A network that reconstructs its inputs from a representation of width `latent`."""

    latent: int

    @property
    def outputs(self) -> int:
        """A reconstruction is as wide as the inputs."""
        return self.inputs

    @abstractmethod
    def encode(self, params: Params, x: Tensor) -> Tensor:
        """Map inputs `m x b x d` to representations `m x b x z`."""

    @abstractmethod
    def decode(self, params: Params, z: Tensor) -> Tensor:
        """Map representations `m x b x z` to inputs `m x b x d`."""

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Reconstruct `m x b x d`."""
        return self.decode(params, self.encode(params, x))
