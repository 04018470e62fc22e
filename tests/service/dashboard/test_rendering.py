"""Numbers and times as pages show them."""

import pytest

from clearwatt.service.dashboard.rendering import (
    figures,
    moment,
    percent,
    power,
    share,
    size,
    span,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.0123, "0.012"),
        (1.234, "1.23"),
        (12.34, "12.3"),
        (-123.4, "-123"),
        (1234567.0, "1,234,567"),
        (1e-5, "1.00e-05"),
        (2.5e12, "2.50e+12"),
    ],
)
def test_numbers_are_short(value, shown):
    assert figures(value) == shown


def test_a_power_has_its_unit_and_none_is_a_dash():
    assert power(1.5, "MW") == "1.50 MW"
    assert power(None, "MW") == "–"


def test_shares_are_of_capacity():
    assert [percent(each) for each in (0.042, 0.0999, 0.5)] == ["4.2 %", "10 %", "50 %"]
    assert share(6.0, 40.0) == "15 % of capacity"
    assert share(None, 40.0) == share(6.0, None) == ""


def test_sizes_and_spans_choose_their_unit():
    assert [size(n) for n in (12, 1500, 2.5e6, 3e9, 4e15)] == [
        "12 B",
        "1.5 kB",
        "2.5 MB",
        "3.0 GB",
        "4,000.0 TB",
    ]
    assert [span(n) for n in (7.2, 119, 120, 7200, 172_800)] == [
        "7 s",
        "119 s",
        "2 min",
        "2 h",
        "2 days",
    ]


def test_a_time_is_in_utc_until_a_script_shows_it_otherwise():
    shown = str(moment(1_717_200_000))
    assert "datetime='2024-06-01T00:00:00Z'" in shown
    assert ">2024-06-01 00:00 UTC<" in shown
    assert moment("2024-06-01T00:00:00Z") == moment(1_717_200_000)
    assert "<b>" not in moment(None, "<b>")
