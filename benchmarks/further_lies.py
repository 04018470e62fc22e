"""Lies that `poison.py` does not have: what the watch of a zone tells of them, without forecasts.

    python benchmarks/further_lies.py                       # all lies, seed 0: half a minute
    python benchmarks/further_lies.py --seed 3 --lies "register of a day" "held for 3 h"

The zone, the four liars and the days are those of `poison.py`: six weeks of lies, then the repair.
Readings count as wrong if they differ from the truth by more than a hundredth of the largest.

- told: days from the first lying reading until it is suspected
- set aside: share of the wrong readings since which it was suspected
- after: days of right readings after the repair that are set aside
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from clearwatt.data.suspicion import Lie, MeterWatch
from poison import DAY, HOUR, STEP, Case, Days, Grid, Power, grid_of

_SPLIT = DAY - HOUR
"""Rows of the first day of lies, which begin at `HOUR`."""


def _by_day(case: Case, change: Callable[[Power], Power]) -> Power:
    days = np.split(case.truth, np.arange(_SPLIT, len(case.truth), DAY))
    return np.concatenate([change(day) for day in days])


def _held(case: Case, hours: int) -> Power:
    rows = np.arange(len(case.truth))
    first = rows - (rows + HOUR) % hours
    held = np.where(first < 0, case.past[first % -hours], case.truth[np.maximum(first, 0)])
    return np.asarray(held)


def _mean(case: Case, hours: int) -> Power:
    whole = np.concatenate([case.past[1 - hours :], case.truth])
    return np.convolve(whole, np.full(hours, 1 / hours), "valid")


def _rounded(case: Case, share: float) -> Power:
    step = share * case.high
    return np.asarray(np.round(case.truth / step) * step)


def _sometimes(case: Case, value: float, chosen: Power) -> Power:
    return np.where(chosen, value, case.truth)


def _every_other_day(case: Case, wrong: Power) -> Power:
    return np.where((np.arange(len(wrong)) + HOUR) // DAY % 2 == 1, wrong, case.truth)


def _hour(case: Case) -> Power:
    return (np.arange(len(case.truth)) + HOUR) % DAY


LIES: dict[str, Callable[[Case], Power]] = {
    "register": lambda case: np.nansum(np.abs(case.past)) + np.nancumsum(case.truth),
    "register of a day": lambda case: _by_day(case, np.nancumsum),
    "register of a day / 24": lambda case: _by_day(case, np.nancumsum) / DAY,
    "difference of readings": lambda case: np.diff(case.truth, prepend=case.past[-1]),
    "ten times": lambda case: 10 * case.truth,
    "a tenth": lambda case: case.truth / 10,
    "four times": lambda case: 4 * case.truth,
    "a fourth": lambda case: case.truth / 4,
    "rounded to 10 %": lambda case: _rounded(case, 0.1),
    "rounded to 25 %": lambda case: _rounded(case, 0.25),
    "held for 3 h": lambda case: _held(case, 3),
    "held for 6 h": lambda case: _held(case, 6),
    "mean of 6 h": lambda case: _mean(case, 6),
    "mean of a day": lambda case: _mean(case, DAY),
    "every third is 0": lambda case: _sometimes(case, 0, case.rng.random(len(case.truth)) < 1 / 3),
    "every second is 0": lambda case: _sometimes(case, 0, np.arange(len(case.truth)) % 2 == 1),
    "every tenth is full": lambda case: _sometimes(
        case, case.high, np.arange(len(case.truth)) % 10 == 0
    ),
    "an hour a day is full": lambda case: _sometimes(case, case.high, _hour(case) == 3),
    "every other day noise": lambda case: _every_other_day(
        case, case.rng.uniform(case.low, case.high, len(case.truth))
    ),
    "every other day sign": lambda case: _every_other_day(case, -case.truth),
    "every other day a thousandth": lambda case: _every_other_day(case, case.truth / 1000),
    "every other day another's": lambda case: _every_other_day(case, case.other),
    "a day late": lambda case: case.shifted(DAY),
    "a week late": lambda case: case.shifted(7 * DAY),
    "12 h late": lambda case: case.shifted(12),
    "1 h late": lambda case: case.shifted(1),
    "backwards": lambda case: _by_day(case, np.flip),
    "25 % more": lambda case: case.truth + 0.25 * case.high,
    "modulo half": lambda case: np.mod(case.truth, 0.5 * case.high),
    "less another's": lambda case: case.truth - case.other,
    "another factor each day": lambda case: _by_day(
        case, lambda day: day * np.exp(case.rng.uniform(-1, 1))
    ),
}
"""Ways in which somebody else might make a meter lie."""


class Told(NamedTuple):
    """What is told of one lying meter; see the module."""

    lie: str
    kind: str
    told: float | None
    aside: float
    after: float
    kinds: tuple[str, ...]


def watched(grid: Grid, power: Power, days: Days) -> list[tuple[int, int, Lie, int]]:
    """Verdicts on power (n x e): day on which each is known, column, lie and time."""
    history = slice(0, days.history * DAY)
    low, high = np.nanmin(grid.weather[history], axis=0), np.nanmax(grid.weather[history], axis=0)
    x = ((grid.weather - low) / np.where(high > low, high - low, 1)).astype(np.float32)
    scaled = (power / np.nanmax(np.abs(grid.power[history]), axis=0)).astype(np.float32)
    watch = MeterWatch.start(grid.variables, power.shape[1], step=STEP)
    watch.learn_history(grid.times[history], x[history], scaled[history])
    found = []
    for day in range(days.history, days.total):
        rows = slice(day * DAY, (day + 1) * DAY)
        verdicts = watch.observe(grid.times[rows], x[rows], scaled[rows])
        found += [(day, each.column, each.lie, each.time) for each in verdicts]
    return found


def told(grid: Grid, lie: str, days: Days) -> Iterator[Told]:
    """What is told of the four liars."""
    power, rows = copy.deepcopy(grid.power).astype(np.float64), slice(days.begin, days.repaired)
    places, rng = list(grid.liars.values()), np.random.default_rng(7)
    peak = np.nanmax(np.abs(grid.power[: days.begin]), axis=0).astype(np.float64)
    for number, place in enumerate(places):
        neighbour = places[number - 1]
        other = grid.power[rows, neighbour] * peak[place] / peak[neighbour]
        case = Case(grid.power[rows, place], grid.power[: days.begin, place], other, rng)
        power[rows, place] = LIES[lie](case)
    verdicts = watched(grid, power, days)
    wrong = np.abs(power - grid.power) > 0.01 * peak
    for kind, place in grid.liars.items():
        mine = [each for each in verdicts if each[1] == place and each[0] * DAY > days.begin]
        aside = np.zeros(len(power), np.bool_)
        for _, _, what, time in mine:
            aside[grid.times[: len(power)] >= time] = what is not Lie.NONE
        first = next((day for day, _, what, _ in mine if what is not Lie.NONE), None)
        yield Told(
            lie,
            kind,
            None if first is None else (first * DAY - days.begin) / DAY,
            float(aside[rows][wrong[rows, place]].mean()) if wrong[rows, place].any() else np.nan,
            float(aside[days.repaired : days.total * DAY].sum()) / DAY,
            tuple(dict.fromkeys(what.name for *_, what, _ in mine if what is not Lie.NONE)),
        )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--lies", nargs="+", choices=list(LIES), default=list(LIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    """Print what is told of each lie."""
    options, days = parse(), Days()
    grid = grid_of(options.seed, days.total)
    rows: list[dict[str, Any]] = [
        each._asdict() for lie in options.lies for each in told(grid, lie, days)
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(*Told._fields)
    for row in rows:
        values = row.values()
        table.add_row(*(f"{each:.3f}" if isinstance(each, float) else str(each) for each in values))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
