"""A component: a network, its threshold, its two buffers, and what its strategy keeps.

The autoencoder and every predictor are one of these; they differ in what they see.
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
    "aligned",
]

RECENT_READINGS = 96
"""How many of the last verdicts an event reports: a day of quarter hours."""


class Model(NamedTuple):
    """A network, its weights (1 x ...) and, from the warm-up, its validation error."""

    network: Network
    params: Params
    validation_rmse: float | None = None


class Component:
    """One network of an instance and everything that decides when and how it learns.

    ``sample_width`` is the number of values a kept sample has: inputs and, if labelled, its target.
    With ``approval`` a trained model is not deployed but waits as the ``candidate``, the newest
    only, until someone activates it.
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
        self.params = aligned(model.params)
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
        """What to call it in a sentence."""
        return self.name if self.entity is None else f"{self.name} of {self.entity}"

    def start(self, samples: SampleRows, data: Batch) -> None:
        """Take the warm-up as known: threshold, the strategy's first state, task 0."""
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
        """The error signal of each sample (n) by the deployed model, or by other weights."""
        weights = self.params if params is None else params
        return _errors(data, self.network.forward(weights, data.inputs[None])[0])

    @property
    def verdict_params(self) -> Params:
        """The deployed weights in the precision of the verdicts."""
        return {name: tensor.to(self.settings.dtype) for name, tensor in self.params.items()}

    @torch.inference_mode()
    def judge(self, data: Batch, output: Tensor | None = None) -> npt.NDArray[np.bool_]:
        """Which samples are novel to the deployed model, whose output may be known already."""
        if output is None:
            seen = data.inputs.to(self.settings.dtype)
            output = self.network.forward(self.verdict_params, seen[None])[0]
        return detection.is_novel(_errors(data, output), self.threshold)

    def due(self, novel: npt.NDArray[np.bool_]) -> int | None:
        """How many of these verdicts until the novelty buffer is full; None: not within them."""
        room = self.settings.novelty_capacity - len(self.novelty)
        return detection.run_to_trigger(novel, room)

    def absorb(self, samples: SampleRows, novel: npt.NDArray[np.bool_]) -> None:
        """Put judged samples into the buffers and, where the strategy may see it, the history."""
        # Positions, because picking by them is several times as fast as by a mask.
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
        deployed: SampleView | None = None,
    ) -> Request:
        """Turn the full buffers into a training job and start fresh ones.

        Args:
            view: How the model to be trained sees its data.
            step: SampleRows streamed so far.
            trigger: The signal that fired.
            also_novel: What the partner of a synchronous pair found novel.
            generated: Pseudo samples of the past.
            deployed: How the deployed model sees its data, if another way.
        """
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
        )
        objective = self.settings.strategy.objective(
            self._training_part(update, (novelty, familiarity), view)
        )
        job = Job(
            network=self.network,
            params=self.params,
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
        """How an update trains; a shared representation is worth its full number of epochs."""
        shared = self.name == "autoencoder" and self.entity is None
        return replace(self.settings.update, work=None) if shared else self.settings.update

    def deploy(self, request: Request, trained: Trained) -> UpdateEvent:
        """Put the trained model into service if it may be, and say what changed."""
        return self.settle(self.assess(request, trained), waits=self.approval)

    def assess(self, request: Request, trained: Trained) -> Assessment:
        """Hold the trained model against the one in service."""
        before = self._both(request.deployed)
        if trained.diverged:
            return Assessment(request, trained, self.params, before, before, reason=DIVERGED)
        params, gate = aligned(trained.params), self.settings.gate
        after = self._both(request.window, params)
        if gate is None:
            return Assessment(request, trained, params, before, after)
        found = gate.compare(before, after, usual=self.threshold / self.settings.alpha)
        return Assessment(request, trained, params, before, after, found, found.refusal)

    def settle(
        self, found: Assessment, *, waits: bool = False, refused: str | None = None
    ) -> UpdateEvent:
        """Put a model into service, or say why not.

        Args:
            found: The model and what was found out about it.
            waits: Whether it has to wait for approval.
            refused: A reason against it that lies elsewhere.
        """
        reason, threshold_before = found.reason or refused, self.threshold
        self.updates += 1
        if reason is None:
            self.candidate = candidate = self._candidate(found)
            if waits:
                reason = AWAITING
            else:
                self._serve(candidate.params, candidate.threshold, candidate.state)
        return found.event(
            reason,
            component=self.name,
            entity=self.entity,
            thresholds=(threshold_before, self.threshold),
            retained_bytes=self.retained_bytes,
        )

    def activate(self, params: Params, threshold: float, state: State) -> None:
        """Put a model into service by hand, an earlier one or the candidate.

        Buffers and history stay as they are; a candidate that is this model waits no longer.

        Args:
            params: Its weights.
            threshold: Its threshold.
            state: What the strategy kept with it.
        """
        like = ModelVersion(self.network, self.params, self.threshold, self.state, self.updates)
        given = ModelVersion(self.network, params, threshold, state, self.updates)
        require_fitting(given, like, self.title)
        self._serve(params, threshold, state)

    def _serve(self, params: Params, threshold: float, state: State) -> None:
        waiting = self.candidate
        if waiting is not None and all(
            torch.equal(tensor, waiting.params[name]) for name, tensor in params.items()
        ):
            self.candidate = None
        self.params, self.threshold, self.state = aligned(params), threshold, aligned(state)

    def _candidate(self, found: Assessment) -> ModelVersion:
        after, threshold = np.concatenate(found.after), self.threshold
        if len(after):
            threshold = detection.threshold(after, self.settings.alpha)
        update, params = found.request.update, found.params
        state = self.settings.strategy.consolidate(update, params)
        return ModelVersion(self.network, params, threshold, state, self.updates)

    def _both(
        self, window: tuple[Batch, Batch], params: Params | None = None
    ) -> tuple[Reals, Reals]:
        """Errors on the novel and on the familiar samples."""
        return self.errors(window[0], params), self.errors(window[1], params)

    def _training_part(
        self, update: Update, samples: tuple[SampleRows, SampleRows], view: SampleView
    ) -> Update:
        """The update without what the gate holds back."""
        gate = self.settings.gate
        if gate is None:
            return update
        held = [gate.held_back(len(part.rows)) for part in samples]
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
        """Let go of these rows wherever they are held; how many samples that were."""
        held = int(np.isin(self.held.rows, rows).sum())
        for part in self._lists:
            part.drop(rows)
        return held

    def correct(self, row: int, target: float) -> int:
        """Put another target to a row; verdicts stand. In how many places it was held."""
        return sum(part.correct(row, target) for part in self._lists)

    @property
    def window(self) -> SampleRows:
        """The samples in both buffers, novel ones first."""
        return _joined(self.novelty.samples, self.familiarity.samples)

    @property
    def held(self) -> SampleRows:
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
        return [self, *(part for each in self._lists for part in each.parts)]

    @property
    def _lists(self) -> list[SampleBuffer]:
        lists = [self.novelty, self.familiarity, self.history]
        return [each for each in lists if each is not None]

    def _window(self, also_novel: SampleRows | None) -> tuple[SampleRows, SampleRows]:
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


def _joined(first: SampleRows, second: SampleRows) -> SampleRows:
    targets = None
    if first.targets is not None and second.targets is not None:
        targets = np.concatenate([first.targets, second.targets])
    return SampleRows(np.concatenate([first.rows, second.rows]), targets)


def aligned(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors where torch itself would put them.

    Matrix products may round differently where memory begins, and what comes from a file or from
    another process begins anywhere; going on from there must equal never having stopped.
    """
    return {name: t.clone() if t.data_ptr() % 64 else t for name, t in tensors.items()}


def _errors(data: Batch, output: Tensor) -> Reals:
    found = output.numpy()
    if data.targets is None:
        return detection.reconstruction_errors(data.inputs.numpy(), found)
    return detection.prediction_errors(data.targets.numpy()[:, 0], found[:, 0])
