"""Networks of several entities as one stack: they forecast in one pass."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import torch

from clearwatt.adaptive.network import DropoutPredictor
from clearwatt.arrays import Float32Array
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Params
from clearwatt.training.networks.chain import BLOCK_VALUES

MANY_ROWS = 100
"""Rows from which on torch forecasts faster than numpy."""


class StackedNetworks(NamedTuple):
    """`m` networks of each of `e` entities, by layer.

    Most inputs are the same for all networks, so the first layers of all are one.
    """

    first: Float32Array
    """Weights of the first layer, for what all networks see, `v x (e m out)`."""
    lagged: Float32Array
    """Weights of the first layer, for past measurements, `e x m x l x out`."""
    offset: Float32Array
    """Biases of the first layer, `e m out`."""
    others: list[tuple[Float32Array, Float32Array]]
    """Weights, `e m x in x out`, and biases, `e m x 1 x out`, of the other layers."""

    @classmethod
    def of(
        cls,
        network: DropoutPredictor,
        params: Params,
        shown: Float32Array,
        *,
        inputs: int,
        entities: int,
    ) -> Self:
        """A stack of networks of one shape.

        Args:
            network: Their shape.
            params: Their weights, `e m x ...`.
            shown: 1 for columns that a network sees, 0 for those hidden from it, `m x (v + l)`.
            inputs: Width `v` of what all networks see.
            entities: Number `e` of entities.
        """
        (first, offset), *others = [
            layer for chain in network.chains for layer in chain.layers(params)
        ]
        whole = np.tile(shown, (entities, 1))[..., None] * first.numpy()
        seen, lagged = whole[:, :inputs], whole[:, inputs:]
        return cls(
            first=np.ascontiguousarray(seen.swapaxes(0, 1)).reshape(inputs, -1),
            lagged=np.ascontiguousarray(lagged).reshape(entities, len(shown), *lagged.shape[1:]),
            offset=offset.numpy().reshape(-1),
            others=[(weight.numpy(), bias.unsqueeze(1).numpy()) for weight, bias in others],
        )

    @property
    def size(self) -> int:
        """Number of networks, `e m`."""
        return len(self.others[-1][0])

    def forward(self, seen: Float32Array, lagged: Float32Array) -> Float32Array:
        """Output of all networks, `e m x n`.

        Args:
            seen: What all networks see, `n x v`.
            lagged: Past measurements of each entity, `e x n x l`.
        """
        forward = self._forward_few if len(seen) < MANY_ROWS else self._forward_many
        return forward(seen, lagged)

    def _forward_few(self, seen: Float32Array, lagged: Float32Array) -> Float32Array:
        """In numpy, which starts faster than torch."""
        first = seen @ self.first
        first += self.offset
        x: Float32Array = first.reshape(len(seen), self.size, -1).swapaxes(0, 1)
        if lagged.shape[2]:
            x = x + (lagged[:, None] @ self.lagged).reshape(x.shape)
        np.maximum(x, 0, out=x)
        *hidden, (weight, bias) = self.others
        for matrix, shift in hidden:
            x = x @ matrix
            x += shift
            np.maximum(x, 0, out=x)
        x = x @ weight
        x += bias
        return x[..., 0]

    @one_thread()
    @torch.inference_mode()
    def _forward_many(self, seen: Float32Array, lagged: Float32Array) -> Float32Array:
        """In torch, block by block, so that a block fits the cache."""
        first, offset, own = map(torch.from_numpy, (self.first, self.offset, self.lagged))
        others = [(torch.from_numpy(each), torch.from_numpy(bias)) for each, bias in self.others]
        *hidden, (weight, bias) = others
        before = torch.from_numpy(np.ascontiguousarray(lagged)).unsqueeze(1)
        output = torch.empty(self.size, 1, len(seen))
        size = max(MANY_ROWS, BLOCK_VALUES // first.shape[1])
        for start in range(0, len(seen), size):
            rows = torch.from_numpy(np.ascontiguousarray(seen[start : start + size]))
            x = torch.addmm(offset, rows, first).view(len(rows), self.size, -1).transpose(0, 1)
            if before.shape[3]:
                part = before[:, :, start : start + size] @ own
                x = part.reshape(x.shape).add_(x)
            x = x.relu_()
            for matrix, shift in hidden:
                x = torch.baddbmm(shift, x, matrix).relu_()
            output[..., start : start + size] = torch.baddbmm(bias, weight.mT, x.mT)
        found: Float32Array = output[:, 0].numpy()
        return found
