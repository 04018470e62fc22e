"""A component: a network, its threshold, its two buffers, and the state of its strategy.

The autoencoder and every predictor are components; they differ in their inputs and targets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.arrays import Int64Array
from clearwatt.clear import detection
from clearwatt.clear.buffers import FamiliarityBuffer, SampleBuffer, SampleRows
from clearwatt.clear.detection import Reals
from clearwatt.clear.events import Signal, UpdateEvent
from clearwatt.clear.past import SampleView, history_for, past_of
from clearwatt.clear.promotion import (
    AWAITING,
    DIVERGED,
    Assessment,
    ModelVersion,
    Request,
    require_fitting,
)
from clearwatt.clear.settings import ClearSettings
from clearwatt.errors import DataError
from clearwatt.strategies import Batch, ComponentName, Past, State, Update, WarmUpResult
from clearwatt.training.fleet import Job, Trained, Training
from clearwatt.training.networks import Network, Params

__all__ = [
    "RECENT_READINGS",
    "ClearSettings",
    "Component",
    "Model",
    "ModelVersion",
    "SampleView",
    "align_memory",
]

RECENT_READINGS = 96
"""Number of latest verdicts that an event reports: a day of quarter hours."""


class Model(NamedTuple):
    """A network, its weights (1 x ...) and its validation error in the warm-up."""

    network: Network
    params: Params
    validation_rmse: float | None = None


class Component:
    """One network of an instance and everything that decides when and how it learns.

    ``sample_width`` is the number of values of a stored sample: inputs and, if labelled, target.
    With ``approval``, a trained model is not deployed but becomes the ``candidate``, which
    someone has to activate. A newer candidate replaces an older one.
    """

    def __init__(
        self,
        name: ComponentName,
        model: Model,
        *,
        settings: ClearSettings,
        rng: np.random.Generator,
        sample_width: int,
        entity: int | str | None = None,
    ) -> None:
        self.name: ComponentName = name
        self.entity = entity
        self.sample_width = sample_width
        self.network = model.network
        self.params = align_memory(model.params)
        self.settings = settings
        self.rng = rng
        self.threshold = float("nan")
        self.state: State = {}
        labelled = name == "predictor"
        self.novelty = SampleBuffer(labelled=labelled)
        self.familiarity = FamiliarityBuffer(
            labelled=labelled, capacity=settings.familiarity_capacity
        )
        self.history = history_for(settings.strategy, labelled=labelled)
        self.recent: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
        self.updates = 0
        self.approval = False
        self.candidate: ModelVersion | None = None

    @property
    def title(self) -> str:
        """Its name in messages."""
        return self.name if self.entity is None else f"{self.name} of {self.entity}"

    @property
    def version(self) -> ModelVersion:
        """The model in service, numbered by the updates so far."""
        return ModelVersion(
            component=self.name,
            entity=self.entity,
            network=self.network,
            params=self.params,
            threshold=self.threshold,
            state=self.state,
            number=self.updates,
        )

    def start(self, samples: SampleRows, data: Batch) -> None:
        """Initialise threshold, strategy state and task 0 from the warm-up samples."""
        if data.size == 0:
            raise DataError(f"the {self.title} has no sample to start from; give measured ones")
        self.threshold = detection.threshold(self.errors(data), self.settings.alpha)
        warmup = WarmUpResult(self.name, self.network, self.params, data, self.rng)
        self.state = self.settings.strategy.initial_state(warmup)
        if self.history is not None:
            self.history.extend(samples)
            self.history.close()

    @torch.inference_mode()
    def errors(self, data: Batch, params: Params | None = None) -> Reals:
        """The error signal of each sample (n) with the deployed weights, or with others."""
        weights = self.params if params is None else params
        return self._signal(data, self.network.forward(weights, data.inputs[None])[0])

    @property
    def verdict_params(self) -> Params:
        """The deployed weights in the precision in which verdicts are computed."""
        return {name: tensor.to(self.settings.dtype) for name, tensor in self.params.items()}

    @torch.inference_mode()
    def judge(self, data: Batch, output: Tensor | None = None) -> npt.NDArray[np.bool_]:
        """Which samples are novel to the deployed model; `output` is its output, if computed."""
        if output is None:
            seen = data.inputs.to(self.settings.dtype)
            output = self.network.forward(self.verdict_params, seen[None])[0]
        return detection.is_novel(self._signal(data, output), self.threshold)

    def _signal(self, data: Batch, output: Tensor) -> Reals:
        """The error of each sample (n), of its reconstruction or of its forecast."""
        found = output.numpy()
        if self.name == "autoencoder" or data.targets is None:
            return detection.reconstruction_errors(data.inputs.numpy(), found)
        return detection.prediction_errors(data.targets.numpy()[:, 0], found[:, 0])

    def verdicts_until_full(self, novel: npt.NDArray[np.bool_]) -> int | None:
        """Number of verdicts until the novelty buffer is full; None: these do not fill it."""
        room = self.settings.novelty_capacity - len(self.novelty)
        return detection.run_to_trigger(novel, room)

    def absorb(self, samples: SampleRows, novel: npt.NDArray[np.bool_]) -> None:
        """Add judged samples to the buffers and, if there is one, to the history."""
        # Selecting by position is several times as fast as by a mask.
        self.novelty.extend(samples.at(np.flatnonzero(novel)))
        self.familiarity.offer(samples.at(np.flatnonzero(~novel)), self.rng)
        self.recent = np.concatenate([self.recent, novel])[-RECENT_READINGS:]
        if self.history is not None:
            self.history.extend(samples)

    def request(
        self,
        view: SampleView,
        *,
        step: int,
        trigger: Signal,
        also_novel: SampleRows | None = None,
        generated: Batch | None = None,
        encoder: State | None = None,
        deployed: SampleView | None = None,
        whole: Model | None = None,
    ) -> Request:
        """Make a training job of the buffers, then empty them.

        Args:
            view: Converts samples to the inputs of the model to train.
            step: Samples streamed so far.
            trigger: The signal that triggered the update.
            also_novel: Samples that are novel to the partner of a synchronous pair.
            generated: Pseudo samples of the past.
            encoder: State of the autoencoder of a synchronous pair, for its predictor.
            deployed: Converts samples to the inputs of the deployed model, if they differ.
            whole: What trains instead of this model, which is a part of it.
        """
        trains = whole or Model(self.network, self.params)
        novelty, familiarity = self._window(also_novel)
        window = view(novelty), view(familiarity)
        update = Update(
            component=self.name,
            network=self.network,
            params=self.params,
            state=self.state,
            novelty=window[0],
            familiarity=window[1],
            past=self._past(view),
            capacity=self.settings.novelty_capacity,
            rng=self.rng,
            generated=generated,
            encoder=encoder,
        )
        objective = self.settings.strategy.objective(
            self._training_part(update, (novelty, familiarity), view)
        )
        job = Job(
            network=trains.network,
            params=trains.params,
            inputs=objective.data.inputs,
            targets=objective.data.targets,
            training=self._training,
            seed=int(self.rng.integers(2**31)),
            weights=objective.weights,
            penalty=objective.penalty,
        )
        request = Request(
            job=job,
            update=update,
            deployed=window if deployed is None else (deployed(novelty), deployed(familiarity)),
            replayed=objective.replayed,
            step=step,
            trigger=trigger,
            familiar=self.familiarity.seen - (len(novelty.rows) - len(self.novelty)),
            recent_novel=int(self.recent.sum()),
            recent_readings=len(self.recent),
        )
        self._new_window()
        return request

    @property
    def _training(self) -> Training:
        """How an update trains; a shared autoencoder always trains for all epochs."""
        settings = self.settings
        unlimited = self.name == "autoencoder" and (self.entity is None or settings.equal_epochs)
        return replace(settings.update, work=None) if unlimited else settings.update

    def deploy(self, request: Request, trained: Trained) -> UpdateEvent:
        """Deploy the trained model if it passes the gate; returns the event."""
        return self.decide(self.assess(request, trained), waits=self.approval)

    def assess(self, request: Request, trained: Trained) -> Assessment:
        """Compare the trained model with the deployed one."""
        before = self._window_errors(request.deployed)
        if trained.diverged:
            return Assessment(request, trained, self.params, before, before, reason=DIVERGED)
        params, gate = align_memory(trained.params), self.settings.gate
        after = self._window_errors(request.window, params)
        if gate is None:
            return Assessment(request, trained, params, before, after)
        found = gate.compare(before, after, usual=self.threshold / self.settings.alpha)
        return Assessment(request, trained, params, before, after, found, found.refusal)

    def decide(
        self,
        found: Assessment,
        *,
        waits: bool = False,
        refused: str | None = None,
        encoder: State | None = None,
    ) -> UpdateEvent:
        """Deploy a model unless there is a reason not to; returns the event.

        Args:
            found: The model and its assessment.
            waits: Whether it has to wait for approval.
            refused: A reason outside the assessment not to deploy it.
            encoder: State of the autoencoder of a synchronous pair as the update leaves it.
        """
        reason, threshold_before = found.reason or refused, self.threshold
        self.updates += 1
        if reason is None:
            self.candidate = candidate = self._candidate(found, encoder)
            if waits:
                reason = AWAITING
            else:
                self._serve(candidate)
        return found.event(
            reason,
            component=self.name,
            entity=self.entity,
            thresholds=(threshold_before, self.threshold),
            retained_bytes=self.retained_bytes,
        )

    def activate(self, version: ModelVersion) -> None:
        """Deploy a model by hand: an earlier version or the candidate.

        Buffers and history do not change. If the model is the candidate, there is none afterwards.
        """
        require_fitting(version, self.version, self.title)
        self._serve(version)

    def _serve(self, version: ModelVersion) -> None:
        waiting = self.candidate
        if waiting is not None and all(
            torch.equal(tensor, waiting.params[name]) for name, tensor in version.params.items()
        ):
            self.candidate = None
        self.params, self.threshold, self.state = (
            align_memory(version.params),
            version.threshold,
            align_memory(version.state),
        )

    def _candidate(self, found: Assessment, encoder: State | None) -> ModelVersion:
        after, threshold = np.concatenate(found.after), self.threshold
        if len(after):
            threshold = detection.threshold(after, self.settings.alpha)
        update, params = replace(found.request.update, encoder=encoder), found.params
        state = self.settings.strategy.consolidate(update, params)
        return replace(self.version, params=params, threshold=threshold, state=state)

    def _window_errors(
        self, window: tuple[Batch, Batch], params: Params | None = None
    ) -> tuple[Reals, Reals]:
        """Errors on the novel and on the familiar samples."""
        return self.errors(window[0], params), self.errors(window[1], params)

    def _training_part(
        self, update: Update, samples: tuple[SampleRows, SampleRows], view: SampleView
    ) -> Update:
        """The update without the samples that the gate holds back."""
        gate = self.settings.gate
        if gate is None:
            return update
        held = [gate.held_back_mask(len(part.rows)) for part in samples]
        novelty, familiarity = (
            part.at(torch.from_numpy(np.flatnonzero(~mask)))
            for part, mask in zip((update.novelty, update.familiarity), held, strict=True)
        )
        rows = [part.rows[mask] for part, mask in zip(samples, held, strict=True)]
        past = self._past(view, np.concatenate(rows))
        return replace(update, novelty=novelty, familiarity=familiarity, past=past)

    def _past(self, view: SampleView, held_back: Int64Array | None = None) -> Past:
        rows = np.empty(0, np.int64) if held_back is None else held_back
        return past_of(self.settings.strategy, self.history, view, rng=self.rng, held_back=rows)

    def forget(self, rows: Int64Array) -> int:
        """Remove these rows from buffers and history; returns the number of samples."""
        held = int(np.isin(self.all_samples.rows, rows).sum())
        for part in self._buffers:
            part.drop(rows)
        return held

    def correct(self, row: int, target: float) -> int:
        """Change the target of a row, not the verdicts; returns the number of changed values."""
        return sum(part.correct(row, target) for part in self._buffers)

    @property
    def window(self) -> SampleRows:
        """The samples in both buffers, novel ones first."""
        return _concatenate(self.novelty.samples, self.familiarity.samples)

    @property
    def all_samples(self) -> SampleRows:
        """All samples of this component; a history contains those of the buffers."""
        return self.window if self.history is None else self.history.samples

    @property
    def retained_bytes(self) -> int:
        """Bytes of past data: samples (four bytes per value) and the strategy's state.

        An input row that several components share counts for each of them.
        """
        kept = sum(tensor.nbytes for tensor in self.state.values())
        return 4 * self.sample_width * len(self.all_samples.rows) + kept

    @property
    def parts(self) -> list[object]:
        """The objects whose attributes a rollback has to save."""
        return [self, *(part for each in self._buffers for part in each.parts)]

    @property
    def _buffers(self) -> list[SampleBuffer]:
        lists = [self.novelty, self.familiarity, self.history]
        return [each for each in lists if each is not None]

    def _window(self, also_novel: SampleRows | None) -> tuple[SampleRows, SampleRows]:
        """Novelty and familiarity samples; what is novel to the partner counts as novel."""
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


def _concatenate(first: SampleRows, second: SampleRows) -> SampleRows:
    targets = None
    if first.targets is not None and second.targets is not None:
        targets = np.concatenate([first.targets, second.targets])
    return SampleRows(np.concatenate([first.rows, second.rows]), targets)


def align_memory(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors at memory addresses that are multiples of 64, as torch allocates them.

    Rounding of matrix products can depend on alignment. Tensors from a file or another process
    may start anywhere, and a resumed instance must compute the same as one that never stopped.
    """
    return {name: t.clone() if t.data_ptr() % 64 else t for name, t in tensors.items()}
