"""Saving: whole or not at all, the same bytes for the same data, nothing of others lost."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Dataset, Drift, load_dataset
from clearwatt.errors import DataError


def checksums(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def rich(dataset: Dataset) -> Dataset:
    """Add what is easily lost: gaps, drifts, awkward text."""
    power = dataset.power.copy()
    power.iloc[3, 0] = np.nan
    power.iloc[4, 0] = np.float32(0.1)
    park = replace(dataset.entities[0], extra={"subtype": "pv, tilted", "owner": 'the "co-op"'})
    drifts = (
        Drift("outage", "park", dataset.times[2], dataset.times[5], 1 / 3, "down,\nthen up"),
        Drift("nwp_change", None, pd.Timestamp("2024-01-01T01:07:03Z"), None, 0.0, "ünïcode"),
    )
    about = "# Grid\r\nline two\n"
    entities = (park, dataset.entities[1])
    return replace(dataset, power=power, entities=entities, drifts=drifts, about=about)


def test_round_trip_loses_nothing(dataset, tmp_path):
    data = rich(dataset)
    again = load_dataset(data.save(tmp_path / "saved"))
    assert again.equals(data)
    assert again.name == "saved"
    assert again.entity("house").capacity is None


def test_same_data_gives_the_same_bytes(dataset, tmp_path):
    data = rich(dataset)
    first = checksums(data.save(tmp_path / "one"))
    again = load_dataset(tmp_path / "one")
    assert checksums(again.save(tmp_path / "two")) == first
    assert set(first) == {
        "power.parquet",
        "weather.parquet",
        "entities.csv",
        "drift.csv",
        "ABOUT.md",
    }


def test_time_zone_and_unit_are_part_of_a_data_set(dataset, tmp_path):
    local = replace(dataset, timezone="Europe/Warsaw", unit="kW")
    again = load_dataset(local.save(tmp_path / "local"))
    assert (again.timezone, again.unit) == ("Europe/Warsaw", "kW")
    assert again.equals(local)
    assert not again.equals(dataset)
    part = again.slice(again.times[2]).select(["park"])
    assert (part.timezone, part.unit) == ("Europe/Warsaw", "kW")


def test_creates_folders_on_the_way_and_leaves_nothing_else(dataset, tmp_path):
    dataset.save(tmp_path / "new" / "er" / "grid")
    assert [item.name for item in (tmp_path / "new" / "er").iterdir()] == ["grid"]


def test_refuses_to_overwrite_unless_asked(dataset, tmp_path):
    target = dataset.save(tmp_path / "saved")
    before = checksums(target)
    changed = replace(dataset, about="changed")
    with pytest.raises(DataError, match="holds another data set already"):
        changed.save(target)
    assert checksums(target) == before
    changed.save(target, overwrite=True)
    assert load_dataset(target).about == "changed"
    assert {item.name for item in tmp_path.iterdir()} == {"grid", "saved"}


def test_saving_the_same_again_changes_nothing(dataset, tmp_path):
    target = rich(dataset).save(tmp_path / "saved")
    before = {file: file.stat().st_mtime_ns for file in target.iterdir()}
    assert rich(dataset).save(target) == target
    assert {file: file.stat().st_mtime_ns for file in target.iterdir()} == before


def test_no_flipped_bit_changes_a_reading_unnoticed(dataset, tmp_path):
    file = dataset.save(tmp_path / "saved") / "power.parquet"
    content, found = bytearray(file.read_bytes()), 0
    for position in range(0, len(content) // 2, 3):
        content[position] ^= 1
        file.write_bytes(content)
        content[position] ^= 1
        try:
            assert load_dataset(tmp_path / "saved").equals(dataset)
        except DataError:
            found += 1
    assert found > 50


def test_overwriting_leaves_no_stale_file_behind(dataset, tmp_path):
    target = rich(dataset).save(tmp_path / "saved")
    replace(dataset, drifts=()).save(target, overwrite=True)
    assert load_dataset(target).drifts == ()


def test_never_replaces_a_folder_with_other_things_in_it(dataset, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        dataset.save(tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


def test_an_empty_folder_may_be_filled_and_a_file_not_replaced(dataset, tmp_path):
    (tmp_path / "empty").mkdir()
    assert load_dataset(dataset.save(tmp_path / "empty")).equals(dataset)
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="is a file"):
        dataset.save(tmp_path / "file", overwrite=True)


def test_refuses_to_save_what_could_not_be_loaded(dataset, tmp_path):
    silent = dataset.power.copy()
    silent["house"] = np.nan
    with pytest.raises(DataError, match=r"column 'house', row 1 .*empty series"):
        replace(dataset, power=silent).save(tmp_path / "saved")
    calm = {"town": dataset.weather["town"].assign(ghi_wm2=np.nan)}
    with pytest.raises(DataError, match=r"column 'town__ghi_wm2', row 1 .*empty series"):
        replace(dataset, weather=calm).save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_zones_on_different_clocks_are_refused(dataset, tmp_path):
    other = {**dataset.weather, "hill": dataset.weather["town"].iloc[:3]}
    with pytest.raises(DataError, match="different clocks"):
        replace(dataset, weather=other).save(tmp_path / "saved")
