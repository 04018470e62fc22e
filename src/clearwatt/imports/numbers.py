"""Numbers in cells: decimal mark, thousands, and words that mean no reading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray, Float64Array
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Recipe

MISSING = frozenset(
    {"-", "--", "---", ".", "nan", "na", "n/a", "n.a.", "n.v.", "null", "none", "brak", "bd", "b/d",
     "b.d.", "k.a.", "nd", "n.d.", "#n/a", "#nv", "#n/d!", "#wert!", "#value!", "#div/0!", "#ref!",
     "bad", "no data", "i/o timeout", "bad input", "pt created", "keine daten"}
)  # fmt: skip
"""Cells, in lower case, that mean: no reading."""
_NUMBER = re.compile(
    r"[+-]?(?:\d{1,3}(?:[ .,'\u2019\u00a0\u202f]\d{3})+|\d+)?(?:[.,]\d*)?(?:[eE][+-]?\d+)?-?"
)
_BLANKS = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})
_FORMATS = tuple(
    (decimal, thousands) for decimal in ".," for thousands in ("", ".", ",", " ", "'")
    if decimal != thousands
)  # fmt: skip
_MARKED = re.compile(r"[.,' \u00a0\u202f\u2019]")
_SHAPE = str.maketrans("23456789", "11111111")  # 0 stays: no group of thousands begins with it
_GREATEST = 1e30  # a power beyond it does not fit single precision, in any unit


class NumberFormat(NamedTuple):
    """Marks of decimals and of thousands; the latter may be empty."""

    decimal: str
    thousands: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches a whole cell with a number of this form."""
        point, mark = re.escape(self.decimal), re.escape(self.thousands)
        groups = rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|" if self.thousands else ""
        return re.compile(rf"[+-]?(?:(?:{groups}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


def looks_like_number(cell: str) -> bool:
    """Whether a cell is a number in any form, or a word for no reading."""
    text = cell.strip()
    return text.lower() in MISSING or bool(
        re.search(r"\d", text) and _NUMBER.fullmatch(text.translate(_BLANKS))
    )


def number_format(columns: Iterable[pd.Series], recipe: Recipe, log: ImportLog) -> NumberFormat:
    """The marks with which most cells of all columns are numbers; asked if that is not unique."""
    cells, weights = _written_numbers(columns)
    wanted = [
        NumberFormat(decimal, thousands)
        for decimal, thousands in _FORMATS
        if recipe.decimal in (None, decimal) and recipe.thousands in (None, thousands)
    ]
    if recipe.decimal is not None and recipe.thousands is not None:
        return wanted[0]
    counts = {each: int(weights[_fits(cells, each)].sum()) for each in wanted}
    best = [each for each, count in counts.items() if count == max(counts.values())]
    readings = {each: tuple(_parse_texts(cells, each).tolist()) for each in best}
    if len(set(map(str, readings.values()))) > 1:
        return _ask(cells, best, log)
    chosen = best[0]
    if any(re.search(r"\d[.,]", cell) for cell in cells):
        log.decide("decimal", chosen.decimal, _reason(recipe.decimal, cells, chosen))
    if chosen.thousands:
        log.decide("thousands", chosen.thousands, "groups of three digits in the values")
    return chosen


def _reason(option: str | None, cells: pd.Series, chosen: NumberFormat) -> str:
    if option is not None:
        return "told"
    example = next((cell for cell in cells if chosen.decimal in cell), cells.iloc[0])
    return f"cells such as {example}"


def _ask(cells: pd.Series, formats: list[NumberFormat], log: ImportLog) -> NumberFormat:
    """Ask for the mark that the readings depend on."""
    example = next(
        cell for cell in cells
        if len({_parse_texts(pd.Series([cell]), each)[0] for each in formats}) > 1
    )  # fmt: skip
    by_decimal: dict[str, str] = {}
    for each in formats:
        value = _parse_texts(pd.Series([example]), each)[0]
        by_decimal.setdefault(each.decimal, f"{example} is {value:g}")
    if len(by_decimal) > 1:
        log.ask("decimal", f"cells such as {example} can be read in two ways", by_decimal)
    else:
        choices = {
            each.thousands: f"{example} is {_parse_texts(pd.Series([example]), each)[0]:g}"
            for each in formats
        }
        log.ask("thousands", f"cells such as {example} can be read in two ways", choices)
    return formats[0]


def _written_numbers(columns: Iterable[pd.Series]) -> tuple[pd.Series, npt.NDArray[np.int64]]:
    """The first number of each shape that has a mark (k), and how many different cells have it.

    All cells count. Numbers whose digits alone differ have one shape, so that there are few.
    """
    examples: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for column in columns:
        if column.dtype.kind in "iuf":
            continue
        cells = [cell for cell in pd.unique(column) if isinstance(cell, str)]
        shapes = [cell.translate(_SHAPE) for cell in cells]
        examples = dict(zip(reversed(shapes), reversed(cells), strict=True)) | examples
        counts.update(shapes)
    found = {
        shape: cell
        for shape, cell in examples.items()
        if _MARKED.search(cell) and re.search(r"\d", cell) and looks_like_number(cell)
    }
    weights = np.array([counts[shape] for shape in found], dtype=np.int64)
    return _plain(pd.Series(list(found.values()), dtype=str)), weights


def _plain(texts: pd.Series) -> pd.Series:
    """Texts with plain blanks, none of them around, and the sign first; SAP writes it last."""
    plain = texts.str.translate(_BLANKS).str.strip()
    return plain.str.replace(r"^(.*\d)-$", r"-\1", regex=True)


def _fits(cells: pd.Series, form: NumberFormat) -> BoolArray:
    """Which texts (k) are numbers of this form."""
    return cells.str.fullmatch(form.pattern).to_numpy(dtype=bool)


def _parse_texts(cells: pd.Series, form: NumberFormat) -> Float64Array:
    """Texts as numbers; NaN for those of another form."""
    plain = cells.str.replace(form.thousands, "", regex=False) if form.thousands else cells
    plain = plain.str.replace(form.decimal, ".", regex=False)
    values = pd.to_numeric(plain, errors="coerce").to_numpy(dtype=np.float64)
    return np.where(_fits(cells, form), values, np.nan)


def parse_numbers(cells: pd.Series, form: NumberFormat) -> tuple[Float64Array, BoolArray]:
    """Cells as numbers (n), and which of them are neither a number nor a word for no reading.

    Cells of workbooks may be numbers already.
    """
    if cells.dtype.kind in "iuf":
        values = cells.to_numpy(dtype=np.float64)
        return values, np.abs(values) > _GREATEST
    codes, unique = pd.factorize(cells, use_na_sentinel=False)
    values, unreadable = _parse_unique(pd.Series(unique, dtype=object), form)
    return values[codes], unreadable[codes]


def _parse_unique(cells: pd.Series, form: NumberFormat) -> tuple[Float64Array, BoolArray]:
    written = np.array([isinstance(cell, str) for cell in cells], dtype=bool)
    texts = _plain(cells.where(written, "").astype(str))
    missing = texts.str.lower().isin(MISSING).to_numpy() | (texts == "").to_numpy()
    values = _parse_texts(texts, form)
    numbers = pd.to_numeric(cells.where(~written), errors="coerce").to_numpy(dtype=np.float64)
    values = np.where(written, values, numbers)
    unreadable = (written & ~missing & np.isnan(values)) | (np.abs(values) > _GREATEST)
    return values, unreadable
