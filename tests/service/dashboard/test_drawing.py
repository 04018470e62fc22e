"""Small pictures as pages show them."""

from clearwatt.service.dashboard.drawing import bar, sparkline, trend


def test_a_trend_is_an_arrow_and_words():
    assert trend(None) is None
    assert trend(1.04)[:2] == ("→", "as over the week")
    assert trend(1.5)[:2] == ("↑", "50 % above the week")
    assert trend(0.75)[:2] == ("↓", "25 % below the week")


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
