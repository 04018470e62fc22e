"""Small pictures as pages show them."""

import re

import numpy as np

from clearwatt.service.dashboard.drawing import bar, day_picture, skill_words, sparkline, trend
from clearwatt.service.views.evidence import DayForecasts


def test_a_trend_is_an_arrow_and_words():
    assert trend(None) is None
    assert trend(1.04)[:2] == ("→", "as over the week")
    assert trend(1.5)[:2] == ("↑", "50 % above the week")
    assert trend(0.75)[:2] == ("↓", "25 % below the week")


def test_skill_is_in_words():
    assert skill_words(None, worse=False) is None
    assert skill_words(0.25, worse=False) == ("↓", "25 % better", "good")
    assert skill_words(-0.05, worse=False) == ("↑", "5.0 % worse", "warn")
    assert skill_words(0.001, worse=False).words == "as good"


def test_a_day_has_a_line_for_each_version_and_for_what_was_measured():
    times = 1_717_200_000 + 3600 * np.arange(4)
    nothing = np.full(4, np.nan)
    before, after = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, np.nan, 2.0, 8.0])
    drawn = str(day_picture(DayForecasts(times, before, after, nothing), "kW", ("<old>", "new")))
    lines = re.findall(r"<polyline class='(\w+)' points='([^']+)'", drawn)
    assert [name for name, _ in lines] == ["before", "after", "after"], "a gap parts a line"
    assert "from 1.00 kW to 8.00 kW" in drawn
    assert "<old>" not in drawn and "&lt;old&gt;" in drawn
    highest = lines[-1][1].split()[-1].split(",")
    assert highest == ["476.0", "6.0"]


def test_a_sparkline_says_its_values_and_skips_days_without():
    drawn = sparkline([2.0, None, 1.0], "kW<")
    assert "2.00 kW&lt;, none, 1.00 kW&lt;" in drawn
    assert "points='3.0,3.0 81.0,12.0'" in drawn
    assert "no errors yet" in sparkline([None, None], "kW")
    assert "points='3.0,21.0'" in sparkline([0.0], "kW")


def test_a_bar_is_never_wider_than_full():
    assert "width='25.0'" in bar(25, 100)
    assert "width='100.0'" in bar(250, 100)
    assert "width='0.0'" in bar(5, None)
