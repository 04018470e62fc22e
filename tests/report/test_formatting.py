import pandas as pd
import pytest

from clearwatt.report.formatting import (
    format_bytes,
    format_count,
    format_day,
    format_duration,
    format_number,
    format_percent,
    format_spread,
)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0"), (96, "96 B"), (4608, "4.6 kB"), (2_400_000, "2.4 MB")]
)
def test_sizes_are_readable(size, text):
    assert format_bytes(size) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0.00 %"),
        (0.00001, "< 0.01 %"),
        (0.1234, "12.34 %"),
        (0.99999, "> 99.99 %"),
        (1, "100.00 %"),
        (None, "–"),
    ],
)
def test_a_tiny_share_is_not_none_and_a_nearly_full_one_not_all(share, text):
    assert format_percent(share) == text


@pytest.mark.parametrize(
    ("hours", "text"), [(0.25, "15 min"), (1, "1 h"), (36, "36 h"), (48, "2 days")]
)
def test_durations_have_the_unit_that_suits_them(hours, text):
    assert format_duration(pd.Timedelta(hours=hours)) == text


@pytest.mark.parametrize(("value", "text"), [(12345.6, "12,346"), (0.12345, "0.123"), (None, "–")])
def test_numbers_have_a_few_significant_digits(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [((0.1, 0.2, 0.3), "20.0 (10–30)"), ((0.05, 0.05, 0.05), "5.0"), (None, "–")],
)
def test_a_spread_has_its_ends_unless_they_are_equal(values, text):
    assert format_spread(values) == text


def test_counts_and_days():
    assert format_count(1, "zone") == "1 zone"
    assert format_count(1200, "zone") == "1,200 zones"
    assert format_day(pd.Timestamp("2024-03-31T12:00Z")) == "2024-03-31"
