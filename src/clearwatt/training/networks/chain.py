"""Linear layers with ReLU between them, stacked: initialisation and forward pass.

Widths are read from the tensors, so the same code runs weights in their original widths and
zero-filled to widths that the processor multiplies faster.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from clearwatt.training.networks.base import Params

BLOCK_VALUES = 2**18
"""Values of the widest layer in a block of inference: few enough to stay in the cache, many enough
for the products to outweigh the calls."""
FEW = 256
"""Number of rows below which one product for all models is faster than one per model."""
ALIGNMENT = 8
"""Floats per vector register (AVX2): matrix products of other widths are up to twice as slow."""

Layer = tuple[Tensor, Tensor]
"""Weight `m x in x out` and bias `m x out`."""


@dataclass(frozen=True)
class Chain:
    """Linear layers `widths[i] -> widths[i + 1]`, ReLU after all but the last.

    Weights are stored `m x in x out` under `{name}.{i}.weight`, biases `m x out` under
    `{name}.{i}.bias`.

    Args:
        name: Prefix of the weights' names.
        widths: Of the input, the hidden layers and the output.
        align_first: Whether `aligned` rounds the input's width up, too.
        align_last: Whether `aligned` rounds the output's width up, too.
    """

    name: str
    widths: tuple[int, ...]
    align_first: bool = False
    align_last: bool = False

    @property
    def aligned_widths(self) -> tuple[int, ...]:
        """Widths of the zero-filled form; first and last as `align_first` and `align_last` say."""
        widths = [-(-width // ALIGNMENT) * ALIGNMENT for width in self.widths]
        if not self.align_first:
            widths[0] = self.widths[0]
        if not self.align_last:
            widths[-1] = self.widths[-1]
        return tuple(widths)

    @property
    def block(self) -> int:
        """Rows per block of inference."""
        return max(2, BLOCK_VALUES // max(self.aligned_widths))

    def layers(self, params: Params) -> list[Layer]:
        """Weight and bias of each layer."""
        return [
            (params[f"{self.name}.{i}.weight"], params[f"{self.name}.{i}.bias"])
            for i in range(len(self.widths) - 1)
        ]

    def initialise(self, generator: torch.Generator) -> Params:
        """Draw one member (`1 x ...`) as `torch.nn.Linear` does, in the order it does."""
        params: Params = {}
        for i, (fan_in, fan_out) in enumerate(pairwise(self.widths)):
            bound = 1 / math.sqrt(fan_in)
            weight = torch.empty(fan_out, fan_in).uniform_(-bound, bound, generator=generator)
            bias = torch.empty(fan_out).uniform_(-bound, bound, generator=generator)
            params[f"{self.name}.{i}.weight"] = weight.T.contiguous()[None]
            params[f"{self.name}.{i}.bias"] = bias[None]
        return params

    def resize(self, params: Params, widths: tuple[int, ...]) -> Params:
        """Cut off or zero-fill each layer to the given widths."""
        resized: Params = {}
        for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
            weight, bias = f"{self.name}.{i}.weight", f"{self.name}.{i}.bias"
            members = len(params[bias])
            resized[weight] = resize(params[weight], (members, fan_in, fan_out))
            resized[bias] = resize(params[bias], (members, fan_out))
        return resized

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x in` (or `1 x b x in`, shared) to `m x b x out`."""
        layers = self.layers(params)
        differentiable = torch.is_grad_enabled() and (
            x.requires_grad or any(tensor.requires_grad for layer in layers for tensor in layer)
        )
        if differentiable or x.shape[1] < FEW:
            return _forward_stacked(layers, x)
        return self._forward_blocks(params, x)[..., : layers[-1][1].shape[1]]

    @torch.no_grad()
    def _forward_blocks(self, params: Params, x: Tensor) -> Tensor:
        """Many rows: block by block, and in a block model by model, at aligned widths."""
        layers = self.layers(self.resize(params, self.aligned_widths))
        members, width = layers[-1][1].shape
        result = x.new_empty(members, x.shape[1], width)
        size = min(self.block, x.shape[1])
        values = [x.new_empty(size, bias.shape[1]) for _, bias in layers[:-1]]
        models = [[(weight[m], bias[m]) for weight, bias in layers] for m in range(members)]
        for start in range(0, x.shape[1], size):
            rows = slice(start, start + size)
            blocks = zip(models, x[:, rows].expand(members, -1, -1), result[:, rows], strict=True)
            for model, block, out in blocks:
                _forward_single(model, block, values=values, out=out)
        return result


def resize(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Cut off or zero-fill at the end of each axis; the tensor itself if nothing changes."""
    if tensor.shape == shape:
        return tensor
    result = tensor.new_zeros(shape)
    kept = tuple(slice(min(old, new)) for old, new in zip(tensor.shape, shape, strict=True))
    result[kept] = tensor[kept]
    return result


def _forward_stacked(layers: Sequence[Layer], x: Tensor) -> Tensor:
    """All models at once; autograd can differentiate it."""
    x = x.expand(len(layers[0][0]), -1, -1)
    for weight, bias in layers[:-1]:
        x = torch.baddbmm(bias.unsqueeze(1), x, weight).relu()
    weight, bias = layers[-1]
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def _forward_single(
    layers: Sequence[Layer], x: Tensor, *, values: Sequence[Tensor], out: Tensor
) -> None:
    """One model on `b x in`, into `out`; rows narrower than the first layer lack only zeros."""
    rows = len(x)
    for (weight, bias), value in zip(layers[:-1], values, strict=True):
        x = torch.addmm(bias, x, weight[: x.shape[1]], out=value[:rows]).relu_()
    weight, bias = layers[-1]
    if weight.shape[1] == 1:
        torch.addmv(bias, x, weight[: x.shape[1], 0], out=out[:, 0])
    else:
        torch.addmm(bias, x, weight[: x.shape[1]], out=out)
