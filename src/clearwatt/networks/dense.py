"""A chain of linear layers with ReLU between them: forward, gradient and Fisher information.

The backward pass is written out (the delta recursion) rather than left to autograd: it is the same
recursion that gives exact per-sample squared gradients, and it writes into buffers that already exist.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from clearwatt.networks.base import Params

BLOCK = 2048
"""Rows per block of inference: activations of a block stay in the cache."""


@dataclass(frozen=True)
class Chain:
    """Linear layers `widths[i] -> widths[i + 1]`, ReLU after all but the last.

    Weights are stored `m x in x out` under `{name}.{i}.weight`, biases `m x out` under
    `{name}.{i}.bias`.
    """

    name: str
    widths: tuple[int, ...]

    @property
    def depth(self) -> int:
        """Number of linear layers."""
        return len(self.widths) - 1

    def initialise(self, generator: torch.Generator) -> Params:
        """Draw one member (`1 x ...`) as `torch.nn.Linear` does, in the order it does."""
        params: Params = {}
        for i, (fan_in, fan_out) in enumerate(zip(self.widths[:-1], self.widths[1:], strict=True)):
            bound = 1 / math.sqrt(fan_in)
            weight = torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(fan_out).uniform_(-bound, bound, generator=generator)
            params[f"{self.name}.{i}.weight"] = weight.T.contiguous()[None]
            params[f"{self.name}.{i}.bias"] = bias[None]
        return params

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x widths[0]` (or `1 x b x ...`, shared) to `m x b x widths[-1]`."""
        if torch.is_grad_enabled():
            return self.trace(params, x)[-1]
        blocks = [self.trace(params, block)[-1] for block in x.split(BLOCK, dim=1)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)

    def trace(self, params: Params, x: Tensor) -> list[Tensor]:
        """The input of every layer and, last, the output of the chain."""
        members = params[f"{self.name}.0.weight"].shape[0]
        values = [x.expand(members, -1, -1)]
        for i in range(self.depth):
            weight, bias = params[f"{self.name}.{i}.weight"], params[f"{self.name}.{i}.bias"]
            value = torch.baddbmm(bias.unsqueeze(1), values[-1], weight)
            values.append(value.relu_() if i < self.depth - 1 else value)
        return values

    def backward(
        self, params: Params, values: Sequence[Tensor], delta: Tensor, *, out: Params
    ) -> Tensor:
        """Write weight gradients into `out`; return the delta of the first layer's output.

        Args:
            params: Weights of `m` models.
            values: What `trace` returned.
            delta: Gradient with respect to the chain's output, `m x b x widths[-1]`.
            out: Tensors like `params`; overwritten.
        """
        for i in reversed(range(self.depth)):
            torch.bmm(values[i].mT, delta, out=out[f"{self.name}.{i}.weight"])
            torch.sum(delta, dim=1, out=out[f"{self.name}.{i}.bias"])
            if i > 0:
                delta = self._through(params, values, delta, layer=i)
        return delta

    def squared(
        self, params: Params, values: Sequence[Tensor], delta: Tensor, *, out: Params
    ) -> Tensor:
        """Like `backward`, but add the sums of squared per-sample gradients to `out`.

        A sample's gradient of a weight is `x_i * delta_j`, so the sum of its squares over samples
        is one matrix product of squares.
        """
        for i in reversed(range(self.depth)):
            square = delta.square()
            out[f"{self.name}.{i}.weight"].baddbmm_(values[i].square().mT, square)
            out[f"{self.name}.{i}.bias"].add_(square.sum(dim=1))
            if i > 0:
                delta = self._through(params, values, delta, layer=i)
        return delta

    def to_input(self, params: Params, delta: Tensor) -> Tensor:
        """Carry the delta of the first layer's output to the chain's input."""
        return torch.bmm(delta, params[f"{self.name}.0.weight"].mT)

    def _through(
        self, params: Params, values: Sequence[Tensor], delta: Tensor, *, layer: int
    ) -> Tensor:
        passed = torch.bmm(delta, params[f"{self.name}.{layer}.weight"].mT)
        return torch.ops.aten.threshold_backward(passed, values[layer], 0)
