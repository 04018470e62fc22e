import numpy as np
import pandas as pd
import pytest

from clearwatt.data import Dataset, Kind, load_dataset
from clearwatt.errors import DataError

TIMES = pd.date_range("2024-03-30", periods=72, freq="h", tz="Europe/Warsaw")
WIND = pd.DataFrame({"wind_ms": np.linspace(2, 9, 72)}, index=TIMES)
POWER = pd.DataFrame({"farm": np.linspace(0, 3, 72), "mill": np.linspace(5, 1, 72)}, index=TIMES)


def test_one_series_and_one_frame_of_weather_are_enough(tmp_path):
    data = Dataset.from_frames(POWER["farm"], WIND, "generator")
    assert data.names == ("farm",) and data.zones == ("zone",)
    assert data.entity("farm").kind is Kind.GENERATOR and data.entity("farm").capacity is None
    assert str(data.times.tz) == "UTC" and data.times[0] == TIMES[0]
    assert load_dataset(data.save(tmp_path / "farm")).equals(data)


def test_kinds_are_given_by_name():
    data = Dataset.from_frames(POWER, WIND, {"mill": "consumer", "farm": "generator"})
    assert [entity.kind for entity in data.entities] == ["generator", "consumer"]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_table_gives_what_entities_csv_gives(indexed):
    table = pd.DataFrame(
        {
            "entity": ["mill", "farm"],
            "kind": ["consumer", "generator"],
            "capacity": [None, 4.0],
            "zone": ["hills", "coast"],
            "owner": ["", "Ada"],
        }
    )
    data = Dataset.from_frames(
        POWER,
        {"coast": WIND, "hills": WIND},
        table.set_index("entity") if indexed else table,
        name="two",
        timezone="Europe/Warsaw",
        unit="MW",
    )
    farm, mill = data.entities
    assert (farm.capacity, farm.zone, dict(farm.extra)) == (4.0, "coast", {"owner": "Ada"})
    assert (mill.capacity, mill.zone, dict(mill.extra)) == (None, "hills", {})
    assert (data.name, data.timezone, data.unit) == ("two", "Europe/Warsaw", "MW")


@pytest.mark.parametrize(
    ("power", "weather", "entities", "says"),
    [
        (POWER["farm"].rename(None), WIND, "generator", "has no name; name it"),
        (POWER, WIND, "windmill", "farm: unknown kind 'windmill'"),
        (POWER, WIND, {"farm": "generator"}, "entities has no row for 'mill'"),
        (POWER["farm"], WIND, dict.fromkeys(POWER, "generator"), "no column for 'mill'"),
        (POWER, {"a": WIND, "b": WIND}, "generator", "2 weather zones, and entities has no column"),
        (POWER, WIND, pd.DataFrame(index=["farm", "mill"]), "entities has no column 'kind'"),
        (
            POWER,
            WIND,
            pd.DataFrame({"kind": "generator"}, index=["farm", "mill", "farm"]),
            "two rows for 'farm'",
        ),
        (
            POWER["farm"],
            WIND,
            pd.DataFrame({"kind": "generator", "capacity": ["big"]}, index=["farm"]),
            "farm: capacity 'big' is not a number",
        ),
        (POWER.tz_localize(None), WIND, "generator", "time zone"),
        (POWER, WIND[:10], "generator", "weather"),
    ],
)
def test_mistakes_are_told(power, weather, entities, says):
    with pytest.raises(DataError) as error:
        Dataset.from_frames(power, weather, entities)
    assert says in str(error.value)
