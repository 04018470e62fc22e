"""Loading: every format the folder may have, local clocks, and the two real folders."""

from pathlib import Path

import numpy as np
import pytest

from clearwatt.data import Dataset, Kind, load_dataset
from clearwatt.data.catalogue import CATALOGUE
from clearwatt.errors import DataError

SHARED = Path(__file__).parents[3] / "shared" / "data"


def test_csv(csv_folder):
    data = load_dataset(str(csv_folder))
    assert data.name == "grid"
    assert data.power["park"].tolist() == [row + 0.5 for row in range(12)]
    assert data.power.dtypes.unique().tolist() == [np.dtype(np.float32)]
    assert data.weather["town"].columns.tolist() == ["temperature_c", "ghi_wm2"]
    assert data.entity("park").kind is Kind.GENERATOR
    assert data.entity("park").capacity == 12.5
    assert data.entity("house").capacity is None
    assert data.entity("park").extra == {"subtype": "pv"}
    assert data.entity("house").extra == {}
    assert data.about == "# A grid for tests\n"


def test_parquet_and_csv_mean_the_same(csv_folder, tmp_path):
    data = load_dataset(csv_folder)
    assert load_dataset(data.save(tmp_path / "parquet")).equals(data)


def test_about_is_optional(csv_folder):
    (csv_folder / "ABOUT.md").unlink()
    assert load_dataset(csv_folder).about == ""


def test_a_bare_name_of_the_catalogue_is_not_a_folder(tmp_path, monkeypatch, csv_folder):
    monkeypatch.chdir(tmp_path)
    csv_folder.rename(tmp_path / "gefcom2012-wind")
    assert load_dataset("./gefcom2012-wind").names == ("park", "house")
    assert load_dataset(Path("gefcom2012-wind")).names == ("park", "house")


def test_a_damaged_cache_says_how_to_mend_it(tmp_path, monkeypatch, csv_folder):
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path))
    cached = CATALOGUE["gefcom2012-load"].folder
    load_dataset(csv_folder).save(cached)
    assert load_dataset("gefcom2012-load").names == ("park", "house")
    (cached / "power.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(DataError, match=r"power\.parquet.*data get gefcom2012-load --refresh"):
        load_dataset("gefcom2012-load")


def test_unknown_name_lists_the_known(tmp_path):
    with pytest.raises(DataError, match=r"neither a folder nor .*gefcom2012-load.*simulated"):
        load_dataset(str(tmp_path / "gefcom2013"))


@pytest.mark.parametrize(
    ("name", "entities", "zones"), [("europe_wind_farm", 30, 30), ("pse_poland_15min", 6, 1)]
)
def test_the_real_folders_load_and_survive_a_round_trip(name, entities, zones, tmp_path):
    if not (SHARED / name).is_dir():
        pytest.skip(f"{name} is not beside this checkout")
    before = {file: file.stat().st_mtime_ns for file in (SHARED / name).iterdir()}
    data = load_dataset(SHARED / name)
    assert (len(data.names), len(data.zones)) == (entities, zones)
    assert load_dataset(data.save(tmp_path / name)).equals(data)
    assert {file: file.stat().st_mtime_ns for file in (SHARED / name).iterdir()} == before


@pytest.mark.slow
def test_the_simulated_grid_by_name(tmp_path):
    data = load_dataset("simulated")
    assert isinstance(data, Dataset)
    assert len(data.names) == 95
    assert load_dataset(data.save(tmp_path / "grid")).equals(data)
