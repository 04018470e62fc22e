"""The data-set folder: its files, and writing one so that it appears complete or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clearwatt.data.schema import Drift, Entity
from clearwatt.errors import DataError

POWER, WEATHER = "power", "weather"  # each .parquet or .csv
ENTITIES, DRIFT, ABOUT = "entities.csv", "drift.csv", "ABOUT.md"
CONVENTIONS = "dataset.json"  # time zone and unit
ENTITY_COLUMNS = ("entity", "kind", "capacity", "zone")
DRIFT_COLUMNS = ("what", "entity", "start", "end", "strength", "description")
FILES = frozenset(
    {
        "power.parquet",
        "power.csv",
        "weather.parquet",
        "weather.csv",
        ENTITIES,
        DRIFT,
        ABOUT,
        CONVENTIONS,
    }
)


def write_folder(contents: Mapping[str, bytes], path: Path, *, overwrite: bool) -> Path:
    """Write the files of a data set, from ``folder_contents``, to the folder ``path``.

    The folder appears complete or not at all. One that has exactly these files is left as it is.
    """
    path = path.resolve()
    check_target(path, overwrite=overwrite or _has_files(path, contents))
    if _has_files(path, contents):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        fresh = Path(scratch) / "new"
        fresh.mkdir()
        for name, content in contents.items():
            _write_file(fresh / name, content)
        if path.exists():
            path.rename(Path(scratch) / "old")
        fresh.rename(path)
    return path


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise ``DataError`` if writing to ``path`` would replace anything but a data set."""
    if not path.exists():
        return
    if not path.is_dir():
        raise DataError(f"{path} is a file; choose a folder to save to")
    present = {item.name for item in path.iterdir()}
    if foreign := sorted(present - FILES):
        raise DataError(
            f"{path} holds {foreign[0]!r}, which is no part of a data set, and stays as it is; "
            "choose another folder"
        )
    if present and not overwrite:
        raise DataError(
            f"{path} holds another data set already; choose another folder, or overwrite it "
            "(--overwrite)"
        )


def _has_files(path: Path, contents: Mapping[str, bytes]) -> bool:
    if not path.is_dir() or {item.name for item in path.iterdir()} != set(contents):
        return False
    return all((path / name).read_bytes() == content for name, content in contents.items())


def folder_contents(
    power: pd.DataFrame,
    *,
    weather: Mapping[str, pd.DataFrame],
    entities: Sequence[Entity],
    drifts: Sequence[Drift],
    about: str,
    timezone: str = "UTC",
    unit: str = "",
) -> Mapping[str, bytes]:
    """The content of each file of a data-set folder; the same data gives the same bytes."""
    contents = {f"{POWER}.parquet": parquet_bytes(power), ENTITIES: _entities_csv(entities)}
    if weather:
        contents[f"{WEATHER}.parquet"] = parquet_bytes(joined_weather(weather))
    if (timezone, unit) != ("UTC", ""):
        contents[CONVENTIONS] = _json({"timezone": timezone, "unit": unit})
    if drifts:
        contents[DRIFT] = _drifts_csv(drifts)
    if about:
        contents[ABOUT] = about.encode()
    return contents


def joined_weather(weather: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The weather of all zones in one table, with columns ``<zone>__<variable>``."""
    frames = [frame.add_prefix(f"{zone}__") for zone, frame in weather.items()]
    clocks = {(frame.index[0], frame.index[-1], len(frame)) for frame in frames}
    if len(clocks) > 1:
        raise DataError(
            f"the zones {', '.join(weather)} have weather on different clocks, which one table "
            "cannot hold; bring them to one step and span before saving"
        )
    return pd.concat(frames, axis=1)


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A table with the index ``time`` as Parquet."""
    table = pa.Table.from_pandas(frame.reset_index(), preserve_index=False)
    sink = io.BytesIO()
    # Without the pandas metadata, the bytes depend on the data alone. Readings rarely repeat, so
    # a dictionary would only add bytes.
    plain = table.replace_schema_metadata(None)
    pq.write_table(plain, sink, compression="zstd", use_dictionary=False, write_page_checksum=True)
    return sink.getvalue()


def _entities_csv(entities: Sequence[Entity]) -> bytes:
    extra = list(dict.fromkeys(key for entity in entities for key in entity.extra))
    rows = (
        [
            entity.name,
            str(entity.kind),
            "" if entity.capacity is None else repr(float(entity.capacity)),
            entity.zone,
            *(entity.extra.get(key, "") for key in extra),
        ]
        for entity in entities
    )
    return _csv([*ENTITY_COLUMNS, *extra], rows)


def _drifts_csv(drifts: Sequence[Drift]) -> bytes:
    rows = (
        [
            drift.what,
            drift.entity or "",
            drift.start.isoformat(),
            "" if drift.end is None else drift.end.isoformat(),
            repr(float(drift.strength)),
            drift.description,
        ]
        for drift in drifts
    )
    return _csv(DRIFT_COLUMNS, rows)


def _json(values: Mapping[str, str]) -> bytes:
    return (json.dumps(values, indent=2) + "\n").encode()


def _csv(header: Iterable[str], rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _write_file(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())  # the bytes must be on disk before the rename
