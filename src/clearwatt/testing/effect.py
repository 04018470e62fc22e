"""Check that a strategy has an effect, compared with plain fine-tuning on the same novelty."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from clearwatt.strategies import FineTune, Strategy
from clearwatt.testing.scenario import scenario, start
from clearwatt.training.fleet import Job, Trained, one_thread, train
from clearwatt.training.networks import JointNetwork, Params

_NOTHING = 1e-6
"""Relative difference of gradients that counts as no effect; computed in double precision."""


@dataclass(frozen=True)
class _FineTunePairs(FineTune):
    """Reference for strategies whose components update together."""

    synchronous: ClassVar[bool] = True


@dataclass(frozen=True)
class _FineTuneJointly(FineTune):
    """Reference for strategies whose components train as one network."""

    synchronous: ClassVar[bool] = True

    @property
    def trains_jointly(self) -> bool:
        return True


def check_effect_on_training(strategy: Strategy) -> None:
    """Check that penalty and replay change the gradient and the trained weights.

    Strategies that never update, and `FineTune` itself, pass.
    """
    if isinstance(strategy, FineTune) or not strategy.updates:
        return
    with one_thread():
        plain = _first_jobs(_fine_tuning_like(strategy))
        for component, job in _first_jobs(deepcopy(strategy)).items():
            where = f"{type(strategy).__name__} on the {component}"
            _check_gradient(where, job, plain[component])
            _check_result(where, job, plain[component])


def _check_gradient(where: str, job: Job, plain: Job) -> None:
    """Compare gradients away from the deployed weights, where a penalty must have an effect."""
    (moved,) = train([plain])
    own, theirs = (_gradient(each, moved.params) for each in (job, plain))
    replays = len(job.inputs) > len(plain.inputs)
    assert replays or job.penalty is not None, (
        f"{where}: neither penalty nor replay, so this is plain fine-tuning"
    )
    if replays:
        assert _angle_sine(own, theirs) > _NOTHING, (
            f"{where}: {len(job.inputs) - len(plain.inputs)} samples are replayed, but the "
            "gradient points where plain fine-tuning's does; check their weights"
        )
    if job.penalty is not None:
        pull = _penalty_gradient(job, moved.params)
        assert pull.norm() > _NOTHING * own.norm(), (
            f"{where}: the penalty's gradient is zero; check its strength and its importance"
        )


def _check_result(where: str, job: Job, plain: Job) -> None:
    """Compare trained weights with samples in the same order, so that only objectives differ."""
    own, theirs = train([replace(each, seed=0) for each in (job, plain)])
    assert _distance(own.params, theirs.params) > _NOTHING, (
        f"{where}: the trained weights are those of plain fine-tuning"
    )


def _fine_tuning_like(strategy: Strategy) -> Strategy:
    """Plain fine-tuning whose components train as those of the strategy do."""
    if not strategy.synchronous:
        return FineTune()
    return _FineTuneJointly() if strategy.trains_jointly else _FineTunePairs()


def _first_jobs(strategy: Strategy) -> dict[str, Job]:
    """The first job of each component, or of both together; no weights change in between."""
    data = scenario()
    stream = start(strategy).stream(data.x, data.y[:, :1])
    wanted = {"pair"} if strategy.trains_jointly else {"autoencoder", "predictor"}
    found: dict[str, Job] = {}
    try:
        jobs = next(stream)
        while found.keys() != wanted:
            for job in jobs:
                found.setdefault(_part_of(job), job)
            jobs = stream.send([_result_without_training(job) for job in jobs])
    except StopIteration:
        missing = wanted - found.keys()
        assert not missing, f"{type(strategy).__name__}: the {missing.pop()} was never updated"
    stream.close()
    return found


def _part_of(job: Job) -> str:
    if isinstance(job.network, JointNetwork):
        return "pair"
    return "autoencoder" if job.targets is None else "predictor"


def _result_without_training(job: Job) -> Trained:
    return Trained(job.params, 0, 0, training_loss=0.0, validation_rmse=None, seconds=0.0)


def _gradient(job: Job, params: Params) -> Tensor:
    """Gradient of a job's loss on all its samples, without its penalty, as one vector."""
    targets = job.inputs if job.targets is None else job.targets
    weights = torch.ones(len(job.inputs)) if job.weights is None else job.weights
    _, gradient = job.network.gradients(
        {name: tensor.double() for name, tensor in params.items()},
        job.inputs.double()[None],
        targets.double()[None],
        coefficients=weights.double()[None] / len(job.inputs),
    )
    return torch.cat([tensor.flatten() for tensor in gradient.values()])


def _penalty_gradient(job: Job, params: Params) -> Tensor:
    """Gradient of a job's penalty as one vector."""
    penalty = job.penalty
    assert penalty is not None
    pulls = [
        penalty.strength * penalty.importance[name] * (tensor - penalty.anchor[name])
        for name, tensor in params.items()
    ]
    return torch.cat([pull.double().flatten() for pull in pulls])


def _angle_sine(one: Tensor, other: Tensor) -> float:
    """Sine of the angle between two gradients; Adam ignores their lengths."""
    along = (one @ other) / (other @ other)
    return float((one - along * other).norm() / one.norm())


def _distance(one: Params, other: Params) -> float:
    """The largest difference of two models' weights."""
    return max(float((tensor - other[name]).abs().max()) for name, tensor in one.items())
