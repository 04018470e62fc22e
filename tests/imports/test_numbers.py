"""Numbers as people and systems write them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.imports.exports import number

from clearwatt.imports.log import ImportLog
from clearwatt.imports.numbers import NumberFormat, number_format, parse_numbers
from clearwatt.imports.recipe import Recipe

FORMATS = [(".", ""), (",", ""), (".", ","), (",", "."), (",", " "), (".", "'"), (",", "\u202f")]


@settings(max_examples=30, deadline=None)
@given(
    values=st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30),
    form=st.sampled_from(FORMATS),
    digits=st.integers(0, 4),
)
def test_a_format_is_found_again_or_asked_for(values, form, digits):
    truth = np.array(values) / 10**digits
    cells = pd.Series([number(*form, digits)(value) for value in truth])
    log = ImportLog()
    found, unreadable = parse_numbers(cells, number_format([cells], Recipe(), log))
    if not log.questions:
        assert not unreadable.any()
        np.testing.assert_allclose(found, truth, rtol=1e-12)
    else:  # only cells such as 1.234 leave it open
        assert cells.str.fullmatch(r"-?(0|[1-9]\d{0,2}([., '\u202f]\d{3})*|\d+)").all()


@pytest.mark.parametrize(
    ("cell", "value"),
    [("12-", -12), ("\u22123", -3), ("1e3", 1000), ("+7", 7), (".5", 0.5), ("5.", 5), (" 8 ", 8)],
)
def test_signs_and_shorthand(cell, value):
    found, unreadable = parse_numbers(pd.Series([cell]), NumberFormat(".", ""))
    assert found.tolist() == [value]
    assert not unreadable.any()


def test_words_for_no_reading_and_other_words():
    cells = pd.Series(
        ["", "-", "n/a", "NaN", "brak", "#N/A", "offline", "1.2.3", 4.5, float("inf")]
    )
    found, unreadable = parse_numbers(cells, NumberFormat(".", ","))
    assert unreadable.tolist() == [False] * 6 + [True, True, False, True]
    assert found[8] == 4.5


@pytest.mark.parametrize("late", ["1.234", " 1.234 ", "1.234-"])
def test_a_late_cell_is_as_good_a_reason_to_ask_as_the_first(late):
    """Integers leave nothing open, however many come before the cell in doubt."""
    integers = pd.Series([str(row % 900) for row in range(60_000)])
    columns = [integers] * 100 + [pd.concat([integers, pd.Series([late])])]
    log = ImportLog()
    number_format(columns, Recipe(), log)
    assert list(log.questions) == ["decimal"]


def test_the_mark_is_that_of_most_cells_not_of_most_shapes():
    cells = pd.Series([f"{tenths / 10:.1f}" for tenths in range(11, 99)] + ["1,5", "10,5", "100,5"])
    log = ImportLog()
    assert number_format([cells], Recipe(), log).decimal == "."
    assert not log.questions
