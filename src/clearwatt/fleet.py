"""The one training loop: many models of one shape trained as a stack.

Every member has its own data, order, seed, penalty and sample weights. Its result is the same, up
to float rounding, whichever members it is stacked with.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, DataError
from clearwatt.networks import Network, Params, select

STACK_VALUES = 400_000
"""Weights in a stack of the default size; beyond it the optimiser's state leaves the cache."""


@dataclass(frozen=True)
class Training:
    """How long and how fast a model trains; the defaults are the paper's warm-up.

    Args:
        epochs: Passes over the data at most.
        patience: Epochs without a better validation error before stopping; `None` never stops
            early. Without validation data all epochs are run.
        batch: Samples per step.
        learning_rate: Adam's step size.
        weight_decay: Adam's L2 regularisation.
    """

    epochs: int = 512
    patience: int | None = 50
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("epochs", self.epochs), ("batch", self.batch)):
            if value < 1:
                raise ConfigurationError(f"{name} is {value}; it must be at least 1")
        if self.patience is not None and self.patience < 1:
            raise ConfigurationError(f"patience is {self.patience}; use at least 1, or None")
        if not 0 < self.learning_rate < float("inf"):
            raise ConfigurationError(f"learning_rate is {self.learning_rate}; it must be positive")
        if not 0 <= self.weight_decay < float("inf"):
            raise ConfigurationError(f"weight_decay is {self.weight_decay}; it must be >= 0")


@dataclass(frozen=True, eq=False)
class Penalty:
    """`strength / 2 * sum(importance * (weights - anchor)^2)`, added to every batch's loss.

    Args:
        anchor: Weights to stay near, `1 x ...`.
        importance: How much each weight matters, `1 x ...`; the Fisher information in EWC.
        strength: The penalty's weight against the loss.
    """

    anchor: Params
    importance: Params
    strength: float

    def __post_init__(self) -> None:
        if not 0 <= self.strength < float("inf"):
            raise ConfigurationError(f"strength is {self.strength}; it must be finite and >= 0")


@dataclass(frozen=True, eq=False)
class Job:
    """One model to train.

    Args:
        network: The model's shape.
        params: Initial weights, `1 x ...`; not modified.
        inputs: Samples, `n x d`.
        targets: What to predict, `n x o`; `None` to reconstruct the inputs.
        training: How to train.
        seed: Of the order of samples and of a stochastic loss.
        weights: What each sample's loss counts, `n`; `None` for 1 each.
        penalty: A pull towards earlier weights.
        validation: Inputs and targets (or `None`) that decide on early stopping.
    """

    network: Network
    params: Params
    inputs: Tensor
    targets: Tensor | None
    training: Training
    seed: int
    weights: Tensor | None = None
    penalty: Penalty | None = None
    validation: tuple[Tensor, Tensor | None] | None = None

    def __post_init__(self) -> None:
        _check_rows(self, "training", self.inputs, self.targets)
        if self.validation is not None:
            _check_rows(self, "validation", *self.validation)
        if self.weights is not None and self.weights.shape != self.inputs.shape[:1]:
            raise DataError(
                f"weights have shape {tuple(self.weights.shape)}; give one per sample, "
                f"({self.inputs.shape[0]},)"
            )
        if any(tensor.shape[0] != 1 for tensor in self.params.values()):
            raise DataError("a job trains one model; take it from a stack with networks.select")

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights, and so of the training."""
        return next(iter(self.params.values())).dtype


class Trained(NamedTuple):
    """What became of a job.

    `diverged` tells that the loss was no longer finite: training stopped, and `params` are the
    best weights seen until then (by validation) or, without validation, the initial ones.
    """

    params: Params
    epochs: int
    best_epoch: int
    training_loss: float
    validation_rmse: float | None
    seconds: float
    diverged: bool = False


def train(jobs: Sequence[Job], *, stack: int | None = None) -> list[Trained]:
    """Train every job and return the results in the order of the jobs.

    Jobs of equal network, training and dtype are trained together, up to `stack` at a time.

    Args:
        jobs: Models to train; they may differ in everything.
        stack: Members of a stack; by default what keeps the stack in the processor's cache.
    """
    if stack is not None and stack < 1:
        raise ConfigurationError(f"stack is {stack}; it must be at least 1")
    results: dict[int, Trained] = {}
    with one_thread(), torch.no_grad():
        for group in _groups(jobs):
            size = stack or default_stack(jobs[group[0]])
            for start in range(0, len(group), size):
                chunk = group[start : start + size]
                done = _Stack([jobs[i] for i in chunk]).run()
                results.update(zip(chunk, done, strict=True))
    return [results[i] for i in range(len(jobs))]


def default_stack(job: Job) -> int:
    """Members that train fastest together, as measured by `benchmarks/fleet.py`."""
    size = sum(tensor.numel() for tensor in job.params.values())
    return max(4, min(32, STACK_VALUES // size))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: a second one only costs on networks this small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _groups(jobs: Sequence[Job]) -> list[list[int]]:
    """Positions of jobs that can be stacked; within a group, jobs of similar length adjoin."""
    groups: dict[object, list[int]] = {}
    for position, job in enumerate(jobs):
        key = (job.network, job.training, job.penalty is not None, job.dtype)
        groups.setdefault(key, []).append(position)
    return [sorted(group, key=lambda i: len(jobs[i].inputs)) for group in groups.values()]


class _Member:
    """One job's place in the stack: its order, its cursor and its record."""

    def __init__(self, job: Job, *, first_row: int) -> None:
        self.job = job
        self.first_row = first_row
        self.generator = torch.Generator().manual_seed(job.seed)
        self.steps = -(-len(job.inputs) // job.training.batch)
        self.epochs = 0
        self.best_epoch = 0
        self.best_rmse = float("inf")
        self.best_params = job.params
        self.loss_sum = 0.0
        self.loss = float("nan")
        self.best_loss = float("nan")
        self.seconds = 0.0
        self.diverged = False
        self.new_epoch()

    def new_epoch(self) -> None:
        """Shuffle the samples and cut them into batches; a short last one is filled with 0s."""
        n, batch = len(self.job.inputs), self.job.training.batch
        order = torch.randperm(n, generator=self.generator)
        padded = torch.zeros(self.steps * batch, dtype=torch.int64)
        padded[:n] = order
        coefficients = torch.zeros(self.steps * batch, dtype=self.job.dtype)
        coefficients[:n] = 1 if self.job.weights is None else self.job.weights[order]
        self.rows = (padded + self.first_row).view(self.steps, batch)
        self.coefficients = coefficients.view(self.steps, batch)
        self.coefficients[:-1] /= batch
        self.coefficients[-1] /= n - (self.steps - 1) * batch
        self.counts = torch.full((self.steps,), batch, dtype=self.job.dtype)
        self.counts[-1] = n - (self.steps - 1) * batch
        width = self.job.network.noise_width
        if width:
            self.noise = torch.randn(
                self.steps * batch, width, generator=self.generator, dtype=self.job.dtype
            ).view(self.steps, batch, width)
        self.cursor = 0
        self.loss_sum = 0.0

    @property
    def steps_left(self) -> int:
        return self.steps - self.cursor


class _Stack:
    """Members that train together; those that finish leave."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        job = jobs[0]
        self.network, self.training = job.network, job.training
        self.rows = torch.cat([job.inputs for job in jobs])
        self.targets = None if job.targets is None else torch.cat([_targets(job) for job in jobs])
        self.members = []
        first = 0
        for each in jobs:
            self.members.append(_Member(each, first_row=first))
            first += len(each.inputs)
        self.active = list(self.members)
        self.penalised = job.penalty is not None
        self._build([j.params for j in jobs])

    def _build(self, params: list[Params]) -> None:
        self.params = {n: torch.cat([p[n] for p in params]) for n in params[0]}
        self.gradient = {n: torch.zeros_like(t) for n, t in self.params.items()}
        for name, tensor in self.params.items():
            tensor.grad = self.gradient[name]
        self.optimizer = torch.optim.Adam(
            list(self.params.values()),
            lr=self.training.learning_rate,
            weight_decay=self.training.weight_decay,
            fused=True,
        )
        if self.penalised:
            penalties = [m.job.penalty for m in self.active if m.job.penalty is not None]
            self.anchor = {n: torch.cat([p.anchor[n] for p in penalties]) for n in self.params}
            self.pull = {
                n: torch.cat([p.strength * p.importance[n] for p in penalties]) for n in self.params
            }

    def run(self) -> list[Trained]:
        while self.active:
            self._advance(min(member.steps_left for member in self.active))
            self._close_epochs()
        return [self._result(m) for m in self.members]

    def _advance(self, steps: int) -> None:
        """Train every member for so many steps; none crosses the end of its epoch."""
        started = time.perf_counter()
        cut = [(m, slice(m.cursor, m.cursor + steps)) for m in self.active]
        rows = torch.stack([m.rows[s] for m, s in cut], dim=1)
        coefficients = torch.stack([m.coefficients[s] for m, s in cut], dim=1)
        counts = torch.stack([m.counts[s] for m, s in cut], dim=1)
        noise = (
            torch.stack([m.noise[s] for m, s in cut], dim=1) if self.network.noise_width else None
        )
        sums = torch.zeros(len(cut), dtype=self.rows.dtype)
        for step in range(steps):
            x = self.rows[rows[step]]
            target = x if self.targets is None else self.targets[rows[step]]
            losses = self.network.gradients(
                self.params,
                x,
                target,
                coefficients=coefficients[step],
                out=self.gradient,
                noise=None if noise is None else noise[step],
            )
            sums += (losses * coefficients[step]).sum(dim=1) * counts[step]
            if self.penalised:
                for name, gradient in self.gradient.items():
                    gradient.addcmul_(self.pull[name], self.params[name] - self.anchor[name])
            self.optimizer.step()
        share = (time.perf_counter() - started) / len(cut)
        for member, loss in zip(self.active, sums.tolist(), strict=True):
            member.cursor += steps
            member.loss_sum += loss
            member.seconds += share

    def _close_epochs(self) -> None:
        staying = []
        for i, member in enumerate(self.active):
            if member.steps_left or not self._close_epoch(i, member):
                staying.append(i)
        if len(staying) < len(self.active):
            self._keep(staying)

    def _close_epoch(self, i: int, m: _Member) -> bool:
        """Record an epoch's end; true if it was the member's last."""
        m.epochs += 1
        m.loss = m.loss_sum / len(m.job.inputs)
        if not torch.isfinite(torch.tensor(m.loss)):
            m.diverged = True
            return True
        if m.job.validation is not None:
            params = select(self.params, i)
            x, target = m.job.validation
            error = self.network.forward(params, x[None]) - (x if target is None else target)
            rmse = error.square().mean().sqrt().item()
            if rmse < m.best_rmse:
                m.best_rmse, m.best_epoch, m.best_params = rmse, m.epochs, params
                m.best_loss = m.loss
            patience = self.training.patience
            if patience is not None and m.epochs - m.best_epoch >= patience:
                return True
        if m.epochs == self.training.epochs:
            if m.job.validation is None:
                m.best_params, m.best_epoch = select(self.params, i), m.epochs
                m.best_loss = m.loss
            return True
        m.new_epoch()
        return False

    def _keep(self, staying: list[int]) -> None:
        if not staying:
            self.active = []
            return
        state = [self.optimizer.state[t] for t in self.params.values()]
        self.active = [self.active[i] for i in staying]
        self._build([select(self.params, i) for i in staying])
        for tensor, old in zip(self.params.values(), state, strict=True):
            self.optimizer.state[tensor] = {
                "step": old["step"],
                "exp_avg": old["exp_avg"][staying],
                "exp_avg_sq": old["exp_avg_sq"][staying],
            }

    def _result(self, m: _Member) -> Trained:
        rmse = None if m.job.validation is None else m.best_rmse
        return Trained(
            m.best_params, m.epochs, m.best_epoch, m.best_loss, rmse, m.seconds, m.diverged
        )


def _targets(job: Job) -> Tensor:
    return job.inputs if job.targets is None else job.targets


def _check_rows(job: Job, what: str, inputs: Tensor, targets: Tensor | None) -> None:
    """Refuse samples the network cannot learn from."""
    wanted = inputs if targets is None else targets
    widths = ((inputs, "inputs", job.network.inputs), (wanted, "targets", job.network.outputs))
    for tensor, name, width in widths:
        if tensor.ndim != 2 or tensor.shape[1] != width or len(tensor) != len(inputs):
            raise DataError(
                f"{what} {name} have shape {tuple(tensor.shape)}; "
                f"the network needs ({len(inputs)}, {width})"
            )
        if tensor.dtype != job.dtype:
            raise DataError(f"{what} {name} are {tensor.dtype}, the weights {job.dtype}; use one")
        if not bool(tensor.isfinite().all()):
            raise DataError(f"{what} {name} hold NaN or infinity; remove those samples")
    if len(inputs) == 0:
        raise DataError(f"no {what} samples; give at least one")
