"""The weights of a stack and their optimiser, in a form that one fused step updates."""

from collections.abc import Sequence

import torch
from torch import Tensor

from clearwatt.training.fleet.job import Job, Training
from clearwatt.training.networks import Params, stack

LINE = 16
"""Tensors begin at multiples of this many values (a cache line of float32)."""


class Weights:
    """Weights, gradients and Adam's moments, each one flat tensor with named views into it.

    All members have taken the same number of steps, so one Adam serves them all. With
    `Training.averaging`, a running mean of the weights is kept beside them.
    """

    def __init__(self, params: Params, training: Training) -> None:
        self._flat, self.params = flatten(params)
        self._gradient, self._mean, self._square = (torch.zeros_like(self._flat) for _ in range(3))
        self.gradients = flat_views(self._gradient, params)
        self._steps = torch.tensor(0.0)
        self._training = training
        self._running = self._flat.clone() if training.averaging else self._flat
        self._results = flat_views(self._running, params)

    def member(self, position: int) -> Params:
        """Views of what training has led to for one member, `1 x ...`: its mean or its weights."""
        return {name: tensor[position : position + 1] for name, tensor in self._results.items()}

    def step(self) -> None:
        """One Adam step along the gradients, with torch's default betas and epsilon.

        Calls the kernel: on small networks torch's function around it doubles the cost.
        """
        self._steps.add_(1)
        torch._fused_adam_(
            [self._flat],
            [self._gradient],
            [self._mean],
            [self._square],
            [],
            [self._steps],
            lr=self._training.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=self._training.weight_decay,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
        if self._training.averaging:
            self._running.lerp_(self._flat, 1 - self._decay())

    def _decay(self) -> float:
        """What the mean keeps in this step: at first less, so that it soon leaves the start."""
        steps = float(self._steps)
        return min(self._training.averaging, (1 + steps) / (10 + steps))

    def keep(self, positions: Sequence[int]) -> "Weights":
        """Weights, moments and step count of some of the members."""
        rows = torch.tensor(positions)
        kept = Weights({name: t[rows] for name, t in self.params.items()}, self._training)
        kept._mean, kept._square = (
            self._rows_of(self._mean, rows),
            self._rows_of(self._square, rows),
        )
        kept._steps = self._steps
        if self._training.averaging:
            kept._running.copy_(self._rows_of(self._running, rows))
        return kept

    def _rows_of(self, moment: Tensor, rows: Tensor) -> Tensor:
        views = flat_views(moment, self.params)
        return flatten({name: tensor[rows] for name, tensor in views.items()})[0]


class PenaltyGradient:
    """The gradient of the members' penalties, in closed form."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        network, penalties = jobs[0].network, [job.penalty for job in jobs if job.penalty]
        self.anchor = stack([network.align(penalty.anchor) for penalty in penalties])
        self.factor = stack(
            [
                {name: p.strength * tensor for name, tensor in network.align(p.importance).items()}
                for p in penalties
            ]
        )

    def add_to(self, weights: Weights) -> None:
        """Add `strength * importance * (weights - anchor)` to the gradients."""
        for name, gradient in weights.gradients.items():
            gradient.addcmul_(self.factor[name], weights.params[name] - self.anchor[name])


def flatten(params: Params) -> tuple[Tensor, Params]:
    """Copy tensors into one flat tensor; return it with views of the parts."""
    example = next(iter(params.values()))
    flat = torch.zeros(sum(_padded_size(tensor) for tensor in params.values()), dtype=example.dtype)
    views = flat_views(flat, params)
    for name, tensor in params.items():
        views[name].copy_(tensor)
    return flat, views


def flat_views(flat: Tensor, like: Params) -> Params:
    """Views into a flat tensor, named and shaped as those of `like`."""
    views: Params = {}
    start = 0
    for name, tensor in like.items():
        views[name] = flat[start : start + tensor.numel()].view(tensor.shape)
        start += _padded_size(tensor)
    return views


def _padded_size(tensor: Tensor) -> int:
    return -(-tensor.numel() // LINE) * LINE
