"""The weights of a prior for networks that see other inputs, or inputs on another scale.

The first layer is linear, so its weights can be written for any standardisation of the inputs. A
column that the prior does not know has the weight 0 until an update; one that is missing counts as
its mean in the fleet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from clearwatt.adaptive.ensemble import Architecture
from clearwatt.adaptive.prior import FleetPrior, KindPrior
from clearwatt.adaptive.settings import NetworkSettings
from clearwatt.adaptive.view import TIME_OF_DAY, YEARLY, View
from clearwatt.clock import HOURS_PER_DAY
from clearwatt.data.inputs import is_neighbour
from clearwatt.errors import ConfigurationError
from clearwatt.training.networks import Params
from clearwatt.training.standardisation import Standardisation

Ranges = Mapping[str, tuple[float, float]]
"""Lowest value and span of a variable, to which inputs are scaled; a missing one is not scaled."""


class SeenColumn(NamedTuple):
    """A column that networks see, in the unit of the variable."""

    name: str
    mean: float
    scale: float


def seen_columns(
    view: View, columns: Sequence[str], ranges: Ranges, hours: Sequence[int]
) -> list[SeenColumn]:
    """The columns that networks see, `v`.

    Args:
        view: What they see.
        columns: Names of the inputs, `d`.
        ranges: How the inputs were scaled.
        hours: Lengths of the means of past weather.
    """
    names = [(columns[i], columns[i], True) for i in view.kept]
    names += [
        (f"{columns[i]}, {length} h", columns[i], False) for length in hours for i in view.weather
    ]
    seen = []
    for place, (name, variable, present) in enumerate(names):
        low, span = ranges.get(variable, (0.0, 1.0))
        mean, scale = float(view.scale.mean[place]), float(view.scale.scale[place])
        seen.append(SeenColumn(name, (low if present else 0.0) + span * mean, span * scale))
    return seen


def view_of_prior(prior: FleetPrior, columns: Sequence[str], *, day: int, ranges: Ranges) -> View:
    """What the networks of an entity without history see of its inputs.

    Columns that the prior does not know are not seen, except weather of neighbouring zones whose
    variable it knows.

    Args:
        prior: Of the fleet.
        columns: Names of the inputs, `d`.
        day: Steps per day.
        ranges: How the inputs are scaled.
    """
    missing = prior.missing(columns)
    if missing:
        raise ConfigurationError(
            f"the prior needs the weather variables {', '.join(missing)}, which are no inputs "
            f"here ({', '.join(columns)}); give them, or a prior that was trained without"
        )
    hours = prior.networks.windows
    known = {
        each.name: each for each in seen_columns(prior.view, prior.columns, prior.ranges, hours)
    }
    variables = [_variable(name, prior.weather) for name in columns]
    kept = [i for i, name in enumerate(variables) if name in known]
    time_of_day = [columns.index(name) for name in TIME_OF_DAY if name in columns]
    joined = len(time_of_day) == len(TIME_OF_DAY) and day > HOURS_PER_DAY
    weather = [i for i in kept if columns[i] in prior.weather]
    bare = View(
        kept=tuple(kept),
        weather=tuple(weather),
        season=tuple(place for place, i in enumerate(kept) if columns[i] in YEARLY),
        windows=tuple(max(2, length * day // HOURS_PER_DAY) for length in hours),
        scale=Standardisation.identity(0),
        time_of_day=tuple(time_of_day) if joined else (),
        neighbours=tuple(place for place, i in enumerate(kept) if is_neighbour(columns[i])),
    )
    names = [(variables[i], columns[i], True) for i in kept]
    names += [(f"{columns[i]}, {length} h", columns[i], False) for length in hours for i in weather]
    mean, scale = [], []
    for name, column, present in names:
        low, span = ranges.get(column, (0.0, 1.0))
        mean.append((known[name].mean - (low if present else 0.0)) / span)
        scale.append(known[name].scale / span)
    return replace(bare, scale=Standardisation(np.array(mean), np.array(scale)))


def weights_of_prior(
    prior: FleetPrior,
    kind: KindPrior,
    *,
    architecture: Architecture,
    view: View,
    columns: Sequence[str],
    ranges: Ranges,
) -> Params:
    """The weights of a kind for the networks of an entity, `m x ...`."""
    require_shape(prior, architecture.settings)
    hours = prior.networks.windows
    source = seen_columns(prior.view, prior.columns, prior.ranges, hours)
    scales = seen_columns(view, columns, ranges, hours)
    target = {each.name: place for place, each in enumerate(scales)}
    own = Architecture(prior.networks, prior.view.width, prior.view.season, prior.view.neighbours)
    shown = torch.from_numpy(np.repeat(own.shown, prior.networks.members, axis=0))
    (first, *_) = own.network.chains
    name = f"{first.name}.0"
    weight, bias = kind.params[f"{name}.weight"], kind.params[f"{name}.bias"].clone()
    weight = weight * shown[..., None]
    found = weight.new_zeros(len(weight), architecture.inputs + architecture.lags, weight.shape[2])
    for place, each in enumerate(source):
        if each.name in target:
            to = scales[target[each.name]]
            found[:, target[each.name]] = weight[:, place] * (to.scale / each.scale)
            bias += weight[:, place] * ((to.mean - each.mean) / each.scale)
    found[:, architecture.inputs :] = weight[:, prior.view.width :]
    return {**kind.params, f"{name}.weight": found, f"{name}.bias": bias}


def require_shape(prior: FleetPrior, settings: NetworkSettings) -> None:
    """Refuse a prior whose networks have another shape than those of a forecaster."""
    for name in ("width", "layers", "members", "groups", "windows"):
        given, wanted = getattr(prior.networks, name), getattr(settings, name)
        if given != wanted:
            raise ConfigurationError(
                f"the prior's networks have {name} {given}, those of the forecaster {wanted}; "
                "train a prior with the same settings"
            )


def _variable(column: str, weather: Sequence[str]) -> str:
    """Variable of a column; that of a neighbouring zone has the name of the zone before it."""
    if not is_neighbour(column):
        return column
    return next((name for name in weather if column.endswith(f".{name}")), column)
