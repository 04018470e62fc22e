"""Solar panels with pvlib: transposition, cell temperature, modules and inverter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pvlib import iam, inverter, irradiance, pvsystem, temperature

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.sun import Sun
from clearwatt.data.simulate.weather import Weather


@dataclass(frozen=True, slots=True)
class PanelArray:
    """Panels of one orientation: degrees from horizontal, degrees clockwise from north."""

    tilt: float
    azimuth: float


SOUTH = (PanelArray(15.0, 180.0),)
SOUTH_EAST = (PanelArray(15.0, 140.0),)
SOUTH_WEST = (PanelArray(15.0, 220.0),)
ROOFS = (PanelArray(35.0, 180.0), PanelArray(35.0, 100.0), PanelArray(35.0, 260.0))


def panel_output(layout: tuple[PanelArray, ...], sun: Sun, weather: Weather) -> Float64Array:
    """The mean output (n) of equally large arrays, as a share of their rated power."""
    outputs = [_array_output(array, sun, weather) for array in layout]
    return np.asarray(np.mean(outputs, axis=0), dtype=np.float64)


def _array_output(array: PanelArray, sun: Sun, weather: Weather) -> Float64Array:
    sky = irradiance.get_total_irradiance(
        array.tilt,
        array.azimuth,
        sun.zenith,
        sun.azimuth,
        weather.dni_wm2,
        weather.ghi_wm2,
        weather.dhi_wm2,
        dni_extra=sun.extraterrestrial,
        model="haydavies",
    )
    angle = irradiance.aoi(array.tilt, array.azimuth, sun.zenith, sun.azimuth)
    effective = sky["poa_direct"] * iam.ashrae(angle) + sky["poa_diffuse"]
    cell = temperature.faiman(
        sky["poa_global"], weather.temperature_2m_c, weather.wind_speed_10m_ms
    )
    dc = pvsystem.pvwatts_dc(np.maximum(effective, 0.0), cell, 1.0, -0.0037)
    # 6 % of wiring, mismatch and availability losses; the inverter is 15 % smaller than the array.
    ac = inverter.pvwatts(0.94 * dc, 0.85 / 0.96)
    return np.where(sun.clear_ghi > 0.0, np.asarray(ac, dtype=np.float64), 0.0)
