"""The sun at the site: position and clear-sky irradiance, with pvlib."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pvlib import atmosphere, clearsky, irradiance, solarposition

from clearwatt.arrays import Float64Array
from clearwatt.data.simulate.site import SiteClock

# Atmospheric turbidity of central Germany, yearly mean (SoDa / Remund et al.).
LINKE_TURBIDITY = 3.6


@dataclass(frozen=True, slots=True, eq=False)
class Sun:
    """The sun at n instants: angles in degrees, irradiance in W/m²."""

    zenith: Float64Array
    azimuth: Float64Array
    day: Float64Array
    extraterrestrial: Float64Array
    clear_ghi: Float64Array


def sun_at(clock: SiteClock) -> Sun:
    """The sun at every instant of ``clock``; its declination scales with the seasons."""
    site = clock.site
    day = np.asarray(clock.times.dayofyear, dtype=np.float64)
    declination = clock.seasons * solarposition.declination_spencer71(day)
    latitude = np.radians(site.latitude)
    angle = np.radians(_hour_angle(clock.times, site.longitude, day))
    zenith = solarposition.solar_zenith_analytical(latitude, angle, declination)
    azimuth = solarposition.solar_azimuth_analytical(latitude, angle, declination, zenith)
    zenith_deg = np.degrees(zenith)
    extraterrestrial = np.asarray(irradiance.get_extra_radiation(day), dtype=np.float64)
    return Sun(
        zenith=zenith_deg,
        azimuth=np.degrees(azimuth),
        day=day,
        extraterrestrial=extraterrestrial,
        clear_ghi=_clear_ghi(zenith_deg, site.altitude, extraterrestrial),
    )


def _hour_angle(times: pd.DatetimeIndex, longitude: float, day: Float64Array) -> Float64Array:
    equation = solarposition.equation_of_time_spencer71(day)
    return np.asarray(solarposition.hour_angle(times, longitude, equation), dtype=np.float64)


def _clear_ghi(
    zenith: Float64Array, altitude: float, extraterrestrial: Float64Array
) -> Float64Array:
    # Airmass is undefined below the horizon, where the irradiance is zero.
    above = np.minimum(zenith, 89.9)
    airmass = atmosphere.get_absolute_airmass(
        atmosphere.get_relative_airmass(above), atmosphere.alt2pres(altitude)
    )
    clear = clearsky.ineichen(
        above, airmass, LINKE_TURBIDITY, altitude=altitude, dni_extra=extraterrestrial
    )
    return np.where(zenith < 89.9, np.asarray(clear["ghi"], dtype=np.float64), 0.0)
