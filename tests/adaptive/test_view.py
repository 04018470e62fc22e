"""What the networks see: causal, comparable, nothing about seasons never seen."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from clearwatt.adaptive.view import FAR, View
from clearwatt.data.features import CALENDAR_COLUMNS, calendar
from clearwatt.errors import ConfigurationError
from clearwatt.packing import pack, unpack
from clearwatt.training.standardisation import Standardisation

COLUMNS = ("wind", "sun", *CALENDAR_COLUMNS)


def rows(n=200, seed=0):
    return np.random.default_rng(seed).normal(size=(n, len(COLUMNS))), np.arange(n)


def fitted(x, at, *, windows=(3,), columns=COLUMNS):
    return View.fit(x, at, columns=columns, windows=windows)


def test_it_tells_where_the_time_of_year_is():
    x, at = rows()
    x[:, 5] = 1  # minute_cos of an hourly clock never changes and is left out
    view = fitted(x, at)
    names = [COLUMNS[i] for i in view.kept]
    assert [names[place] for place in view.season] == [
        "week_sin",
        "week_cos",
        "day_of_year_sin",
        "day_of_year_cos",
    ]
    assert view.see(x, at).shape == (200, view.width)


def test_weather_of_neighbours_is_seen_as_it_is_without_means_over_the_past():
    x, at = rows()
    columns = ("wind", "neighbour.hills.wind", *CALENDAR_COLUMNS)
    view = fitted(x, at, columns=columns)
    assert [columns[view.kept[place]] for place in view.neighbours] == ["neighbour.hills.wind"]
    assert view.weather == (0,)
    assert view.width == len(COLUMNS) - 2 + 1  # minutes join the hours; one mean, of the own wind


def test_an_arc_of_a_circle_is_not_stretched():
    x, at = rows()
    angle = np.linspace(0, 0.3, len(at))  # some weeks of the year
    x[:, 10], x[:, 11] = np.sin(angle), np.cos(angle)
    view = fitted(x, at)
    seen = view.see(x, at)[:, [view.kept.index(10), view.kept.index(11)]]
    np.testing.assert_allclose(seen, np.sqrt(2) * x[:, [10, 11]], rtol=1e-5)


def test_hours_and_minutes_become_one_time_of_day():
    times = pd.date_range("2024-03-01", periods=3 * 96, freq="15min", tz="UTC")
    at = np.arange(len(times))
    x = np.concatenate([rows(len(at))[0][:, :2], calendar(times)], axis=1)
    view = fitted(x, at)
    assert not {"minute_sin", "minute_cos"} & {COLUMNS[i] for i in view.kept}
    angle = 2 * np.pi * at / 96
    seen = view.see(x, at)[:, [view.kept.index(2), view.kept.index(3)]]
    wanted = np.sqrt(2) * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(seen, wanted, atol=1e-3)


def test_a_view_saved_before_hours_and_minutes_were_joined_still_sees_minutes():
    x, at = rows()
    view = replace(fitted(x, at), time_of_day=(), scale=Standardisation.identity(14))
    saved = pack(replace(view, kept=tuple(range(12))))
    del saved.values["time_of_day"]
    seen = unpack(View, *saved).see(x, at)
    np.testing.assert_allclose(seen[:, 2:6], np.clip(x[:, 2:6], -FAR, FAR), rtol=1e-6)


def test_columns_are_comparable_and_far_values_cut_off():
    x, at = rows()
    view = fitted(x, at)
    seen = view.see(x, at)
    weather = [0, 1, -2, -1]
    np.testing.assert_allclose(seen[:, weather].std(axis=0), 1, atol=0.02)
    assert np.abs(view.see(x * 1_000, at)).max() == FAR


def test_the_window_is_the_mean_up_to_now_of_the_steps_there_are():
    x, at = rows()
    at = np.concatenate([at[:100], at[100:] + 50])
    view = fitted(x, at)
    means = view.scale.undo(view.see(x, at).astype(float))[:, -2] + x[:, 0]
    assert means[50] == pytest.approx(x[48:51, 0].mean(), abs=1e-4)
    assert means[100] == pytest.approx(x[100, 0], abs=1e-4)
    assert means[101] == pytest.approx(x[100:102, 0].mean(), abs=1e-4)


def test_a_row_does_not_depend_on_later_ones():
    x, at = rows()
    view = fitted(x, at, windows=(3, 24))
    np.testing.assert_allclose(view.see(x, at)[:120], view.see(x[:120], at[:120]), atol=1e-6)
    tail = view.see(x[120 - view.reach :], at[120 - view.reach :])[view.reach :]
    np.testing.assert_allclose(view.see(x, at)[120:], tail, atol=1e-5)


def test_a_column_that_never_changes_is_left_out():
    x, at = rows()
    x[:, 1] = 4
    assert fitted(x, at).width == fitted(*rows()).width - 2


def test_names_follow_the_layout_of_prepare_by_default():
    x, at = rows()
    assert fitted(x, at, columns=None).kept == fitted(x, at).kept
    with pytest.raises(ConfigurationError, match="3 names for 12 inputs"):
        fitted(x, at, columns=("a", "b", "c"))
