"""The sun above the site: position and clear-sky irradiance, by pvlib."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pvlib import atmosphere, clearsky, irradiance, solarposition

from clearwatt.data.simulate.clock import Clock
from clearwatt.data.simulate.randomness import Floats

# Atmospheric turbidity of central Germany, yearly mean (SoDa / Remund et al.).
LINKE_TURBIDITY = 3.6


@dataclass(frozen=True, slots=True, eq=False)
class Sun:
    """Sun at n instants: angles in degrees, irradiance in W/m²."""

    zenith: Floats
    azimuth: Floats
    day: Floats
    extraterrestrial: Floats
    clear_ghi: Floats


def sun_over(clock: Clock) -> Sun:
    """Return the sun at every instant of ``clock``; its declination scales with the seasons."""
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


def _hour_angle(times: pd.DatetimeIndex, longitude: float, day: Floats) -> Floats:
    equation = solarposition.equation_of_time_spencer71(day)
    return np.asarray(solarposition.hour_angle(times, longitude, equation), dtype=np.float64)


def _clear_ghi(zenith: Floats, altitude: float, extraterrestrial: Floats) -> Floats:
    # Airmass is undefined below the horizon; there the irradiance is zero anyway.
    above = np.minimum(zenith, 89.9)
    airmass = atmosphere.get_absolute_airmass(
        atmosphere.get_relative_airmass(above), atmosphere.alt2pres(altitude)
    )
    clear = clearsky.ineichen(
        above, airmass, LINKE_TURBIDITY, altitude=altitude, dni_extra=extraterrestrial
    )
    return np.where(zenith < 89.9, np.asarray(clear["ghi"], dtype=np.float64), 0.0)
