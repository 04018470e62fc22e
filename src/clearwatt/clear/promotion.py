"""From a trained model to the one in service: request, assessment, candidate."""

from __future__ import annotations

from dataclasses import dataclass

from clearwatt.clear.detection import Reals
from clearwatt.clear.events import Signal, UpdateEvent
from clearwatt.clear.gate import Comparison
from clearwatt.errors import StateError
from clearwatt.strategies import Batch, ComponentName, State, Update
from clearwatt.training.fleet import Job, Trained
from clearwatt.training.networks import Network, Params

DIVERGED = "training diverged"
AWAITING = "awaiting approval"


@dataclass(frozen=True, eq=False)
class Request:
    """An update to train: the job, and what is needed when it is done.

    ``update`` has all samples of the window, including those held back from the job. ``deployed``
    has its novel and familiar samples as the deployed models see them.
    """

    job: Job
    update: Update
    deployed: tuple[Batch, Batch]
    replayed: int
    step: int
    trigger: Signal
    familiar: int
    recent_novel: int
    recent_readings: int

    @property
    def window(self) -> tuple[Batch, Batch]:
        """The novel and the familiar samples as the trained model sees them."""
        return self.update.novelty, self.update.familiarity


@dataclass(frozen=True, eq=False)
class Assessment:
    """Comparison of a trained and the deployed model: errors on novel and on familiar samples.

    ``reason`` says why the trained model must not be deployed; None: it may.
    """

    request: Request
    trained: Trained
    params: Params
    before: tuple[Reals, Reals]
    after: tuple[Reals, Reals]
    comparison: Comparison | None = None
    reason: str | None = None

    def event(
        self,
        reason: str | None,
        *,
        component: ComponentName,
        entity: int | str | None,
        thresholds: tuple[float, float],
        retained_bytes: int,
    ) -> UpdateEvent:
        """The event of this update; `reason` says why the model was not deployed."""
        request = self.request
        return UpdateEvent(
            component=component,
            entity=entity,
            step=request.step,
            trigger=request.trigger,
            threshold_before=thresholds[0],
            threshold_after=thresholds[1],
            novel=request.update.novelty.size,
            familiar=request.familiar,
            replayed=request.replayed,
            seconds=self.trained.seconds,
            accepted=reason is None,
            epochs=self.trained.epochs,
            retained_bytes=retained_bytes,
            recent_novel=request.recent_novel,
            recent_readings=request.recent_readings,
            novelty_error_before=_mean(self.before[0]),
            novelty_error_after=_mean(self.after[0]),
            familiarity_error_before=_mean(self.before[1]),
            familiarity_error_after=_mean(self.after[1]),
            reason=reason,
            held_back=self.comparison,
        )


@dataclass(frozen=True, eq=False)
class ModelVersion:
    """A model of one component that can be deployed.

    Args:
        component: Autoencoder or predictor.
        entity: Whose component; None: the autoencoder that all share.
        network: The network.
        params: Its weights.
        threshold: The error above which a sample is novel to it.
        state: The state of its strategy.
        number: Updates of its component, including the one that made it; 0 is the warm-up.
    """

    component: ComponentName
    entity: int | str | None
    network: Network
    params: Params
    threshold: float
    state: State
    number: int


def require_fitting(model: ModelVersion, like: ModelVersion, title: str) -> None:
    """Refuse a model that cannot replace another one of the component with this title."""
    remedy = f"activate a model of the {title}"
    for name in sorted(model.params.keys() | like.params.keys()):
        if name not in model.params or name not in like.params:
            whose = "the model" if name not in model.params else f"the {title}"
            raise StateError(f"{whose} has no weights {name}; {remedy}")
        shapes = [tuple(each.params[name].shape) for each in (model, like)]
        if shapes[0] != shapes[1]:
            raise StateError(f"weights {name} have shape {shapes[0]}, not {shapes[1]}; {remedy}")
        if not bool(model.params[name].isfinite().all()):
            raise StateError(f"weights {name} are not all finite; activate another model")
    if not 0 <= model.threshold < float("inf"):
        raise StateError(f"threshold is {model.threshold}; it must be 0 or more, and finite")
    if model.state.keys() != like.state.keys():
        kept, needed = (sorted(each.state) or "nothing" for each in (model, like))
        raise StateError(f"the strategy kept {kept} with the model, but needs {needed}; {remedy}")


def _mean(errors: Reals) -> float | None:
    return float(errors.mean()) if len(errors) else None
