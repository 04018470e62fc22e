"""Uploaded exports: what is understood of a file, and its readings as those of entities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clearwatt.errors import ClearwattError, DataError
from clearwatt.imports import Export, read_export
from clearwatt.imports.archives import PACKED
from clearwatt.imports.local_time import calendar_zone
from clearwatt.imports.recipe import SEPARATORS, recipe_from
from clearwatt.service.api.context import AppContext
from clearwatt.service.api.problems import describe_errors
from clearwatt.service.api.routes.entities import register_entities
from clearwatt.service.api.routes.zones import register_zone
from clearwatt.service.api.schemas.base import LARGEST
from clearwatt.service.api.schemas.entities import KindName, NewEntities, NewEntity
from clearwatt.service.api.schemas.zones import NewZone
from clearwatt.service.records import READING, Readings, Receipt, RegisteredEntity
from clearwatt.service.times import EARLIEST, FUTURE, text
from clearwatt.weather import Coordinates
from clearwatt.weather.variables import variables_of

AT_ONCE = 50_000
"""Readings stored in one transaction."""
NAME_BYTES = 100
"""Bytes of a file's name, and of its suffix; file systems have up to 255 in all."""
UNIT_SIZES = {"W": 0.001, "kW": 1.0, "MW": 1000.0, "GW": 1_000_000.0}
"""Units of entities in kW."""
_LISTS = frozenset({"time_columns", "name_columns", "bad_status"})


class EntityChoice(BaseModel):
    """What a person says of an entity; None: as guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: KindName | None = None
    capacity: float | None = Field(default=None, gt=0, le=1e12)


class UploadForm(BaseModel):
    """The fields of the form: the first line of the body; the file follows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(min_length=1, max_length=255)
    answers: dict[str, str] = Field(default_factory=dict)
    zone: str = "region"
    variables: str = ""
    coordinates: str = ""
    entities: dict[str, EntityChoice] = Field(default_factory=dict)
    send: bool = False


@dataclass(frozen=True)
class StoredExport:
    """What was stored: zone, entities and counts."""

    zone: str
    entities: int
    receipt: Receipt


def split_body(body: bytes) -> tuple[UploadForm, bytes]:
    """The form and the file."""
    first, _, content = body.partition(b"\n")
    try:
        form = UploadForm.model_validate_json(first.decode())
    except UnicodeDecodeError as error:
        wrong = f"the first line of the body is not UTF-8 ({error.reason})"
        raise DataError(f"{wrong}; send the form as JSON in UTF-8") from None
    except ValidationError as error:
        raise _refusal(error) from None
    if not content:
        raise DataError("the file is empty; choose another")
    return form, content


def read_upload(form: UploadForm, content: bytes) -> Export:
    """Read a file with the answers of the form; nothing is stored."""
    values: dict[str, Any] = {}
    for key, answer in form.answers.items():
        if answer.strip():
            values[key] = [answer] if key in _LISTS else SEPARATORS.get(answer, answer)
    recipe = recipe_from({**values, "zone": form.zone}, where="answers")
    with TemporaryDirectory(prefix="clearwatt-upload-") as folder:
        path = Path(folder) / _file_name(form.file)
        if path.suffix.lower() in PACKED:  # the limit of an upload is of unpacked bytes
            raise DataError(f"{path.name} is packed; unpack it, and upload what is in it")
        path.write_bytes(content)
        try:
            export = read_export([path], recipe)
        except ClearwattError as error:
            raise DataError(str(error).replace(f"{folder}/", "")) from None
    if export.complete:
        _ask_for_clock(export)
    return export


def store_export(app: AppContext, form: UploadForm, export: Export) -> StoredExport:
    """Register the zone and the entities of a complete export and store its readings."""
    if not export.complete or export.step is None:
        raise DataError("the file leaves something open; answer the questions first")
    if not export.power.notna().to_numpy().any():
        raise DataError("the file has no readings, only empty cells; check its column of values")
    _check_times(export.power, app.clock())
    _check_values(export.power)
    known = app.registry.snapshot.zones.get(form.zone)
    given = [name.strip() for name in form.variables.split(",") if name.strip()]
    settings = _weather_settings(form.coordinates)
    if settings:  # those of Open-Meteo for entities of these kinds
        given = list(variables_of(export.entities, step=int(export.step.total_seconds())))
    try:
        zone = NewZone(
            id=form.zone,
            step=int(export.step.total_seconds()),
            variables=given if known is None else list(known.variables),
            timezone=calendar_zone(export.recipe.timezone) if known is None else known.timezone,
            settings=settings if known is None else {},
        )
        registered = app.registry.snapshot.entities
        names = [str(name) for name in export.power.columns]
        new = [_new_entity(form, export, name) for name in names if name not in registered]
        units = [_unit_size(form, registered[name]) for name in names if name in registered]
        register_zone(app, zone, Response())
        if new:
            register_entities(app, NewEntities(entities=new), Response())
    except ValidationError as error:
        raise _refusal(error) from None
    entities = [app.registry.entity(name) for name in names]
    sizes = [_unit_size(form, entity) for entity in entities] if units else 1.0
    receipt = _store(app, readings_of(export.power / sizes, [each.number for each in entities]))
    return StoredExport(form.zone, len(names), receipt)


def readings_of(power: pd.DataFrame, numbers: list[int]) -> Readings:
    """Readings of entities, one column each, in order of time, without the empty cells.

    A stored NaN corrects a reading to none, and a gap in a file is no correction.
    """
    readings = np.empty(power.size, READING)
    times = pd.DatetimeIndex(power.index).as_unit("s").asi8
    readings["time"] = np.repeat(times, len(numbers))
    readings["entity"] = np.tile(np.array(numbers), len(times))
    readings["value"] = power.to_numpy(np.float64).ravel()
    filled: Readings = readings[~np.isnan(readings["value"])]
    return filled


def _file_name(given: str) -> str:
    """The name of an uploaded file without folders, as every file system can write it.

    Messages show it, and it can be the name of a meter, so it is kept where possible.
    """
    printable = "".join(each for each in given.replace("\\", "/") if each.isprintable())
    name = PurePosixPath(printable).name
    if name in {"", ".."}:
        return "file.csv"
    path = PurePosixPath(name)
    return _shorten(path.stem) + _shorten(path.suffix)


def _shorten(name: str) -> str:
    return name.encode()[:NAME_BYTES].decode(errors="ignore")


def _new_entity(form: UploadForm, export: Export, name: str) -> NewEntity:
    (guess,) = (entity for entity in export.entities if entity.name == name)
    told = form.entities.get(name) or EntityChoice()
    extra: Mapping[str, str] = {key: value for key, value in guess.extra.items() if value}
    return NewEntity(
        id=name,
        zone=form.zone,
        kind=told.kind or guess.kind.value,
        capacity=told.capacity or guess.capacity,
        unit="kW",
        name=extra.get("source", name),
        extra=dict(extra),
    )


def _unit_size(form: UploadForm, entity: RegisteredEntity) -> float:
    """The unit of an entity in kW; DataError if the readings cannot be its own."""
    if entity.zone != form.zone:
        raise DataError(f"{entity.id} belongs to zone {entity.zone!r}; name that one")
    if entity.unit not in UNIT_SIZES:
        raise DataError(
            f"{entity.id} has the unit {entity.unit!r}, and the readings are in kW; send them to "
            "/v1/measurements instead"
        )
    return UNIT_SIZES[entity.unit]


def _weather_settings(place: str) -> dict[str, Any]:
    """Settings of a zone whose weather the service fetches; empty without a place."""
    if not place.strip():
        return {}
    return {"weather": "open-meteo", "coordinates": asdict(Coordinates.parse(place))}


def _store(app: AppContext, readings: Readings) -> Receipt:
    parts = np.array_split(readings, max(1, -(-len(readings) // AT_ONCE)))
    receipts = [app.store.add_readings(part, at=app.clock()) for part in parts]
    total = Receipt(*(sum(counts) for counts in zip(*receipts, strict=True)))
    app.metrics.count_readings(total, rejected=0)
    app.learner.wake()
    return total


def _check_times(power: pd.DataFrame, now: float) -> None:
    first, last = (int(power.index[at].timestamp()) for at in (0, -1))
    if first < EARLIEST or last > now + FUTURE:
        wrong = text(first) if first < EARLIEST else text(last)
        raise DataError(f"{wrong} is out of bounds; check the date order and the time zone")


def _ask_for_clock(export: Export) -> None:
    """Ask for the step if the times are not on a zone's clock, which is that of the API."""
    step = export.step or pd.Timedelta(0)
    first = int(export.power.index[0].timestamp())  # the others lie whole steps later
    if not step or first % step.total_seconds() == 0:
        return
    minutes = step / pd.Timedelta(minutes=1)
    choices = {f"{minutes:g}": "move each reading to the nearest"} if 1440 % minutes == 0 else {}
    export.log.ask(
        "step",
        f"{text(first)} is not on the clock of a zone, which has a whole step of {minutes:g} min "
        "from midnight UTC; give the minutes of a step to move or average the readings to",
        choices,
    )


def _check_values(power: pd.DataFrame) -> None:
    for name in power.columns[(power.abs() > LARGEST).any()]:
        raise DataError(
            f"{name} has values above {LARGEST:g} kW; check the unit and the decimal mark"
        )


def _refusal(error: ValidationError) -> DataError:
    (first, *_) = describe_errors(json.loads(error.json(include_url=False)), skip=0)
    return DataError(f"{first['where']}: {first['reason']}")
