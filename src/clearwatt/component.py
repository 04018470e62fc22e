"""A component: a network, its threshold, its two buffers, and what its strategy keeps.

The autoencoder and every predictor are one of these; they differ in what they see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt import detection
from clearwatt.detection import Reals
from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.events import Signal, UpdateEvent
from clearwatt.fleet import Job, Trained, Training
from clearwatt.memory import FamiliarityBuffer, History, Policy, SampleList, Samples
from clearwatt.networks import Network, Params
from clearwatt.strategies import (
    Access,
    Batch,
    ComponentName,
    Past,
    RecentReplay,
    State,
    Strategy,
    Update,
    Warmup,
)

RECENT_READINGS = 96
"""How many of the last verdicts an event reports: a day of quarter hours."""

View = Callable[[Samples], Batch]
"""Turns samples into what the component's network sees, under the encoder now in force."""


class Model(NamedTuple):
    """A network, its weights (1 x ...) and, from the warm-up, its validation error."""

    network: Network
    params: Params
    validation_rmse: float | None = None


@dataclass(frozen=True)
class Settings:
    """How an instance detects novelty and learns from it.

    Args:
        strategy: the continual-learning approach.
        novelty_capacity: novel samples that trigger an update.
        alpha: threshold factor; smaller is more sensitive.
        familiarity_capacity: bound of the familiarity buffers; None: all since the last update.
        update: how an update trains.
        seed: source of all randomness of the instance.
        precise: compute verdicts in double precision, so that they do not depend on how the stream
            was cut into blocks; costs about twice the time of judging.
    """

    strategy: Strategy = field(default_factory=RecentReplay)
    novelty_capacity: int = 3000
    alpha: float = 1.3
    familiarity_capacity: int | None = None
    update: Training = field(
        default_factory=lambda: Training(epochs=30, patience=None, work=400_000)
    )
    seed: int = 0
    precise: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.strategy, Strategy):
            raise ConfigurationError(
                f"strategy is {self.strategy!r}; give an instance such as RecentReplay()"
            )
        require_whole(novelty_capacity=self.novelty_capacity)
        if self.familiarity_capacity is not None:
            require_whole(familiarity_capacity=self.familiarity_capacity)
        if not 0 < self.alpha < float("inf"):
            raise ConfigurationError(
                f"alpha is {self.alpha}; the threshold factor must be above 0 and finite"
            )

    @property
    def dtype(self) -> torch.dtype:
        """Of the verdicts; models train and are kept in single precision."""
        return torch.float64 if self.precise else torch.float32


@dataclass(frozen=True, eq=False)
class Request:
    """An update that is due: the job to train and what to remember until it is done."""

    job: Job
    update: Update
    replayed: int
    step: int
    trigger: Signal
    familiar: int
    recent_novel: int
    recent_readings: int


class Component:
    """One network of an instance and everything that decides when and how it learns.

    ``sample_width`` is the number of values a kept sample has: inputs and, if labelled, its target.
    """

    def __init__(
        self,
        name: ComponentName,
        model: Model,
        *,
        settings: Settings,
        rng: np.random.Generator,
        sample_width: int,
        entity: int | str | None = None,
    ) -> None:
        self.name: ComponentName = name
        self.entity = entity
        self.sample_width = sample_width
        self.network = model.network
        self.params = aligned(model.params)
        self.settings = settings
        self.rng = rng
        self.threshold = float("nan")
        self.state: State = {}
        labelled = name == "predictor"
        self.novelty = SampleList(labelled=labelled)
        self.familiarity = FamiliarityBuffer(
            labelled=labelled, capacity=settings.familiarity_capacity
        )
        self.history = _history_for(settings.strategy, labelled=labelled)
        self.recent: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
        self.updates = 0

    def start(self, samples: Samples, data: Batch) -> None:
        """Take the warm-up as known: threshold, the strategy's first state, task 0."""
        self.threshold = detection.threshold(self.errors(data), self.settings.alpha)
        warmup = Warmup(self.name, self.network, self.params, data, self.rng)
        self.state = self.settings.strategy.initial_state(warmup)
        if self.history is not None:
            self.history.extend(samples)
            self.history.close()

    @torch.inference_mode()
    def errors(self, data: Batch, output: Tensor | None = None) -> Reals:
        """The error signal of each sample (n) by the deployed model, or by an output (n x o)."""
        if output is None:
            output = self.network.forward(self.params, data.inputs[None])[0]
        found = output.numpy()
        if data.targets is None:
            return detection.reconstruction_errors(data.inputs.numpy(), found)
        return detection.prediction_errors(data.targets.numpy()[:, 0], found[:, 0])

    @property
    def judging(self) -> Params:
        """The deployed weights in the precision of the verdicts."""
        return {name: tensor.to(self.settings.dtype) for name, tensor in self.params.items()}

    @torch.inference_mode()
    def judge(self, data: Batch, output: Tensor | None = None) -> npt.NDArray[np.bool_]:
        """Which samples are novel to the deployed model, whose output may be known already."""
        if output is None:
            seen = data.inputs.to(self.settings.dtype)
            output = self.network.forward(self.judging, seen[None])[0]
        return detection.is_novel(self.errors(data, output), self.threshold)

    def due(self, novel: npt.NDArray[np.bool_]) -> int | None:
        """How many of these verdicts until the novelty buffer is full; None: not within them."""
        room = self.settings.novelty_capacity - len(self.novelty)
        return detection.run_to_trigger(novel, room)

    def absorb(self, samples: Samples, novel: npt.NDArray[np.bool_]) -> None:
        """Put judged samples into the buffers and, where the strategy may see it, the history."""
        # Positions, because picking by them is several times as fast as by a mask.
        self.novelty.extend(samples.at(np.flatnonzero(novel)))
        self.familiarity.offer(samples.at(np.flatnonzero(~novel)), self.rng)
        self.recent = np.concatenate([self.recent, novel])[-RECENT_READINGS:]
        if self.history is not None:
            self.history.extend(samples)

    def request(
        self,
        view: View,
        *,
        step: int,
        trigger: Signal,
        also_novel: Samples | None = None,
        generated: Batch | None = None,
    ) -> Request:
        """Turn the full buffers into a training job and start fresh ones."""
        novelty, familiarity = self._window(also_novel)
        update = Update(
            component=self.name,
            network=self.network,
            params=self.params,
            state=self.state,
            novelty=view(novelty),
            familiarity=view(familiarity),
            past=_past_of(self.settings.strategy, self.history, view, self.rng),
            capacity=self.settings.novelty_capacity,
            rng=self.rng,
            generated=generated,
        )
        objective = self.settings.strategy.objective(update)
        job = Job(
            network=self.network,
            params=self.params,
            inputs=objective.data.inputs,
            targets=objective.data.targets,
            training=self.settings.update,
            seed=int(self.rng.integers(2**31)),
            weights=objective.weights,
            penalty=objective.penalty,
        )
        request = Request(
            job=job,
            update=update,
            replayed=objective.replayed,
            step=step,
            trigger=trigger,
            familiar=self.familiarity.seen - (len(novelty.rows) - len(self.novelty)),
            recent_novel=int(self.recent.sum()),
            recent_readings=len(self.recent),
        )
        self._new_window()
        return request

    def deploy(self, request: Request, trained: Trained) -> UpdateEvent:
        """Put the trained model into service, with its threshold, and say what changed."""
        update = request.update
        before = [self.errors(part) for part in (update.novelty, update.familiarity)]
        threshold_before = self.threshold
        after = before
        if not trained.diverged:
            self.params = aligned(trained.params)
            after = [self.errors(part) for part in (update.novelty, update.familiarity)]
            if update.novelty.size + update.familiarity.size:
                self.threshold = detection.threshold(np.concatenate(after), self.settings.alpha)
            self.state = self.settings.strategy.consolidate(update, self.params)
        self.updates += 1
        return UpdateEvent(
            component=self.name,
            entity=self.entity,
            step=request.step,
            trigger=request.trigger,
            threshold_before=threshold_before,
            threshold_after=self.threshold,
            novel=update.novelty.size,
            familiar=request.familiar,
            replayed=request.replayed,
            seconds=trained.seconds,
            accepted=not trained.diverged,
            epochs=trained.epochs,
            retained_bytes=self.retained_bytes,
            recent_novel=request.recent_novel,
            recent_readings=request.recent_readings,
            novelty_error_before=_mean(before[0]),
            novelty_error_after=_mean(after[0]),
            familiarity_error_before=_mean(before[1]),
            familiarity_error_after=_mean(after[1]),
        )

    @property
    def window(self) -> Samples:
        """The samples in both buffers, novel ones first."""
        return _joined(self.novelty.samples, self.familiarity.samples)

    @property
    def held(self) -> Samples:
        """Every sample this component still refers to; a history contains the buffers."""
        return self.window if self.history is None else self.history.samples

    @property
    def retained_bytes(self) -> int:
        """Bytes of the past: held samples (four bytes a value) and the strategy's state.

        An input row shared by several components counts for each that holds it.
        """
        kept = sum(tensor.nbytes for tensor in self.state.values())
        return 4 * self.sample_width * len(self.held.rows) + kept

    @property
    def parts(self) -> list[object]:
        """What a checkpoint has to remember, the random numbers apart."""
        lists = [self.novelty, self.familiarity, self.history]
        return [self, *(part for each in lists if each is not None for part in each.parts)]

    def _window(self, also_novel: Samples | None) -> tuple[Samples, Samples]:
        """Novelty and familiarity samples; some of the familiar may be novel to the partner."""
        if also_novel is None:
            return self.novelty.samples, self.familiarity.samples
        everything = self.window
        own = np.isin(everything.rows, self.novelty.samples.rows)
        novel = own | np.isin(everything.rows, also_novel.rows)
        return everything.at(novel), everything.at(~novel)

    def _new_window(self) -> None:
        self.novelty.clear()
        self.familiarity.clear()
        if self.history is not None:
            self.history.close()


class _KeptPast(Past):
    """A history, seen through the encoder now in force."""

    def __init__(
        self, history: History, *, access: Access, view: View, rng: np.random.Generator
    ) -> None:
        self._history, self._access, self._view, self._rng = history, access, view, rng

    def replay(self, policy: Policy, budget: int) -> Batch:
        return self._view(self._history.replay(policy, budget, self._rng))

    def everything(self) -> Batch:
        if self._access is not Access.ALL:
            raise ConfigurationError(
                f"a strategy with access {self._access.value!r} asked for everything; "
                "declare access = Access.ALL"
            )
        return self._view(self._history.samples)


class _NoPast(Past):
    """No history: nothing was kept, so nothing can be asked for."""

    def replay(self, policy: Policy, budget: int) -> Batch:
        raise ConfigurationError(
            f"a strategy with access 'none' asked for a {policy!r} replay of {budget} samples; "
            "declare access = Access.RECENT or Access.ALL"
        )

    def everything(self) -> Batch:
        raise ConfigurationError(
            "a strategy with access 'none' asked for everything; declare access = Access.ALL"
        )


def _history_for(strategy: Strategy, *, labelled: bool) -> History | None:
    if strategy.access is Access.NONE:
        return None
    return History(labelled=labelled, recent_updates=strategy.window)


def _past_of(
    strategy: Strategy, history: History | None, view: View, rng: np.random.Generator
) -> Past:
    if history is None:
        return _NoPast()
    return _KeptPast(history, access=strategy.access, view=view, rng=rng)


def _joined(first: Samples, second: Samples) -> Samples:
    targets = None
    if first.targets is not None and second.targets is not None:
        targets = np.concatenate([first.targets, second.targets])
    return Samples(np.concatenate([first.rows, second.rows]), targets)


def aligned(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors where torch itself would put them.

    Matrix products may round differently where memory begins, and what comes from a file or from
    another process begins anywhere; going on from there must equal never having stopped.
    """
    return {name: t.clone() if t.data_ptr() % 64 else t for name, t in tensors.items()}


def _mean(errors: Reals) -> float | None:
    return float(errors.mean()) if len(errors) else None
