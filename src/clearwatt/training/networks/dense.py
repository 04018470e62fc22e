"""Base class of the built-in networks: chains of linear layers."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from clearwatt.training.networks.backward import Pass, Products, gradient_products, squared_products
from clearwatt.training.networks.base import Differentiator, Network, Params
from clearwatt.training.networks.chain import Chain, resize


class WeightedBatch(NamedTuple):
    """Samples to differentiate on, with coefficients of their losses; see `Differentiator`."""

    x: Tensor
    target: Tensor
    coefficients: Tensor
    noise: Tensor | None


class DenseNetwork(Network):
    """A network of chains; a subclass adds the loss, as one forward and backward pass."""

    @property
    @abstractmethod
    def chains(self) -> tuple[Chain, ...]:
        """The linear layers, in the order in which they are initialised."""

    @abstractmethod
    def differentiate(self, passes: Sequence[Pass], batch: WeightedBatch) -> Tensor:
        """Send `coefficients * losses` back, one pass per chain; return the losses, `m x b`."""

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, as `torch.nn.Linear` draws them."""
        members = [self._draw(torch.Generator().manual_seed(seed)) for seed in seeds]
        return {name: torch.cat([member[name] for member in members]) for name in members[0]}

    def _draw(self, generator: torch.Generator) -> Params:
        drawn: Params = {}
        for chain in self.chains:
            drawn |= chain.initialise(generator)
        return drawn

    def differentiator(self, params: Params, out: Params, *, batch: int) -> Differentiator:
        """A function that writes gradients into `out`; see `Network.differentiator`."""
        return self._bind(params, out, rows=batch, products=gradient_products)

    @torch.no_grad()
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        # Half the rows of inference: the backward pass stores inputs and deltas of every layer.
        rows, ones = min(self.chains[0].block // 2, x.shape[1]), x.new_ones(1, 1)
        add_squares = self._bind(params, total, rows=rows, products=squared_products)
        for start in range(0, x.shape[1], rows):
            part = slice(start, start + rows)
            if (left := x.shape[1] - start) < rows:
                add_squares = self._bind(params, total, rows=left, products=squared_products)
            draws = None if noise is None else noise[:, part]
            add_squares(x[:, part], target[:, part], coefficients=ones, noise=draws)
        return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}

    def _bind(
        self, params: Params, out: Params, *, rows: int, products: Products
    ) -> Differentiator:
        passes = [Pass(c, params, out=out, rows=rows, products=products) for c in self.chains]

        def differentiate(
            x: Tensor, target: Tensor, *, coefficients: Tensor, noise: Tensor | None = None
        ) -> Tensor:
            return self.differentiate(passes, WeightedBatch(x, target, coefficients, noise))

        return differentiate

    def align(self, params: Params) -> Params:
        """The same functions with widths zero-filled to multiples of `chain.ALIGNMENT`.

        An added neuron has weights and bias 0, so it outputs 0, passes no delta (ReLU's derivative
        at 0 is 0) and gets gradient 0: it stays as it is, and so do all the others.
        """
        aligned: Params = {}
        for chain in self.chains:
            aligned |= chain.resize(params, chain.aligned_widths)
        return aligned

    def trim(self, params: Params) -> Params:
        """Undo `align`."""
        trimmed: Params = {}
        for chain in self.chains:
            trimmed |= chain.resize(params, chain.widths)
        return trimmed

    def align_inputs(self, x: Tensor) -> Tensor:
        """Zero-fill samples `n x d` as `align` does the first layer."""
        return resize(x, (len(x), self.chains[0].aligned_widths[0]))

    def align_targets(self, target: Tensor) -> Tensor:
        """Zero-fill targets `n x o` as `align` does the last layer."""
        return resize(target, (len(target), self.chains[-1].aligned_widths[-1]))
