"""Weather variables: Open-Meteo's names and units, and which of them an entity needs.

All of them exist in the forecast and in the previous-runs interface, so that a model is trained
with the inputs that it forecasts with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import ConfigurationError

HOUR = 3600
HEIGHTS = (10, 80, 100, 120, 180, 200)
_RADIATION = (
    "shortwave_radiation",
    "direct_radiation",
    "diffuse_radiation",
    "direct_normal_irradiance",
)
PRECEDING = frozenset({*_RADIATION, "precipitation", "rain", "showers", "snowfall"})
"""Variables that Open-Meteo gives for the hour before the time; here they are of the hour after."""
UNITS: Mapping[str, str] = {
    "temperature_2m": "°C",
    "relative_humidity_2m": "%",
    "dew_point_2m": "°C",
    "apparent_temperature": "°C",
    "pressure_msl": "hPa",
    "surface_pressure": "hPa",
    "cloud_cover": "%",
    "precipitation": "mm",
    "rain": "mm",
    "showers": "mm",
    "snowfall": "cm",
    **dict.fromkeys(_RADIATION, "W/m²"),
    **{f"{name}_instant": "W/m²" for name in _RADIATION},
    **{f"wind_speed_{height}m": "m/s" for height in HEIGHTS},
    **{f"wind_direction_{height}m": "°" for height in HEIGHTS},
}
"""Unit of each variable of Open-Meteo."""
_COMPONENTS = {
    f"wind_{axis}_{height}m": (f"wind_speed_{height}m", f"wind_direction_{height}m")
    for height in HEIGHTS
    for axis in "uv"
}
"""Components of the wind in m/s, computed from speed and direction.

A direction jumps from 360° to 0°, which neither a linear interpolation nor a network bears.
"""

_WIND = (
    *("wind_speed_10m", "wind_speed_80m", "wind_speed_120m"),
    *("wind_u_80m", "wind_v_80m", "temperature_2m"),
)
_SOLAR = (
    *("temperature_2m", "cloud_cover", "wind_speed_10m"),
    *("shortwave_radiation", "direct_radiation", "diffuse_radiation"),
)
_CONSUMER = (
    *("temperature_2m", "relative_humidity_2m", "cloud_cover"),
    *("wind_speed_10m", "shortwave_radiation"),
)
_SOLAR_WORDS = ("pv", "solar", "photovoltaic")


def default_variables(
    kinds: Iterable[Kind | str], *, step: int, subtypes: Iterable[str] = ()
) -> tuple[str, ...]:
    """The variables for a zone with entities of these kinds, for generators of these sorts.

    Below a step of an hour, radiation is that of the instant: it is interpolated between hours,
    where a mean of an hour would be out of step.

    Args:
        kinds: generator, consumer, residual; all variables if there are none.
        step: of the zone, in seconds.
        subtypes: technologies of the generators, such as wind or pv; empty text: unknown.
    """
    wanted = {str(kind) for kind in kinds} or {str(Kind.RESIDUAL)}
    chosen: list[str] = []
    if str(Kind.RESIDUAL) in wanted:
        chosen += [*_WIND, *_SOLAR, *_CONSUMER]
    if str(Kind.GENERATOR) in wanted:
        for subtype in list(subtypes) or [""]:
            chosen += _generator_variables(subtype)
    if str(Kind.CONSUMER) in wanted:
        chosen += _CONSUMER
    suffix = "_instant" if step < HOUR else ""
    return tuple(
        dict.fromkeys(f"{name}{suffix}" if name in _RADIATION else name for name in chosen)
    )


def variables_of(entities: Sequence[Entity], *, step: int) -> tuple[str, ...]:
    """The default variables for a zone with these entities."""
    generators = {entity.subtype for entity in entities if entity.kind is Kind.GENERATOR}
    return default_variables(
        {entity.kind for entity in entities}, step=step, subtypes=sorted(generators)
    )


def _generator_variables(subtype: str) -> tuple[str, ...]:
    if "wind" in subtype:
        return _WIND
    if any(word in subtype for word in _SOLAR_WORDS):
        return _SOLAR
    return (*_WIND, *_SOLAR)


def require_known(variables: Sequence[str]) -> None:
    """Raise ConfigurationError for a variable that cannot be had from Open-Meteo."""
    unknown = [name for name in variables if name not in UNITS and name not in _COMPONENTS]
    if unknown or not variables:
        what = f"{unknown[0]!r} is no weather variable" if unknown else "no weather variable"
        raise ConfigurationError(
            f"{what} of Open-Meteo; choose from {', '.join([*UNITS, *_COMPONENTS])}"
        )


def request_columns(variables: Sequence[str]) -> tuple[str, ...]:
    """The variables to ask Open-Meteo for."""
    asked = [part for name in variables for part in _COMPONENTS.get(name, (name,))]
    return tuple(dict.fromkeys(asked))


def needs_next_hour(variables: Sequence[str]) -> bool:
    """Whether a value at a time is in Open-Meteo's answer for the next hour."""
    return not PRECEDING.isdisjoint(variables)


def derive(raw: pd.DataFrame, variables: Sequence[str]) -> pd.DataFrame:
    """The variables from the columns of an answer, hourly; values are of the hour that begins.

    Args:
        raw: columns `request_columns`, at every full hour.
        variables: the columns of the result.
    """
    return pd.DataFrame({name: _column(raw, name) for name in variables}, index=raw.index)


def _column(raw: pd.DataFrame, name: str) -> pd.Series:
    if name in _COMPONENTS:
        speed, direction = (raw[part].astype(np.float64) for part in _COMPONENTS[name])
        angle = np.deg2rad(direction)
        # The direction is that from which the wind blows; u points east, v north.
        wave = np.sin(angle) if name.startswith("wind_u") else np.cos(angle)
        return (-speed * wave).astype(np.float32)
    return raw[name].shift(-1) if name in PRECEDING else raw[name]
