"""The status of readings: which values it says are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from clearwatt.arrays import BoolArray
from clearwatt.imports import words
from clearwatt.imports.log import ImportLog
from clearwatt.imports.recipe import Recipe

_GOOD_OPC, _OPC_BITS = 192, 0xC0
"""OPC has a good value at 192, an uncertain one from 64, and a bad one below."""
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class Statuses:
    """Which readings (n) are bad, and which have a status that is not known (n)."""

    bad: BoolArray
    unknown: BoolArray


def judge_statuses(cells: pd.Series, recipe: Recipe, place: str, log: ImportLog) -> Statuses:
    """Judge the statuses (n) of readings; asked if they are codes that are not those of OPC."""
    codes, unique = pd.factorize(cells.astype(str).str.strip())
    texts = [str(each) for each in unique]
    told = {text.lower() for text in recipe.bad_status}
    if told:
        bad = [text.lower() in told for text in texts]
        unknown = [False] * len(texts)
    elif (numbers := _codes(texts)) is not None and _GOOD_OPC in numbers:
        bad = [number is not None and not number & _OPC_BITS for number in numbers]
        unknown = [
            number is not None and number & _OPC_BITS not in (0, _GOOD_OPC) for number in numbers
        ]
    else:
        bad = [words.is_word(text, words.BAD_STATUS) for text in texts]
        good = [not text or words.is_word(text, words.GOOD_STATUS) for text in texts]
        unknown = [not (is_bad or is_good) for is_bad, is_good in zip(bad, good, strict=True)]
        if numbers is not None and len({*numbers} - {None}) > 1:
            _ask(texts, np.bincount(codes, minlength=len(texts)), place, log)
            unknown = [False] * len(texts)
    return Statuses(np.array(bad, bool)[codes], np.array(unknown, bool)[codes])


def _codes(texts: Sequence[str]) -> list[int | None] | None:
    """The statuses (k) as whole numbers, None for an empty one; None if one is no number."""
    plain = [text.removesuffix(".0") for text in texts]
    if not all(text.isdecimal() or not text for text in plain):
        return None
    return [int(text) if text else None for text in plain]


def _ask(texts: Sequence[str], counts: npt.NDArray[np.int64], place: str, log: ImportLog) -> None:
    pairs = [(text, int(count)) for text, count in zip(texts, counts, strict=True) if text]
    choices = {text: f"wrong; {count} rows" for text, count in pairs[:_SHOWN]}
    choices["none"] = "all values are good"
    text = f"{place}: the status is a number, and nothing says which numbers mark a wrong value"
    log.ask("bad_status", text, choices)
