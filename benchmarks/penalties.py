"""Errors of the coming months with Online EWC and Familiarity-based Replay, penalties varied.

    python benchmarks/penalties.py                    # three simulated entities, some minutes
    python benchmarks/penalties.py --entities wind_01 --variants "EWC, 5e4" --json

The paper finds that these two have the lowest prediction error (PE), on one test phase of a month.
Here every model is asked for the months after several times of the updating phase: `months ahead`
counts from the time until which it has learned. Only warm-up and updating phase are used.
"frozen" learns nothing after the warm-up, "fine tuning" does so without a penalty.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from approaches.scored_stream import ScoredStream, StreamSamples, warm_models
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.warm_up import WarmUp
from clearwatt.data import simulate_grid
from clearwatt.experiment.metrics import prediction_error
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import PhaseSamples, divide
from clearwatt.strategies import (
    FamiliarityReplay,
    FineTune,
    Frozen,
    OnlineEWC,
    RandomReplay,
    RecentReplay,
    Strategy,
)
from clearwatt.training.fleet import one_thread

ENTITIES = ("pv_01", "household_block_01", "residential_01")
SMALL = preset("small")
MONTH = 3_000
"""Samples of a month, as many as the paper's test phase has."""
MONTHS = 3
ENDS = (0.4, 0.6, 0.8)
"""Shares of the updating phase after which the next months are forecast."""


VARIANTS: Mapping[str, Strategy] = {
    "frozen": Frozen(),
    "fine tuning": FineTune(),
    "Random Replay": RandomReplay(),
    "Recent Replay": RecentReplay(),
    "EWC, 5e1": OnlineEWC(5e1),
    "EWC, 5e2": OnlineEWC(5e2),
    "EWC, 5e3": OnlineEWC(5e3),
    "EWC, 5e4": OnlineEWC(5e4),
    "EWC, 5e5": OnlineEWC(5e5),
    "EWC, 5e4, gamma .5": OnlineEWC(5e4, gamma=0.5),
    "EWC, 5e4, gamma 1": OnlineEWC(5e4, gamma=1.0),
    "EWC, 5e4, batches": OnlineEWC(5e4, importance="batches"),
    "EWC, 5e5, batches": OnlineEWC(5e5, importance="batches"),
    "Familiarity, 5e2": FamiliarityReplay(5e2),
    "Familiarity, 5e4": FamiliarityReplay(5e4),
    "Familiarity, 5e4, gamma .5": FamiliarityReplay(5e4, gamma=0.5),
    "Familiarity, 5e4, batches": FamiliarityReplay(5e4, importance="batches"),
}


@dataclass(frozen=True)
class Row:
    """A variant on an entity: RMSE of each month ahead, for each time until which it learned."""

    variant: str
    entity: str
    seed: int
    months: tuple[tuple[float, ...], ...]
    fitting: float
    forgetting: float
    updates: int


@one_thread()
def measure(options: argparse.Namespace, seed: int) -> Iterator[Row]:
    """Stream the updating phase with every variant, entity by entity."""
    for zone in divide(simulate_grid(), None, options.entities).zones:
        samples = StreamSamples.of(zone, every=options.every)
        training = WarmUp(SMALL.warmup, seed=seed)
        models = warm_models(samples, SMALL.networks, training, variational=False)
        for name in options.variants:
            settings = ClearSettings(
                strategy=VARIANTS[name],
                novelty_capacity=options.capacity,
                alpha=1.3,
                update=SMALL.update,
                seed=seed,
            )
            approach = ScoredStream(samples, models, settings, training)
            yield from _stream(name, approach, month=MONTH // options.every)


def _stream(name: str, approach: ScoredStream, *, month: int) -> Iterator[Row]:
    """One approach, which is asked for the coming months at each of `ENDS`."""
    new, begin, errors = approach.samples.new, 0, []
    for share in (*ENDS, 1.0):
        end = round(share * len(new.x))
        approach.learn(slice(begin, end))
        begin = end
        if share < 1:
            errors.append(_coming_months(approach.instance.predict, new, end, month))
    for place, scores in enumerate(approach.scores()):
        yield Row(
            name,
            scores.entity,
            approach.settings.seed,
            tuple(tuple(found[place] for found in months) for months in errors),
            scores.fitting,
            scores.forgetting,
            scores.updates,
        )


def _coming_months(
    predict: Callable[[np.ndarray], np.ndarray], new: PhaseSamples, end: int, month: int
) -> list[list[float]]:
    """RMSE of each entity in each of the months after row `end`."""
    found = []
    for ahead in range(MONTHS):
        rows = slice(end + ahead * month, end + (ahead + 1) * month)
        forecast = predict(new.x[rows])
        found.append(
            [
                prediction_error(new.y[rows, place], forecast[:, place])
                for place in range(new.y.shape[1])
            ]
        )
    return found


def main() -> None:
    options = parse_arguments()
    rows = []
    for seed in options.seeds:
        for row in measure(options, seed):
            rows.append(row)
            if options.json:
                print(json.dumps(asdict(row)), flush=True)
    if options.json:
        return
    ahead = [f"month {number + 1} ahead" for number in range(MONTHS)]
    ends = [f"next month at {share:.0%}" for share in ENDS]
    table = Table("approach", *ahead, *ends, "FE", "FR", "updates")
    for name in options.variants:
        own = [row for row in rows if row.variant == name]
        months = np.mean([row.months for row in own], axis=0)  # ends x months
        values = [*months.mean(axis=0), *months[:, 0], *np.mean(_scores(own), axis=0)]
        table.add_row(name, *(f"{value:.3f}" for value in values[:-1]), f"{values[-1]:.1f}")
    Console(width=150).print(table)


def _scores(rows: list[Row]) -> list[tuple[float, float, int]]:
    return [(row.fitting, row.forgetting, row.updates) for row in rows]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Coming months, with penalties varied.")
    parser.add_argument("--entities", nargs="+", default=list(ENTITIES))
    parser.add_argument("--every", type=int, default=2, help="stream each nth sample (default 2)")
    parser.add_argument("--capacity", type=int, default=1_500, help="novel samples (default 1500)")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    return parser.parse_args()


if __name__ == "__main__":
    main()
