"""A job as a member of a stack: the order of its samples, and its progress."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from clearwatt.training.fleet.job import Job, Trained
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
    """Standard normal draws, `steps x noise_rows(b) x noise_width`."""

    def cut(self, start: int, stop: int) -> "EpochPlan":
        """Some of the steps."""
        return EpochPlan(*(tensor[start:stop] for tensor in self))


def plan_epoch(job: Job, generator: torch.Generator) -> EpochPlan:
    """Shuffle a job's samples into the batches of one epoch."""
    n, batch, network = len(job.inputs), job.training.batch, job.network
    steps = math.ceil(n / batch)
    order = torch.zeros(steps * batch, dtype=torch.int64)
    order[:n] = torch.randperm(n, generator=generator)
    weights = torch.zeros(steps * batch, dtype=job.dtype)
    weights[:n] = 1 if job.weights is None else job.weights[order[:n]]
    sizes = torch.full((steps,), batch, dtype=job.dtype)
    sizes[-1] = n - (steps - 1) * batch
    shape = (steps, network.noise_rows(batch), network.noise_width)
    noise = torch.randn(shape, generator=generator, dtype=job.dtype)
    coefficients = weights.view(steps, batch) / sizes.unsqueeze(1)
    return EpochPlan(order.view(steps, batch), coefficients, sizes, noise)


class FleetMember:
    """A running job: its position in the epoch, and its best weights."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.seconds = 0.0
        self.epochs = 0
        self._generator = torch.Generator().manual_seed(job.seed)
        self._best_params: Params | None = None
        self._best_epoch = 0
        self._best_loss = self._best_rmse = math.inf
        self._diverged = False
        self._most = job.epochs
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._plan = plan_epoch(self.job, self._generator)
        self._cursor = 0
        self._loss = 0.0

    @property
    def steps_left(self) -> int:
        """Steps until the end of this epoch."""
        return len(self._plan.order) - self._cursor

    def advance(self, steps: int) -> EpochPlan:
        """The next batches; the caller trains on them and reports with `record`."""
        start, self._cursor = self._cursor, self._cursor + steps
        return self._plan.cut(start, self._cursor)

    def record(self, loss: float, seconds: float) -> None:
        """Add the summed loss of trained samples, and the time they took."""
        self._loss += loss
        self.seconds += seconds

    def end_epoch(self, params: Params) -> bool:
        """Record the epoch's result for weights `1 x ...`; return whether it was the last."""
        self.epochs += 1
        loss = self._loss / len(self.job.inputs)
        self._diverged = not math.isfinite(loss)
        last = self.epochs == self._most
        if self.job.validation is not None:
            self._validate(params, loss)
        elif last and not self._diverged:
            self._keep(params, loss)
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
        if all(bool(tensor.isfinite().all()) for tensor in params.values()):
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
