import base64

import numpy as np
import pandas as pd
import pytest

from clearwatt.data.dataset import Dataset
from clearwatt.data.describe import describe
from clearwatt.data.schema import Drift, Entity, Kind
from clearwatt.report.span_plots import quality_panel, span_figures

START = pd.Timestamp("2024-01-01", tz="UTC")


def dataset(days=14):
    times = pd.date_range(START, periods=24 * days, freq="h", name="time")
    power = pd.DataFrame({"a": np.arange(len(times)) // 24 + 1.0, "b": 2.0}, index=times)
    power.iloc[:24, 0] = np.nan
    drifts = (
        Drift("seasons", None, START, None, 1.0, "always"),
        Drift("outage", "b", START + pd.Timedelta(days=5), None, 0.5, "later"),
    )
    entities = tuple(Entity(name, Kind.CONSUMER, 20.0, "z") for name in "ab")
    weather = {"z": pd.DataFrame({"temp_c": 1.0}, index=times)}
    return Dataset("d", power, weather, entities, drifts)


def values(packed):
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def test_power_is_averaged_per_day_and_a_day_without_readings_is_empty():
    (line,) = span_figures(dataset(), "kW")["a"]["data"]
    assert np.isnan(values(line["y"])[0])
    assert values(line["y"])[1:].tolist() == list(range(2, 15))
    assert (line["x0"], line["dx"]) == ("2024-01-01 00:00:00", 86_400_000)


def test_only_drifts_that_start_later_and_affect_the_entity_are_marked():
    figures = span_figures(dataset(), "kW")
    assert [len(figures[name]["layout"]["annotations"]) for name in "ab"] == [0, 1]


def test_quality_is_the_share_of_each_week_for_any_reason_and_for_each():
    figure = quality_panel(describe(dataset())).figure
    (menu,) = figure["layout"]["updatemenus"]
    labels = [button["label"] for button in menu["buttons"]]
    assert labels[:2] == ["anything", "gap"]
    assert [trace["visible"] for trace in figure["data"]] == [True] + [False] * (len(labels) - 1)
    gaps = values(figure["data"][1]["z"]).reshape(2, 2)
    assert gaps[0].tolist() == pytest.approx([100 / 7, 0])
    assert gaps[1].tolist() == [0, 0]
