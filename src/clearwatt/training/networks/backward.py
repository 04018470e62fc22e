"""Backpropagation written out: one recursion for gradients and for Fisher information.

Autograd does not compute squared per-sample gradients and cannot write into existing memory;
allocating tensors of this size costs as much as the arithmetic.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from clearwatt.training.networks.base import Params
from clearwatt.training.networks.chain import Chain


class Pass:
    """A chain with its weights, results and buffers, for batches of `rows` samples.

    Call without a record for autograd. What it returns is overwritten by the next call.

    Args:
        chain: The layers.
        params: Their weights, `m x ...`.
        out: Tensors like `params` for the results.
        rows: Samples per batch.
        products: `gradient_products` or `squared_products`.
    """

    def __init__(
        self, chain: Chain, params: Params, *, out: Params, rows: int, products: "Products"
    ) -> None:
        layers, results = chain.layers(params), chain.layers(out)
        self._steps = [
            LayerStep(weight, bias, of_weight=of_weight, of_bias=of_bias, rows=rows)
            for (weight, bias), (of_weight, of_bias) in zip(layers, results, strict=True)
        ]
        self._products = products

    def forward(self, x: Tensor) -> Tensor:
        """Map `m x b x in` to `m x b x out`."""
        for step in self._steps[:-1]:
            x = step.forward(x).relu_()
        return self._steps[-1].forward(x)

    def backward(self, delta: Tensor) -> None:
        """Take the gradient with respect to the last output, `m x b x out`, down the layers."""
        for step, below in zip(self._steps[:0:-1], self._steps[-2::-1], strict=True):
            self._products(step, delta)
            delta = step.input_delta(delta)
            torch.ops.aten.threshold_backward.grad_input(delta, below.value, 0, grad_input=delta)
        first = self._steps[0]
        self._products(first, delta)
        self._delta = delta

    def input_delta(self) -> Tensor:
        """The gradient with respect to the input, `m x b x in`; after `backward`."""
        return self._steps[0].input_delta(self._delta)


class LayerStep:
    """One layer; views and buffers are made once, because making them is as slow as small products.

    A layer with one output is a product with a vector; as a matrix product it takes 4 to 10 times
    as long.
    """

    def __init__(
        self, weight: Tensor, bias: Tensor, *, of_weight: Tensor, of_bias: Tensor, rows: int
    ) -> None:
        members, fan_in, fan_out = weight.shape
        self.of_weight, self.of_bias = of_weight, of_bias
        self.of_weight_transposed = of_weight.mT
        self.value = weight.new_empty(members, rows, fan_out)
        self.x, self.x_transposed = self.value, self.value.mT
        self._weight, self._transposed, self._bias = weight, weight.mT, bias.unsqueeze(1)
        self._row = self.value.mT if fan_out == 1 else None
        self._below = weight.new_empty(members, rows, fan_in)

    def forward(self, x: Tensor) -> Tensor:
        """`x @ weight + bias`."""
        if x is not self.x:
            self.x, self.x_transposed = x, x.mT
        if self._row is None:
            torch.baddbmm(self._bias, x, self._weight, out=self.value)
        else:
            torch.baddbmm(self._bias, self._transposed, self.x_transposed, out=self._row)
        return self.value

    def input_delta(self, delta: Tensor) -> Tensor:
        """`delta @ weight^T`."""
        if self._row is None:
            return torch.bmm(delta, self._transposed, out=self._below)
        return torch.mul(delta, self._transposed, out=self._below)


Products = Callable[[LayerStep, Tensor], None]
"""What to do at a layer with its delta: write the results of its weight and bias."""


def gradient_products(layer: LayerStep, delta: Tensor) -> None:
    """Gradients of a layer: the sum over samples of input times delta."""
    if delta.shape[2] == 1:
        torch.bmm(delta.mT, layer.x, out=layer.of_weight_transposed)
    else:
        torch.bmm(layer.x_transposed, delta, out=layer.of_weight)
    torch.sum(delta, dim=1, out=layer.of_bias)


def squared_products(layer: LayerStep, delta: Tensor) -> None:
    """Add the squared per-sample gradients of a layer, summed over samples.

    A sample's gradient of a weight is `x_i * delta_j`: the sum of its squares over samples is one
    matrix product of squares, with no loop over samples.
    """
    square = delta.square()
    layer.of_weight.baddbmm_(layer.x.square().mT, square)
    layer.of_bias.add_(square.sum(dim=1))


def weigh_errors(
    output: Tensor, target: Tensor, coefficients: Tensor, *, outputs: int
) -> tuple[Tensor, Tensor]:
    """Squared errors averaged over `outputs`, `m x b`, and their weighted delta (in `output`)."""
    residual = output.sub_(target)
    if residual.shape[2] == 1:
        losses = residual.square().squeeze(2)
    else:
        losses = torch.linalg.vector_norm(residual, dim=2).square_().div_(outputs)
    return losses, residual.mul_(coefficients.mul(2 / outputs).unsqueeze(2))
