"""Training of a CLeaR instance in the service: first models, and updates one by one."""

from __future__ import annotations

from collections.abc import Sequence

from clearwatt.clear.component import Model
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.service.learner.apply.zone_models import ValidationErrors, WarmUpSamples
from clearwatt.service.settings import ZoneSettings
from clearwatt.training.fleet import Trained
from clearwatt.training.streams import Stream


def train_first_models(
    settings: ZoneSettings,
    samples: WarmUpSamples,
    *,
    representation: Model | None = None,
    offset: int = 0,
) -> Stream[WarmUpModels]:
    """Train the zone's representation, unless it has one, and a predictor per entity.

    Args:
        settings: Sizes, epochs and seed.
        samples: What to learn from.
        representation: The zone's autoencoder, if there is one.
        offset: Number of entities that learn already; makes seeds differ.
    """
    warm_up, networks = settings.warm_up(offset), settings.networks(samples.x.shape[1])
    return warm_up.models(networks, samples.x, samples.y, autoencoder=representation)


def validation_errors(names: Sequence[str], trained: WarmUpModels) -> ValidationErrors:
    """The validation error of each entity's first model."""
    errors = [model.validation_rmse for model in trained.predictors]
    return dict(zip(names, errors, strict=True))


def train_one_by_one(stream: Stream[tuple[Deployment, ...]]) -> Stream[tuple[Deployment, ...]]:
    """Train jobs one at a time, so that results do not depend on which jobs wait together."""
    try:
        jobs = next(stream)
        while True:
            trained: list[Trained] = []
            for job in jobs:
                trained += yield (job,)
            jobs = stream.send(trained)
    except StopIteration as stop:
        deployed: tuple[Deployment, ...] = stop.value
        return deployed
