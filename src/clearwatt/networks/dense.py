"""Chains of linear layers with ReLU between them: forward, gradient and Fisher information.

The backward pass is written out (the delta recursion) rather than left to autograd: the same
recursion gives exact squared per-sample gradients, and it writes into memory that already exists.
Nothing here asks for a particular width but takes it from the tensors, so the same code runs the
weights as a user sees them and zero-filled to widths the processor prefers.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from clearwatt.networks.base import Network, Params, Scratch

BLOCK = 2048
"""Rows per block of inference: the activations of a block stay in the cache."""
FEW = 256
"""Below so many rows one product for all models is faster than one per model."""
ALIGNMENT = 8
"""Floats per vector register (AVX2): matrix products of other widths are up to twice as slow."""

Accumulate = Callable[[Tensor, Tensor, Tensor, Tensor], None]


@dataclass(frozen=True, eq=False)
class Sink:
    """What a backward pass does at each layer, and where.

    Args:
        accumulate: Called with a layer's input, its delta and where the results for its weight and
            bias go: `gradient_products` or `squared_products`.
        out: Tensors like the weights, for the results.
        scratch: Memory for activations and deltas.
    """

    accumulate: Accumulate
    out: Params
    scratch: Scratch


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
    def aligned(self) -> tuple[int, ...]:
        """Widths of the zero-filled form; the ends keep theirs unless told otherwise."""
        widths = [-(-width // ALIGNMENT) * ALIGNMENT for width in self.widths]
        if not self.align_first:
            widths[0] = self.widths[0]
        if not self.align_last:
            widths[-1] = self.widths[-1]
        return tuple(widths)

    def resize(self, params: Params, widths: tuple[int, ...]) -> Params:
        """Cut off or zero-fill each layer to the given widths."""
        resized: Params = {}
        for i, (fan_in, fan_out) in enumerate(pairwise(widths)):
            weight, bias = f"{self.name}.{i}.weight", f"{self.name}.{i}.bias"
            members = len(params[bias])
            resized[weight] = _resized(params[weight], (members, fan_in, fan_out))
            resized[bias] = _resized(params[bias], (members, fan_out))
        return resized

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

    def layers(self, params: Params) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias of each layer."""
        return [
            (params[f"{self.name}.{i}.weight"], params[f"{self.name}.{i}.bias"])
            for i in range(len(self.widths) - 1)
        ]

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x in` (or `1 x b x in`, shared) to `m x b x out`."""
        if torch.is_grad_enabled() and (
            x.requires_grad or any(weight.requires_grad for weight in params.values())
        ):
            return _differentiable(self.layers(params), x)
        if x.shape[1] < FEW:
            return self.trace(params, x, scratch=Scratch())[-1]
        return self._infer(params, x)

    @torch.no_grad()
    def _infer(self, params: Params, x: Tensor) -> Tensor:
        """Many rows: model by model in blocks of rows that stay in the cache."""
        outputs = self.layers(params)[-1][1].shape[1]
        layers = self.layers(self.resize(params, self.aligned))
        members, width = layers[-1][1].shape
        result = x.new_empty(members, x.shape[1], width)
        scratch = Scratch()
        for start in range(0, x.shape[1], BLOCK):
            rows = slice(start, start + BLOCK)
            for member, samples in enumerate(x[:, rows].expand(members, -1, -1)):
                own = [(weight[member], bias[member]) for weight, bias in layers]
                _run(own, samples, out=result[member, rows], scratch=scratch)
        return result[..., :outputs]

    @torch.no_grad()
    def trace(self, params: Params, x: Tensor, *, scratch: Scratch) -> list[Tensor]:
        """The input of every layer and, last, the output; without a record for autograd."""
        layers = self.layers(params)
        values = [x.expand(len(layers[0][0]), -1, -1)]
        for i, (weight, bias) in enumerate(layers):
            shape = (weight.shape[0], x.shape[1], weight.shape[2])
            value = scratch.take(f"{self.name}.{i}.value", shape, x.dtype)
            _affine(values[-1], weight, bias, out=value)
            values.append(value.relu_() if i < len(layers) - 1 else value)
        return values

    def backward(
        self, params: Params, values: Sequence[Tensor], delta: Tensor, *, sink: Sink
    ) -> Tensor:
        """Run the delta recursion, feeding the sink; return the delta of the first layer's output.

        Args:
            params: Weights of `m` models.
            values: What `trace` returned.
            delta: Gradient with respect to the chain's output, `m x b x out`.
            sink: Where the results go.
        """
        for i in reversed(range(len(self.widths) - 1)):
            key = f"{self.name}.{i}"
            sink.accumulate(values[i], delta, sink.out[f"{key}.weight"], sink.out[f"{key}.bias"])
            if i > 0:
                below = sink.scratch.take(f"{key}.delta", tuple(values[i].shape), delta.dtype)
                _through(delta, params[f"{key}.weight"], out=below)
                torch.ops.aten.threshold_backward.grad_input(below, values[i], 0, grad_input=below)
                delta = below
        return delta

    def to_input(self, params: Params, delta: Tensor, *, sink: Sink) -> Tensor:
        """Carry the delta of the first layer's output to the chain's input, `m x b x in`."""
        weight = params[f"{self.name}.0.weight"]
        shape = (*delta.shape[:2], weight.shape[1])
        below = sink.scratch.take(f"{self.name}.0.delta", shape, delta.dtype)
        _through(delta, weight, out=below)
        return below


class DenseNetwork(Network):
    """A network of chains: all it adds is its loss, as one pass down and up again."""

    @property
    @abstractmethod
    def chains(self) -> tuple[Chain, ...]:
        """The linear layers, in the order in which they are initialised."""

    @abstractmethod
    def differentiate(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        noise: Tensor | None,
        coefficients: Tensor,
        sink: Sink,
    ) -> Tensor:
        """Send `coefficients * losses` down into the sink; return the losses, `m x b`."""

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Fresh weights, one member per seed, as `torch.nn.Linear` draws them."""
        members = [self._draw(torch.Generator().manual_seed(seed)) for seed in seeds]
        return {name: torch.cat([member[name] for member in members]) for name in members[0]}

    def _draw(self, generator: torch.Generator) -> Params:
        drawn: Params = {}
        for chain in self.chains:
            drawn |= chain.initialise(generator)
        return drawn

    @torch.no_grad()
    def gradients(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        coefficients: Tensor,
        out: Params,
        noise: Tensor | None = None,
        scratch: Scratch | None = None,
    ) -> Tensor:
        """Write the gradient of `sum(coefficients * losses)` per member into `out`."""
        sink = Sink(gradient_products, out, scratch or Scratch())
        return self.differentiate(
            params, x, target, noise=noise, coefficients=coefficients, sink=sink
        )

    @torch.no_grad()
    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
        sink, ones = Sink(squared_products, total, Scratch()), x.new_ones(1, 1)
        for start in range(0, x.shape[1], BLOCK):
            rows = slice(start, start + BLOCK)
            self.differentiate(
                params,
                x[:, rows],
                target[:, rows],
                noise=None if noise is None else noise[:, rows],
                coefficients=ones,
                sink=sink,
            )
        return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}

    def align(self, params: Params) -> Params:
        """The same functions with widths zero-filled to multiples of `ALIGNMENT`.

        An added neuron has weights and bias 0, so it outputs 0, passes no delta (ReLU's derivative
        at 0 is 0) and gets gradient 0: it stays as it is, and so do all the others.
        """
        aligned: Params = {}
        for chain in self.chains:
            aligned |= chain.resize(params, chain.aligned)
        return aligned

    def trim(self, params: Params) -> Params:
        """Undo `align`."""
        trimmed: Params = {}
        for chain in self.chains:
            trimmed |= chain.resize(params, chain.widths)
        return trimmed

    def align_inputs(self, x: Tensor) -> Tensor:
        """Zero-fill samples `n x d` as `align` does the first layer."""
        return _resized(x, (len(x), self.chains[0].aligned[0]))

    def align_targets(self, target: Tensor) -> Tensor:
        """Zero-fill targets `n x o` as `align` does the last layer."""
        return _resized(target, (len(target), self.chains[-1].aligned[-1]))


def gradient_products(x: Tensor, delta: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Gradients of a layer: the sum over samples of input times delta."""
    if delta.shape[2] == 1:
        torch.bmm(delta.mT, x, out=weight.mT)
    else:
        torch.bmm(x.mT, delta, out=weight)
    torch.sum(delta, dim=1, out=bias)


def squared_products(x: Tensor, delta: Tensor, weight: Tensor, bias: Tensor) -> None:
    """Add the squared per-sample gradients of a layer, summed over samples.

    A sample's gradient of a weight is `x_i * delta_j`: the sum of its squares over samples is one
    matrix product of squares, with no loop over samples.
    """
    square = delta.square()
    weight.baddbmm_(x.square().mT, square)
    bias.add_(square.sum(dim=1))


def _differentiable(layers: Sequence[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    x = x.expand(len(layers[0][0]), -1, -1)
    for weight, bias in layers[:-1]:
        x = torch.baddbmm(bias.unsqueeze(1), x, weight).relu()
    weight, bias = layers[-1]
    return torch.baddbmm(bias.unsqueeze(1), x, weight)


def _run(
    layers: Sequence[tuple[Tensor, Tensor]], x: Tensor, *, out: Tensor, scratch: Scratch
) -> None:
    """One model on `b x in`, into `out`; rows narrower than the first layer lack only zeros."""
    for i, (weight, bias) in enumerate(layers[:-1]):
        value = scratch.take(f"{i}.{len(x)}", (len(x), weight.shape[1]), x.dtype)
        x = torch.addmm(bias, x, weight[: x.shape[1]], out=value).relu_()
    weight, bias = layers[-1]
    if weight.shape[1] == 1:
        torch.addmv(bias, x, weight[:, 0], out=out[:, 0])
    else:
        torch.addmm(bias, x, weight[: x.shape[1]], out=out)


def weigh_errors(
    output: Tensor, target: Tensor, coefficients: Tensor, *, outputs: int, scratch: Scratch
) -> tuple[Tensor, Tensor]:
    """Squared errors averaged over `outputs`, `m x b`, and their weighted delta in `output`."""
    residual = output.sub_(target)
    square = scratch.take("square", tuple(residual.shape), residual.dtype)
    losses = torch.square(residual, out=square).sum(dim=2).div_(outputs)
    return losses, residual.mul_(coefficients.mul(2 / outputs).unsqueeze(2))


def _affine(x: Tensor, weight: Tensor, bias: Tensor, *, out: Tensor) -> None:
    """`x @ weight + bias`; one output column is a row vector's product, four times as fast."""
    if weight.shape[2] == 1:
        torch.baddbmm(bias.unsqueeze(2), weight.mT, x.mT, out=out.mT)
    else:
        torch.baddbmm(bias.unsqueeze(1), x, weight, out=out)


def _through(delta: Tensor, weight: Tensor, *, out: Tensor) -> None:
    """`delta @ weight^T`; with one column an outer product, eleven times as fast as a product."""
    if delta.shape[2] == 1:
        torch.mul(delta, weight.mT, out=out)
    else:
        torch.bmm(delta, weight.mT, out=out)


def _resized(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Cut off or zero-fill at the end of each axis."""
    if tensor.shape == shape:
        return tensor
    result = tensor.new_zeros(shape)
    kept = tuple(slice(min(old, new)) for old, new in zip(tensor.shape, shape, strict=True))
    result[kept] = tensor[kept]
    return result
