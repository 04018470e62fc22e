"""A job as a member of a stack: the order of its samples, and its progress."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from clearwatt.training.fleet.job import Job, Trained, all_finite
from clearwatt.training.networks import Params


class EpochPlan(NamedTuple):
    """Batches of one member, `steps` of them.

    A short batch is filled with sample 0 at coefficient 0.
    """

    order: Tensor
    """Which sample, `steps x b`."""
    coefficients: Tensor
    """Weight of its loss: the sample's weight divided by the batch's true size, `steps x b`."""
    sizes: Tensor
    """True sizes of the batches, `steps`."""
    noise: Tensor
    """Standard normal values for the loss, `steps x noise_rows(b) x noise_width`."""

    def cut(self, start: int, stop: int) -> "EpochPlan":
        """Some of the steps."""
        return EpochPlan(*(tensor[start:stop] for tensor in self))


class EpochPlanner:
    """Shuffles a job's samples into the batches of an epoch, again and again.

    What is the same in each epoch is computed once: a small network takes a step in less time than
    a handful of calls of torch.
    """

    def __init__(self, job: Job) -> None:
        self.samples = len(job.inputs)
        self._generator = torch.Generator().manual_seed(job.seed)
        self._weights = job.weights
        batch, network = job.batch_rows, job.network
        steps = math.ceil(self.samples / batch)
        self._order = torch.zeros(steps, batch, dtype=torch.int64)
        self._shares = torch.zeros(steps, batch, dtype=job.dtype)
        self._sizes = torch.full((steps,), batch, dtype=job.dtype)
        self._sizes[-1] = self.samples - (steps - 1) * batch
        self._shares.view(-1)[: self.samples] = 1
        self._shares /= self._sizes.unsqueeze(1)
        self._noise = torch.empty(
            steps, network.noise_rows(batch), network.noise_width, dtype=job.dtype
        )

    def plan(self) -> EpochPlan:
        """The next epoch; it is overwritten by the next call."""
        order = self._order.view(-1)[: self.samples]
        torch.randperm(self.samples, generator=self._generator, out=order)
        coefficients = self._shares
        if self._weights is not None:
            weights = torch.zeros_like(coefficients)
            weights.view(-1)[: self.samples] = self._weights[order]
            coefficients = weights / self._sizes.unsqueeze(1)
        if self._noise.numel():
            self._noise.normal_(generator=self._generator)
        return EpochPlan(self._order, coefficients, self._sizes, self._noise)


class FleetMember:
    """A running job: its position in the epoch, and its best weights."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seconds = 0.0
        self.epochs = 0
        self._planner = EpochPlanner(job)
        self._best_params: Params | None = None
        self._best_epoch = 0
        self._best_loss = self._best_rmse = math.inf
        self._diverged = False
        self._most = job.epochs
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._plan = self._planner.plan()
        self._steps, self._cursor = len(self._plan.order), 0
        self._loss = 0.0

    @property
    def steps_left(self) -> int:
        """Steps until the end of this epoch."""
        return self._steps - self._cursor

    def advance(self, steps: int) -> EpochPlan:
        """The next batches; the caller trains on them and reports with `record`."""
        start, self._cursor = self._cursor, self._cursor + steps
        return self._plan if steps == self._steps else self._plan.cut(start, self._cursor)

    def record(self, loss: float, seconds: float) -> None:
        """Add the summed loss of trained samples, and the time they took."""
        self._loss += loss
        self.seconds += seconds

    def end_epoch(self, weights: Callable[[], Params]) -> bool:
        """Record the epoch's result for weights `1 x ...`; return whether it was the last."""
        self.epochs += 1
        loss = self._loss / self._planner.samples
        self._diverged = not math.isfinite(loss)
        last = self.epochs == self._most
        if self.job.validation is not None:
            self._validate(weights(), loss)
        elif last and not self._diverged:
            self._keep(weights(), loss)
        if self._diverged or last or self._out_of_patience():
            return True
        self._begin_epoch()
        return False

    def _validate(self, params: Params, loss: float) -> None:
        rmse = validation_rmse(self.job, params)
        if rmse < self._best_rmse:
            self._best_rmse = rmse
            self._keep(params, loss)

    def _keep(self, params: Params, loss: float) -> None:
        if all(map(all_finite, params.values())):
            self._best_params = {name: tensor.clone() for name, tensor in params.items()}
            self._best_epoch, self._best_loss = self.epochs, loss

    def _out_of_patience(self) -> bool:
        patience = self.job.training.patience
        if patience is None or self.job.validation is None:
            return False
        return self.epochs - self._best_epoch >= patience

    def result(self) -> Trained:
        """The result of the job."""
        best, network = self._best_params, self.job.network
        return Trained(
            params=self.job.params if best is None else network.trim(best),
            epochs=self.epochs,
            best_epoch=self._best_epoch,
            training_loss=self._best_loss,
            validation_rmse=None if self.job.validation is None else self._best_rmse,
            seconds=self.seconds,
            diverged=self._diverged or best is None,
        )


def validation_rmse(job: Job, params: Params) -> float:
    """Root mean square error of aligned weights (`1 x ...`) on the job's validation samples."""
    assert job.validation is not None
    inputs, targets = job.validation
    wanted = inputs if targets is None else targets
    found = job.network.forward(params, job.network.align_inputs(inputs)[None])[0]
    return math.sqrt((found[:, : job.network.outputs] - wanted).square().mean().item())
