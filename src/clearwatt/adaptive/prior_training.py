"""Training of a fleet prior: shared networks of all entities of a kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from clearwatt.adaptive.ensemble import Architecture, stack_weights
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.prior import FleetPrior, KindPrior
from clearwatt.adaptive.prior_samples import (
    KindSamples,
    ZoneSamples,
    common_columns,
    entities_by_kind,
    join_series,
)
from clearwatt.adaptive.prior_trials import (
    TRIALS,
    find_errors,
    mean_products,
    single_networks,
    spread_over_day,
    try_start,
)
from clearwatt.adaptive.prior_weights import Ranges
from clearwatt.adaptive.settings import AdaptiveSettings
from clearwatt.adaptive.start import draw_seeds
from clearwatt.adaptive.view import View
from clearwatt.clock import HOURS_PER_DAY
from clearwatt.errors import DataError
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Params
from clearwatt.training.streams import Stream, drive

TRAINING = Training(epochs=3, patience=None, batch=128, learning_rate=1.4e-3)
"""Few passes: more of them fit the entities of the fleet better, and others worse."""
MANY_SAMPLES, PASSES_OF_MANY = 30_000, 2
"""Samples from which on fewer passes are enough."""
MOST_SAMPLES = 100_000
"""Samples of a kind that networks are trained on, equally many of each entity."""
FOLDS = 4
"""Groups of entities that are left out in turn, to find the errors on new entities."""
WITHOUT_LAGS = 0.3
"""Share of samples shown without past measurements, as on the first days of an entity."""

Progress = Callable[[str], None]
"""Is told what begins."""


def train_prior(
    zones: Sequence[ZoneSamples],
    *,
    day: int,
    delay: int | None = None,
    settings: AdaptiveSettings | None = None,
    ranges: Ranges | None = None,
    source: str = "",
    trained: str = "",
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> FleetPrior:
    """Train a prior on the entities of a fleet.

    Args:
        zones: The samples of the fleet. A kind needs at least two entities.
        day: Steps per day.
        delay: Steps until a measurement is known; a day by default.
        settings: Of the forecasters that it will start; the defaults by default.
        ranges: How the weather variables were scaled; None: not at all.
        source: Where the readings come from, for a person to read.
        trained: When it is trained, for a person to read.
        seed: Equal seeds give equal priors.
        progress: Is told which kind is trained.
    """
    settings = settings or AdaptiveSettings()
    columns = common_columns(zones)
    x, at = join_series(zones, columns, day)
    windows = [max(2, hours * day // HOURS_PER_DAY) for hours in settings.networks.windows]
    view = View.fit(x, at, columns=columns, windows=windows)
    frame = Frame(settings, settings.schedule(day, delay), view, len(columns))
    seen = np.split(view.see(x, at), np.cumsum([len(zone.at) for zone in zones])[:-1])
    rng = np.random.default_rng(seed)
    kinds: dict[str, KindPrior] = {}
    members = entities_by_kind(zones)
    for name, places in members.items():
        same = next((other for other in kinds if members[other] == places), None)
        if same is not None:
            kinds[name] = kinds[same]
            continue
        progress(f"{name}: {len(places)} entities")
        kind = KindSamples(frame, zones, seen, places)
        kinds[name] = drive(_train_kind(frame, columns, kind, rng))
    known = {name: each for name, each in (ranges or {}).items() if name in columns}
    return FleetPrior(
        columns, view, settings.networks, settings.experts, kinds, known, source, trained
    )


def _train_kind(
    frame: Frame, columns: Sequence[str], kind: KindSamples, rng: np.random.Generator
) -> Stream[KindPrior]:
    """Train the networks of a kind, and others for the errors on entities that are left out."""
    count, single = len(kind.entities), single_networks(frame)
    params = yield from _train(frame.architecture, kind, range(count), rng)
    order, folds = rng.permutation(count).tolist(), min(FOLDS, count)
    errors, trials = [], []
    for fold in range(folds):
        out = order[fold::folds]
        others = yield from _train(single, kind, sorted(set(order) - set(out)), rng)
        errors += [find_errors(single, others, kind, entity) for entity in out]
        trials += [
            try_start(frame, columns, others, kind, entity=entity, rng=rng)
            for entity in out[: TRIALS // folds]
        ]
    held_out = spread_over_day(errors, rng)
    mean_error = float(np.abs(held_out.forecasts - held_out.measured).mean())
    return KindPrior(
        params=params,
        power=kind.power,
        low=kind.low,
        high=kind.high,
        error=mean_error / float(kind.power.scale[0]),
        held_out=held_out,
        trust=mean_products(trials, len(frame.settings.experts)),
        entities=count,
        samples=sum(len(each.y) for each in kind.entities),
    )


def _train(
    shape: Architecture, kind: KindSamples, entities: Sequence[int], rng: np.random.Generator
) -> Stream[Params]:
    """Train networks on samples of some entities, equally many of each."""
    most, parts = max(1, MOST_SAMPLES // len(entities)), []
    for entity in entities:
        own = kind.entities[entity]
        rows = np.sort(rng.permutation(len(own.y))[:most])
        parts.append((own.seen[rows], own.lagged[rows], own.y[rows]))
    seen, lagged, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    lagged = np.where(rng.random((len(y), 1)) < WITHOUT_LAGS, np.float32(0), lagged)
    epochs = TRAINING.epochs if len(y) <= MANY_SAMPLES else PASSES_OF_MANY
    training = replace(TRAINING, epochs=epochs)
    jobs = replace(shape, settings=replace(shape.settings, warm_up=training)).jobs(
        shape.network.initialise(draw_seeds(rng, shape.size)),
        seen,
        lagged,
        kind.power.apply(y[:, None])[:, 0],
        ages=None,
        seeds=draw_seeds(rng, shape.size),
    )
    params = stack_weights((yield tuple(jobs)))
    if params is None:
        raise DataError("training of the prior diverged; check the readings and the capacities")
    return params
