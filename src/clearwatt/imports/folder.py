"""The data-set folder of an import; what a person corrected or added there stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from clearwatt.data import folder
from clearwatt.data.data_faults import DataFault
from clearwatt.data.folder_check import read_entities, split_zones, table_file
from clearwatt.data.schema import Entity
from clearwatt.data.time_table import read_table
from clearwatt.errors import DataError
from clearwatt.imports.export import Export
from clearwatt.imports.local_time import calendar_zone
from clearwatt.imports.recipe import DEFAULT_ZONE

Mode = Literal["new", "overwrite", "append"]


@dataclass(frozen=True, eq=False)
class ImportedFolder:
    """The content of the folder to write: readings in kW, entities, and the zones with weather."""

    power: pd.DataFrame
    entities: tuple[Entity, ...]
    zones: tuple[str, ...]
    contents: Mapping[str, bytes]

    @property
    def zones_without_weather(self) -> tuple[str, ...]:
        """The zones of entities for which there is no weather yet."""
        wanted = dict.fromkeys(entity.zone for entity in self.entities)
        return tuple(zone for zone in wanted if zone not in self.zones)


def plan_folder(
    export: Export,
    out: Path,
    *,
    mode: Mode = "new",
    weather: Path | None = None,
    entities: Path | None = None,
) -> ImportedFolder:
    """The content of ``out`` after the import; nothing is written.

    Rows of the folder's entities.csv, then of ``entities``, replace what was guessed. Weather,
    drifts and ABOUT.md of the folder stay. Doubts about units are added to the export's log.

    Args:
        export: complete.
        out: the folder.
        mode: "append" adds to the readings of the folder, "overwrite" replaces them.
        weather: a table of weather in the format of a data set, or a folder with one.
        entities: a table in the format of entities.csv.
    """
    folder.check_target(out, overwrite=mode != "new")
    power = export.power
    if mode == "append" and _file(out, folder.POWER):
        power = _appended(export, out)
    if len(power) < 2:
        raise DataError(
            f"one reading only, with a step of {export.step}; a data set needs two: add files, "
            "give a shorter --step, or --append it to a folder that has readings"
        )
    weather_file = _weather_file(weather) if weather else _file(out, folder.WEATHER)
    zones = (
        () if weather_file is None else tuple(split_zones(read_table(weather_file), weather_file))
    )
    told = () if entities is None else read_entities(entities)
    described = _merge_entities(export, power, zones, [*_known_entities(out), *told])
    for entity in (each for each in told if each.name not in power):
        wrong = "no such entity in the files; the row is not used"
        fault = DataFault(str(entities), wrong, "entity", value=entity.name, repaired=True)
        export.log.report(fault)
    power = power[[entity.name for entity in described]]
    _report_doubtful_units(power, described, export)
    contents = dict(
        folder.folder_contents(
            power,
            weather={},
            entities=described,
            drifts=(),
            about=_about(export),
            timezone=calendar_zone(export.recipe.timezone),
            unit="kW",
        )
    )
    for name in (folder.DRIFT, folder.ABOUT):
        if (out / name).is_file():
            contents[name] = (out / name).read_bytes()
    if weather_file is not None:
        contents[f"{folder.WEATHER}{weather_file.suffix}"] = weather_file.read_bytes()
    return ImportedFolder(power, described, zones, contents)


def _file(path: Path, name: str) -> Path | None:
    files = (path / f"{name}{suffix}" for suffix in (".parquet", ".csv"))
    return next((file for file in files if file.is_file()), None)


def _weather_file(path: Path) -> Path:
    file = table_file(path, folder.WEATHER) if path.is_dir() else path
    if not file.is_file() or file.suffix not in {".parquet", ".csv"}:
        raise DataError(f"{path} is no weather: give weather.parquet, weather.csv or its folder")
    return file


def _appended(export: Export, out: Path) -> pd.DataFrame:
    """The readings of the folder with the new ones; new values replace old ones."""
    old = read_table(table_file(out, folder.POWER))
    new = export.power
    if len(old) < 2:
        raise DataError(f"{out} has one reading only, so its step is unknown; give --overwrite")
    step, other = export.step, pd.Timedelta(old.index[1] - old.index[0])
    shift = pd.Timedelta(new.index[0] - old.index[0])
    if step != other or shift % other != pd.Timedelta(0):
        raise DataError(
            f"{out} has readings every {other}, the files every {step}, or at other minutes; "
            "give --step, or import to another folder"
        )
    first, last = min(old.index[0], new.index[0]), max(old.index[-1], new.index[-1])
    times = pd.date_range(first, last, freq=other, name="time")
    columns = list(dict.fromkeys([*old.columns, *new.columns]))
    before = old.reindex(index=times, columns=columns)
    after = new.reindex(index=times, columns=columns)
    changed = (before.notna() & after.notna() & (before != after)).to_numpy()
    if changed.any():
        row, column = (int(each[0]) for each in np.nonzero(changed))
        wrong = "the folder has another value; replaced by the new one"
        value, count = times[row].isoformat(), int(changed.sum())
        fault = DataFault(str(out), wrong, str(columns[column]), None, value, count, repaired=True)
        export.log.report(fault)
    return after.where(after.notna(), before).astype(np.float32)


def _known_entities(out: Path) -> tuple[Entity, ...]:
    file = out / folder.ENTITIES
    return read_entities(file) if file.is_file() else ()


def _merge_entities(
    export: Export, power: pd.DataFrame, zones: Sequence[str], known: Sequence[Entity]
) -> tuple[Entity, ...]:
    """The entities of all columns: the last known of a name, or the guess.

    The default zone becomes the only zone of the weather.
    """
    guessed = {entity.name: entity for entity in export.entities}
    if len(zones) == 1 and export.recipe.zone == DEFAULT_ZONE != zones[0]:
        export.log.decide("zone", zones[0], "the only one of the weather")
        guessed = {name: replace(each, zone=zones[0]) for name, each in guessed.items()}
    described = guessed | {entity.name: entity for entity in known}
    return tuple(described[str(name)] for name in power.columns)


def _report_doubtful_units(power: pd.DataFrame, entities: Sequence[Entity], export: Export) -> None:
    """Report readings that do not fit a capacity that a person gave."""
    step = pd.Timedelta(power.index[1] - power.index[0]) / pd.Timedelta(hours=1)
    for entity in entities:
        if entity.capacity is None or "capacity" in entity.extra.get("guessed", ""):
            continue
        share = float(power[entity.name].abs().quantile(0.995)) / entity.capacity
        wrong = None
        if share > 1.5:
            wrong = f"power reaches {share:.3g} times the capacity of {entity.capacity:g} kW"
        elif step < 1 and share < 1.1 * step:
            minutes = round(step * 60)
            wrong = (
                f"power stays below {share:.2g} of the capacity of {entity.capacity:g} kW, as kWh "
                f"per {minutes} minutes would"
            )
        if wrong:
            wrong += "; check --unit and the capacity in entities.csv"
            fault = DataFault(folder.POWER, wrong, entity.name, repaired=True)
            export.log.report(fault)


def _about(export: Export) -> str:
    found = export.log.decisions.values()
    lines = [f"* {each.key.replace('_', ' ')}: `{each.value}` ({each.reason})" for each in found]
    return "\n".join(
        [
            "# Imported readings",
            "",
            "Power in kW at the starts of intervals, in UTC.",
            "",
            *lines,
            "",
        ]
    )
