import pytest

from clearwatt.data.schema import Entity, Kind
from clearwatt.data.simulate import simulate_grid
from clearwatt.report.week_plots import main_weather, select_weeks, variable_title


@pytest.fixture(scope="module")
def grid():
    return simulate_grid(entities=12, steps=96 * 400, seed=0)


def test_weeks_begin_on_monday_inside_the_span(grid):
    for week in select_weeks(grid):
        assert week.start.dayofweek == 0
        assert grid.times[0] <= week.start
        assert week.end <= grid.times[-1] + grid.step


@pytest.mark.parametrize(
    ("kind", "subtype", "variable"),
    [
        (Kind.GENERATOR, "pv", "ghi_wm2"),
        (Kind.GENERATOR, "wind", "wind_speed_100m_ms"),
        (Kind.GENERATOR, "biogas", "temperature_2m_c"),
        (Kind.CONSUMER, "office", "temperature_2m_c"),
        (Kind.RESIDUAL, "rural", "ghi_wm2"),
    ],
)
def test_the_weather_beside_an_entity_is_what_it_depends_on(grid, kind, subtype, variable):
    entity = Entity("x", kind, 1.0, "z", {"subtype": subtype})
    (weather,) = grid.weather.values()
    assert main_weather(entity, list(weather.columns)) == variable
    assert main_weather(entity, ["something"]) == "something"


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("wind_speed_100m_ms", "wind speed 100m [m/s]"),
        ("AirPressure", "AirPressure"),
        ("c", "c"),
        ("cloud_cover", "cloud cover"),
    ],
)
def test_column_names_become_words(column, words):
    assert variable_title(column) == words
