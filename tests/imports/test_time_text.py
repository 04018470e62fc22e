"""Times as people and systems write them."""

import numpy as np
import pandas as pd
import pytest

from clearwatt.imports.time_text import (
    looks_like_date,
    looks_like_time,
    parse_times,
    possible_orders,
)


def parse(text: str, order: str = "dmy", clock: str | None = None) -> tuple[str, str, str]:
    hours = None if clock is None else pd.Series([clock])
    found = parse_times(pd.Series([text]), order, hours)
    return str(found.wall[0])[:19], str(found.mark[0]), str(found.zone[0])


@pytest.mark.parametrize(
    ("text", "wall", "mark", "zone"),
    [
        ("2024-03-31 00:15", "2024-03-31T00:15:00", "", ""),
        ("2024-03-31T00:15:00.000Z", "2024-03-31T00:15:00", "", "Z"),
        ("2024-03-31 00:15:00+02:00", "2024-03-31T00:15:00", "", "+02:00"),
        ("2024/03/31 00:15", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024 00:15", "2024-03-31T00:15:00", "", ""),
        ("31.03.24 0:15", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024", "2024-03-31T00:00:00", "", ""),
        ("31/03/2024 00h15", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024, 00:15", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024 24:00", "2024-04-01T00:00:00", "", ""),
        ("31-Mar-2024 00:15:00", "2024-03-31T00:15:00", "", ""),
        ("31. Okt 2024 00:15", "2024-10-31T00:15:00", "", ""),
        ("31-Dez-24 23:45", "2024-12-31T23:45:00", "", ""),
        ("31 maart 2024", "2024-03-31T00:00:00", "", ""),
        ("31 pa\u017adziernika 2024", "2024-10-31T00:00:00", "", ""),
        ("30 \u010dvn 2024", "2024-06-30T00:00:00", "", ""),
        ("31 \u010dervence 2024", "2024-07-31T00:00:00", "", ""),
        ("31 juil. 2024", "2024-07-31T00:00:00", "", ""),
        ("30 sept. 2024", "2024-09-30T00:00:00", "", ""),
        ("20240331 0015", "2024-03-31T00:15:00", "", ""),
        ("202403310015", "2024-03-31T00:15:00", "", ""),
        ("20240331T001500", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024 12:15 AM", "2024-03-31T00:15:00", "", ""),
        ("31.03.2024 12:15 p.m.", "2024-03-31T12:15:00", "", ""),
        ("27.10.2024 2A:15", "2024-10-27T02:15:00", "A", ""),
        ("27.10.2024 02:15 B", "2024-10-27T02:15:00", "B", ""),
        ("27.10.2024 02:15 CEST", "2024-10-27T02:15:00", "", "CEST"),
        ("1711843200", "2024-03-31T00:00:00", "", "Z"),
        ("1711843200000", "2024-03-31T00:00:00", "", "Z"),
    ],
)
def test_forms(text, wall, mark, zone):
    assert looks_like_date(text)
    assert parse(text) == (wall, mark, zone)


@pytest.mark.parametrize(
    ("date", "clock", "wall", "mark"),
    [
        ("31.03.2024", "00:15", "2024-03-31T00:15:00", ""),
        ("2024-03-31 00:00:00", "00:15:00", "2024-03-31T00:15:00", ""),
        ("2024-03-31", "24", "2024-04-01T00:00:00", ""),
        ("2024-10-27", "3A", "2024-10-27T03:00:00", "A"),
    ],
)
def test_date_and_time_of_day_apart(date, clock, wall, mark):
    assert parse(date, clock=clock) == (wall, mark, "")


@pytest.mark.parametrize(
    "text",
    ["", "total", "31.02.2024 00:00", "2024-13-01", "31.03.2024 25:00", "31.03.2024 13:00 PM"],
)
def test_no_times(text):
    assert parse(text)[0] == "NaT"


@pytest.mark.parametrize("name", ["marraskuu", "lipanj", "srpanj", "jui", "\u010derv", "Market"])
def test_words_that_begin_like_a_month_are_no_month(name):
    assert not looks_like_date(f"3 {name} 2024")
    assert parse(f"3 {name} 2024")[0] == "NaT"


@pytest.mark.parametrize("text", ["12,5", "1.5", "12", "1.234,5", "-3", "1e5", "12.30"])
def test_numbers_are_no_times(text):
    assert not looks_like_date(text)
    assert not looks_like_time(text)


@pytest.mark.parametrize(
    ("texts", "orders"),
    [
        (["2024-01-02"], ["ymd"]),
        (["01.02.2024"], ["dmy"]),
        (["01/02/2024"], ["dmy", "mdy"]),
        (["01/02/2024", "13/02/2024"], ["dmy"]),
        (["01/02/2024", "02/13/2024"], ["mdy"]),
        (["01/02/03"], ["ymd", "dmy", "mdy"]),
        (["24/01/31"], ["ymd", "dmy"]),
        (["03-Jan-2024"], ["ymd"]),
    ],
)
def test_orders_that_are_possible(texts, orders):
    assert possible_orders(pd.Series(texts)) == orders


def test_the_order_decides(tmp_path):
    assert [parse("01/02/03", order)[0][:10] for order in ("ymd", "dmy", "mdy")] == [
        "2001-02-03",
        "2003-02-01",
        "2003-01-02",
    ]
    assert np.isnat(parse_times(pd.Series(["13/02/2024"]), "mdy").wall[0])
