"""Jobs: what to train and how, and the result."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import torch
from torch import Tensor

from clearwatt.errors import ConfigurationError, DataError, require_whole
from clearwatt.packing import ADDED
from clearwatt.training.networks import Network, Params

LEAST_EPOCHS = 4
"""Minimum epochs of a training with limited work; see docs/decisions.md."""

BATCH_SIZES = 8
"""Number of different `Job.batch_rows` for samples that do not fill a batch."""


@dataclass(frozen=True)
class Training:
    """How long and how fast a model trains; the defaults are the paper's warm-up.

    Args:
        epochs: Maximum number of passes over the data.
        patience: Epochs without a better validation error before stopping; `None` never stops
            early. Without validation data all epochs are run.
        batch: Samples per step.
        learning_rate: Adam's step size.
        weight_decay: Adam's L2 regularisation.
        work: Upper limit of weights times epochs. A large network learns more per epoch and so
            takes fewer (at least `LEAST_EPOCHS`); `None` for no such limit.
        averaging: Decay per step of a running mean of the weights, which is then the result; 0 for
            the weights of the last step. The mean needs fewer epochs for the same error.
    """

    epochs: int = 512
    patience: int | None = 50
    batch: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    work: int | None = None
    averaging: float = field(default=0.0, metadata=ADDED)

    def __post_init__(self) -> None:
        require_whole(epochs=self.epochs, batch=self.batch)
        if self.work is not None:
            require_whole(work=self.work)
        if self.patience is not None:
            require_whole(patience=self.patience)
        if not 0 < self.learning_rate < float("inf"):
            raise ConfigurationError(f"learning_rate is {self.learning_rate}; it must be positive")
        if not 0 <= self.weight_decay < float("inf"):
            raise ConfigurationError(f"weight_decay is {self.weight_decay}; it must be >= 0")
        if not 0 <= self.averaging < 1:
            raise ConfigurationError(
                f"averaging is {self.averaging}; it must be at least 0 and below 1"
            )

    def epochs_for(self, weights: int) -> int:
        """Maximum number of epochs for a network with `weights` weights."""
        if self.work is None:
            return self.epochs
        return min(self.epochs, max(LEAST_EPOCHS, self.work // weights))


UPDATE = Training(epochs=30, patience=None, work=300_000)
"""How an update trains by default; see docs/decisions.md."""


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
        weights: Weight of each sample's loss, `n`; `None` for 1 each.
        penalty: Keeps the weights near earlier ones.
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
        if self.weights is not None:
            _check_weights(self.weights, len(self.inputs))
        if self.penalty is not None:
            _check_like(self.params, self.penalty.anchor, "anchor")
            _check_like(self.params, self.penalty.importance, "importance")
        if any(tensor.shape[0] != 1 for tensor in self.params.values()):
            raise DataError("a job trains one model; take it from a stack with networks.select")

    @property
    def epochs(self) -> int:
        """Maximum number of epochs."""
        return self.training.epochs_for(sum(tensor.numel() for tensor in self.params.values()))

    @property
    def batch_rows(self) -> int:
        """Rows of a batch in memory.

        They are fewer than `Training.batch` if there are fewer samples. They are rounded up, so
        that jobs with nearly as many samples can train in one stack.
        """
        batch = self.training.batch
        step = max(1, batch // BATCH_SIZES)
        return min(batch, -(-len(self.inputs) // step) * step)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights, and so of the training."""
        return next(iter(self.params.values())).dtype

    @property
    def identity(self) -> "JobIdentity":
        """Network, training, seed and a checksum of all tensors; equal jobs train to equal weights.

        Two jobs with the same tensors under other names have different networks.
        """
        found = sha256()
        for tensor in self._tensors():
            found.update(b"" if tensor is None else repr((tensor.shape, tensor.dtype)).encode())
            found.update(b"," if tensor is None else tensor.contiguous().numpy().data)
        return self.network, self.training, self.seed, found.digest()

    def _tensors(self) -> Iterator[Tensor | None]:
        """All tensors in a fixed order; None for what the job does without."""
        yield from (self.inputs, self.targets, self.weights)
        yield from self.params.values()
        penalty, validation = self.penalty, self.validation
        yield None if penalty is None else torch.tensor(penalty.strength, dtype=torch.float64)
        if penalty is not None:
            yield from (part[name] for name in self.params for part in _parts(penalty))
        yield from (None,) if validation is None else validation


JobIdentity = tuple[Network, Training, int, bytes]


class Trained(NamedTuple):
    """The result of a job.

    `diverged` means that the loss was no longer finite. Training then stopped, and `params` are
    the best weights so far (by validation) or, without validation, the initial ones.
    """

    params: Params
    epochs: int
    best_epoch: int
    training_loss: float
    validation_rmse: float | None
    seconds: float
    diverged: bool = False


def all_finite(tensor: Tensor) -> bool:
    """Whether no value is NaN or infinite."""
    # A sum is finite only if all its terms are, and takes a tenth of the time. It may overflow.
    return math.isfinite(float(tensor.sum())) or bool(tensor.isfinite().all())


def _parts(penalty: Penalty) -> tuple[Params, Params]:
    return penalty.anchor, penalty.importance


def _check_weights(weights: Tensor, samples: int) -> None:
    if weights.shape != (samples,):
        raise DataError(
            f"weights have shape {tuple(weights.shape)}; give one per sample, ({samples},)"
        )
    if not (all_finite(weights) and bool((weights >= 0).all())):
        raise DataError("weights hold negative or non-finite values; use finite ones >= 0")


def _check_like(params: Params, others: Params, what: str) -> None:
    for name, tensor in params.items():
        if name not in others or others[name].shape != tensor.shape:
            raise DataError(
                f"the penalty's {what} has no {name} of shape {tuple(tensor.shape)}; "
                "take it from a model of the same network"
            )


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
        checked = tensor
        if name == "targets" and job.network.optional_targets:
            checked = tensor.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
        if not all_finite(checked):
            raise DataError(f"{what} {name} hold NaN or infinity; remove those samples")
    if len(inputs) == 0:
        raise DataError(f"no {what} samples; give at least one")
