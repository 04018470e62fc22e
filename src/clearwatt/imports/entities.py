"""Entities of an import: kind and capacity, guessed from names and readings."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pandas as pd

from clearwatt.arrays import Float64Array
from clearwatt.data.schema import Entity, Kind
from clearwatt.imports import words

GUESSED = "guessed"
"""Column of entities.csv that names what was guessed."""
_SUBTYPES = {
    "pv": re.compile(r"(?<![a-z])(?:pv|solar\w*|photovolta\w*|fotowolta\w*|solaire)(?![a-z])"),
    "wind": re.compile(r"(?<![a-z])(?:wind\w*|wea|wtg\d*|eolien\w*|wiatr\w*|fw)(?![a-z])"),
    "hydro": re.compile(r"(?<![a-z])(?:hydro\w*|wasserkraft|wodna)(?![a-z])"),
    "biogas": re.compile(r"(?<![a-z])(?:biogas\w*|biogaz\w*)(?![a-z])"),
}
_GENERATION = re.compile(
    r"generation|erzeug|einspeis|produ[ck]|wytwarz|elektrown|kraftwerk|plant\b|\bexport|feed.?in|"
    r"injec|turbin|inverter|wechselrichter|falownik"
)
_RESIDUAL = re.compile(r"residual|netto|substation|umspann|\buw\b|trafo|poste source|\bgpz\b|saldo")


def guess_entities(
    power: pd.DataFrame, sources: Mapping[str, str], *, zone: str, timezone: str
) -> tuple[Entity, ...]:
    """An entity for each column of power in kW; ``sources`` maps entities to names in the file."""
    local = pd.DatetimeIndex(power.index).tz_convert(timezone)
    night = np.asarray((local.hour >= 23) | (local.hour < 3), dtype=bool)
    found = []
    for name in map(str, power.columns):
        values = power[name].to_numpy(dtype=np.float64)
        kind, subtype = _kind(words.plain(f"{sources.get(name, name)}"), values, night)
        extra = {"subtype": subtype, "source": sources.get(name, name), GUESSED: "kind capacity"}
        if extra["source"] == name:
            del extra["source"]
        if not subtype:
            del extra["subtype"]
        found.append(Entity(name, kind, _capacity(values), zone, extra))
    return tuple(found)


def _kind(name: str, values: Float64Array, night: np.ndarray) -> tuple[Kind, str]:
    """Kind and technology: by the name, else by sign, nights and idle hours."""
    known = values[~np.isnan(values)]
    peak = float(np.abs(known).max()) if len(known) else 0.0
    for subtype, pattern in _SUBTYPES.items():
        if pattern.search(name):
            return Kind.GENERATOR, subtype
    if _GENERATION.search(name):
        return Kind.GENERATOR, ""
    if _RESIDUAL.search(name) or (known.min() < -0.05 * peak and known.max() > 0.05 * peak):
        return Kind.RESIDUAL, ""
    dark = values[night & ~np.isnan(values)]
    if len(dark) >= 12 and (np.abs(dark) < 0.01 * peak).mean() > 0.95 and peak > 0:
        return Kind.GENERATOR, "pv"
    idle = float((np.abs(known) < 0.02 * peak).mean())
    return (Kind.GENERATOR if idle > 0.1 else Kind.CONSUMER), ""


def _capacity(values: Float64Array) -> float | None:
    """The highest plausible power, rounded up to two digits; None if it is never above 0."""
    size = np.abs(values[~np.isnan(values)])
    usual = float(np.quantile(size, 0.995)) if len(size) else 0.0
    peak = float(size[size <= 2 * usual].max()) if usual > 0 else 0.0
    if peak <= 0:
        return None
    unit = 10.0 ** (np.floor(np.log10(peak)) - 1)
    # The tolerance keeps a peak that is round already.
    return float(np.round(np.ceil(peak / unit - 1e-6) * unit, 9))
