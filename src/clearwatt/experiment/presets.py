"""Presets: experiments of three sizes, and one for real data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from clearwatt.errors import ConfigurationError
from clearwatt.experiment.architectures import Networks
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import ROWS, Grid
from clearwatt.training.fleet import UPDATE, Training

_ONE_SHAPE = Networks(
    layers=(3,),
    widths=(64,),
    latents=(14,),
    kl_weights=(5e-6,),
    predictor_layers=(3,),
    predictor_widths=(64,),
)
_ONE_POINT = Grid(
    novelty_capacity=(3_000,),
    alpha=(1.3,),
    ewc_weight=(5e4,),
    replay_weight=(1.0,),
    recent_updates=(5,),
    capacity_scale=None,
)

PRESETS: Mapping[str, Experiment] = MappingProxyType(
    {
        "demo": Experiment(
            preset="demo",
            instances=ROWS,
            entities=6,
            networks=_ONE_SHAPE,
            grid=_ONE_POINT,
            warmup=Training(epochs=100, patience=30),
            update=Training(epochs=12, patience=None),
            baseline=Training(epochs=20, patience=10),
            baseline_autoencoder=Training(epochs=100, patience=30),
        ),
        "small": Experiment(
            preset="small",
            instances=ROWS,
            networks=_ONE_SHAPE,
            grid=_ONE_POINT,
        ),
        # A third of the epochs: lower live error on real data than with 30 (docs/defaults.md).
        "real": Experiment(
            preset="real",
            instances=ROWS,
            networks=_ONE_SHAPE,
            grid=_ONE_POINT,
            update=replace(UPDATE, epochs=10),
        ),
        # With replay, averaged weights forecast better with half of the epochs (docs/decisions.md).
        "paper": Experiment(
            preset="paper",
            instances=ROWS,
            grid=Grid(capacity_scale=None),
            update=replace(UPDATE, epochs=15, work=150_000, averaging=0.99),
            equal_epochs=True,
        ),
    }
)


def preset(name: str) -> Experiment:
    """The preset of this name."""
    if name not in PRESETS:
        raise ConfigurationError(f"preset {name!r} is unknown; choose from {', '.join(PRESETS)}")
    return PRESETS[name]
