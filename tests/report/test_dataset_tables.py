import io

import numpy as np
import pandas as pd
from rich.console import Console

from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import describe
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.report.dataset_tables import all_drifts_table, all_entities_table, dataset_tables
from clearwatt.report.tables import terminal_table

START = pd.Timestamp("2023-01-01", tz="UTC")
DRIFT = Drift("meter_rescaled", "farm", START + pd.Timedelta(days=9), None, 0.4, "reads 40 % less")


def description(*, name="farm", drifts=(), days=30, gap=slice(0, 0)):
    times = pd.date_range(START, periods=24 * days, freq="h", name="time")
    readings = 5 + np.random.default_rng(0).normal(0, 0.1, len(times))
    readings[gap] = np.nan
    weather = pd.DataFrame(
        {"temperature_2m_c": np.linspace(-5, 25, len(times))}, index=times, dtype=np.float32
    )
    return describe(
        Dataset(
            name="small",
            power=pd.DataFrame({name: readings}, index=times, dtype=np.float32),
            weather={"here": weather},
            entities=(Entity(name, Kind.GENERATOR, 10.0, "here", {"subtype": "wind"}),),
            drifts=drifts,
        )
    )


def printed(described, *, width=120):
    text = io.StringIO()
    for table in dataset_tables(described).values():
        Console(file=text, width=width).print(terminal_table(table))
    return text.getvalue()


def test_the_tables_name_what_the_reader_asks_for():
    text = printed(description(drifts=(DRIFT,)))
    words = ["2023-01-01", "1 generator", "wind", "capacity factor", "flatline", "temperature_2m_c"]
    for word in [*words, "meter rescaled", "2023-01-10"]:
        assert word in text


def test_there_is_a_drift_table_only_with_drifts():
    assert "drift" not in dataset_tables(description())
    assert dataset_tables(description(drifts=(DRIFT,)))["drift"].rows[0][:3] == (
        "meter rescaled",
        "farm",
        "1",
    )


def test_less_than_a_year_is_stated_as_the_whole_span():
    assert "the whole span" in printed(description())
    assert "every calendar month" in printed(description(days=366))


def test_the_longest_gap_has_its_entity():
    assert "36 h (farm)" in printed(description(gap=slice(100, 136)))


def test_names_that_look_like_markup_are_printed_as_they_are():
    assert "[red]x[/red]" in printed(description(name="[red]x[/red]", gap=slice(9, 10)))


def test_every_entity_and_every_drift_has_a_row():
    described = description(drifts=(DRIFT,))
    (entity,) = all_entities_table(described).rows
    assert entity[:5] == ("farm", "generator", "wind", "here", "10")
    (drift,) = all_drifts_table(described).rows
    assert drift == ("meter rescaled", "farm", "reads 40 % less", "2023-01-10", "–", "0.4")
