"""A small valid data set, on disk and in memory, that tests bend out of shape."""

from pathlib import Path

import pytest

from clearwatt.data import Dataset, load_dataset

QUARTERS = [f"2024-01-01T{m // 60:02d}:{m % 60:02d}:00+00:00" for m in range(0, 180, 15)]
HOURS = [f"2024-01-01T{hour:02d}:00:00+00:00" for hour in range(4)]


@pytest.fixture
def csv_folder(tmp_path: Path) -> Path:
    """Twelve quarter-hours of a solar park and a house, four hours of weather, as CSV."""
    folder = tmp_path / "grid"
    folder.mkdir()
    power = [f"{time},{row}.5,{20 - row}" for row, time in enumerate(QUARTERS)]
    weather = [f"{time},{row}.25,{100 * row}" for row, time in enumerate(HOURS)]
    _write(folder / "power.csv", ["time,park,house", *power])
    _write(folder / "weather.csv", ["time,town__temperature_c,town__ghi_wm2", *weather])
    entities = ["entity,kind,capacity,zone,subtype", "park,generator,12.5,town,pv"]
    _write(folder / "entities.csv", [*entities, "house,consumer,,town,"])
    _write(folder / "ABOUT.md", ["# A grid for tests"])
    return folder


@pytest.fixture
def dataset(csv_folder: Path) -> Dataset:
    """The same, loaded."""
    return load_dataset(csv_folder)


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
