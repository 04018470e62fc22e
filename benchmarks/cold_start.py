"""Live errors on the first days of a new entity: leave one out.

    python benchmarks/cold_start.py gefcom2012-wind gefcom2012-load
    python benchmarks/cold_start.py gefcom2012-wind --entities wp1 wp4 --json
    python benchmarks/cold_start.py gefcom2012-wind --quick      # one entity of each data set

An entity joins at the end of the warm-up. Nothing of it is known but its kind and capacity (or the
largest reading of the warm-up). The prior and "LightGBM, fleet" are trained on the other entities
until then. Forecasts use measurements that are at least a day old; "LightGBM, own days" is trained
again every day (after a month, every week) on what the entity has measured, and "full warm-up" is
the adaptive forecaster with the history that the new entity does not have. The figure is the RMSE
as a share of capacity, mean over entities; "inside" is the share of readings within the 90 %
interval.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from clearwatt.adaptive import AdaptiveForecaster, FleetPrior, ZoneSamples, train_prior
from clearwatt.adaptive.prior_intervals import calibrator_of_prior
from clearwatt.benchmark.peers.lightgbm import predict_power, train_booster
from clearwatt.clock import steps_per_day
from clearwatt.data import Dataset, load_dataset
from clearwatt.data.features import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.experiment.adaptive_stream import clock_steps
from clearwatt.experiment.protocol import MIN_SAMPLES, Phases

SPANS = {"days 1-7": (0, 7), "days 8-30": (7, 30), "days 31-90": (30, 90)}
DAYS = 90
MONTH, WEEK = 30, 7
PERSISTENCE_DAYS = 14
Power = np.ndarray


class Series(NamedTuple):
    """An entity: inputs `n x d`, power as a share of capacity `n`, steps `n`."""

    name: str
    zone: str
    kind: str
    columns: tuple[str, ...]
    x: Power
    y: Power
    at: np.ndarray

    def between(self, start: int, end: int) -> Series:
        """The rows with start <= step < end."""
        rows = slice(*np.searchsorted(self.at, [start, end]))
        return self._replace(x=self.x[rows], y=self.y[rows], at=self.at[rows])


class Trial(NamedTuple):
    """One entity that joins at a step."""

    new: Series
    others: list[Series]
    first: int
    day: int
    seed: int

    @property
    def live(self) -> Series:
        """The rows to be forecast."""
        return self.new.between(self.first, self.first + DAYS * self.day)

    @property
    def fleet(self) -> tuple[Power, Power]:
        """Inputs and power of the others before."""
        past = [other.between(0, self.first) for other in self.others]
        x, y = np.concatenate([each.x for each in past]), np.concatenate([each.y for each in past])
        known = np.isfinite(y)
        return x[known].astype(np.float32), y[known].astype(np.float32)


def read_series(dataset: Dataset, day: int, warm_up: int) -> Iterator[Series]:
    """The entities with measurements in the warm-up and after it."""
    at = clock_steps(dataset.times, day)
    for zone in dataset.zones:
        frame = dataset.weather[zone]
        weather = interpolate_weather(frame, dataset.times)
        x = np.concatenate([weather, calendar(dataset.times, timezone=dataset.timezone)], axis=1)
        rows = np.isfinite(x).all(axis=1)
        columns = (*map(str, frame.columns), *CALENDAR_COLUMNS)
        for entity in dataset.entities:
            if entity.zone != zone:
                continue
            power = dataset.power[entity.name].to_numpy(np.float64)
            size = entity.capacity or float(np.nanmax(np.abs(power[:warm_up]), initial=0.0))
            if np.isfinite(power[:warm_up]).sum() >= MIN_SAMPLES and size > 0:
                yield Series(
                    entity.name,
                    zone,
                    str(entity.kind),
                    columns,
                    x[rows].astype(np.float64),
                    power[rows] / size,
                    at[rows],
                )


def train_on_others(trial: Trial) -> FleetPrior:
    zones: dict[str, list[Series]] = {}
    for other in trial.others:
        zones.setdefault(other.zone, []).append(other.between(0, trial.first))
    samples = [
        ZoneSamples(
            own[0].x,
            np.stack([each.y for each in own], axis=1),
            own[0].at,
            own[0].columns,
            tuple((each.kind,) for each in own),
        )
        for own in zones.values()
        if len(own[0].at)
    ]
    return train_prior(samples, day=trial.day, seed=trial.seed)


def from_prior(trial: Trial) -> tuple[Power, Power]:
    """Forecasts of an entity that starts from the prior, and its 90 % intervals."""
    prior, live, kind = train_on_others(trial), trial.live, trial.new.kind
    forecaster = AdaptiveForecaster.from_prior(
        prior,
        kinds=[kind],
        sizes=[1.0],
        at=int(live.at[0]),
        day=trial.day,
        columns=live.columns,
        seed=trial.seed,
    )
    power = forecaster.live(live.x, live.y[:, None], live.at)
    calibrator = calibrator_of_prior([prior.kind(kind)], [1.0], day=trial.day)
    quantiles = calibrator.observe(power, live.y[:, None], live.at, levels=(0.05, 0.95))
    assert quantiles is not None
    return power[:, 0], quantiles[:, 0]


def full_warm_up(trial: Trial) -> Power:
    known = trial.first - trial.day
    past = trial.new.between(0, known)
    later = trial.new.between(known, trial.first + DAYS * trial.day)
    forecaster = AdaptiveForecaster.fit(
        past.x, past.y[:, None], past.at, day=trial.day, columns=past.columns, seed=trial.seed
    )
    power = forecaster.live(later.x, later.y[:, None], later.at)[:, 0]
    return power[later.at >= trial.first]


def persistence(trial: Trial) -> Power:
    """The same hour of the last day that was measured, or the fleet's mean."""
    live, power = trial.live, np.full(len(trial.live.at), np.nan)
    measured = pd.Series(live.y, live.at)
    for back in range(1, PERSISTENCE_DAYS + 1):
        open_rows = np.isnan(power)
        power[open_rows] = measured.reindex(live.at - back * trial.day).to_numpy()[open_rows]
    return np.where(np.isnan(power), trial.fleet[1].mean(), power)


def boosted_on_fleet(trial: Trial) -> Power:
    model = train_booster(*trial.fleet, seed=trial.seed)
    return predict_power(model, trial.live.x.astype(np.float32))


def boosted_on_own_days(trial: Trial) -> Power:
    """Before a day has been measured, the fleet's mean."""
    live, model = trial.live, None
    x, days = live.x.astype(np.float32), (live.at - trial.first) // trial.day
    power = np.full(len(live.at), float(trial.fleet[1].mean()))
    for day in range(DAYS):
        known, rows = (days < day) & np.isfinite(live.y), days == day
        if known.sum() >= trial.day and (model is None or day <= MONTH or day % WEEK == 0):
            model = train_booster(x[known], live.y[known].astype(np.float32), seed=trial.seed)
        if model is not None and rows.any():
            power[rows] = predict_power(model, x[rows])
    return power


def by_span(trial: Trial, values: Power) -> dict[str, float]:
    """Mean of values (n) of the rows that were measured, in each span."""
    days = (trial.live.at - trial.first) // trial.day
    found = {}
    for name, (start, end) in SPANS.items():
        rows = (days >= start) & (days < end) & np.isfinite(trial.live.y)
        found[name] = float(values[rows].mean()) if rows.any() else float("nan")
    return found


def score(trial: Trial) -> dict[str, dict[str, float]]:
    """RMSE by way of forecasting and span, and the share of readings inside the intervals."""
    own, interval = from_prior(trial)
    found = {
        "from the fleet": own,
        "persistence": persistence(trial),
        "LightGBM, fleet": boosted_on_fleet(trial),
        "LightGBM, own days": boosted_on_own_days(trial),
        "full warm-up": full_warm_up(trial),
    }
    y = trial.live.y
    errors = {
        name: {span: value**0.5 for span, value in by_span(trial, (power - y) ** 2).items()}
        for name, power in found.items()
    }
    inside = (y >= interval[:, 0]) & (y <= interval[:, 1])
    return errors | {"inside": by_span(trial, inside.astype(np.float64))}


def trials_of(data: str | Path, wanted: Sequence[str], *, quick: bool, seed: int) -> list[Trial]:
    dataset = load_dataset(data)
    day, warm_up = steps_per_day(dataset.step), Phases.for_length(len(dataset.times)).warmup
    series = list(read_series(dataset, day, warm_up))
    first = int(clock_steps(dataset.times, day)[warm_up])
    trials = [
        Trial(new, [each for each in series if each.name != new.name], first, day, seed)
        for new in series
        if not wanted or new.name in wanted
    ]
    measured = [each for each in trials if np.isfinite(each.live.y).sum() >= DAYS * day / 2]
    return measured[:1] if quick else measured


def show(results: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
    for data, entities in results.items():
        table = Table(f"{data}, {len(entities)} entities", *SPANS)
        for name in next(iter(entities.values())):
            means = [np.nanmean([each[name][span] for each in entities.values()]) for span in SPANS]
            table.add_row(name, *(f"{mean:.4f}" for mean in means))
        Console().print(table)


def main() -> None:
    arguments = parse_arguments()
    console = Console(stderr=True)
    results: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for data in arguments.data:
        trials = trials_of(
            data, arguments.entities or (), quick=arguments.quick, seed=arguments.seed
        )
        for number, trial in enumerate(trials, start=1):
            started = time.process_time()
            found = score(trial)
            results.setdefault(Path(data).name, {})[trial.new.name] = found
            seconds, place = time.process_time() - started, f"{number} of {len(trials)}"
            first = ", ".join(f"{error:.3f}" for error in found["from the fleet"].values())
            console.print(f"{data}: {trial.new.name}, {place}, {first}, {seconds:.0f} s")
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        show(results)


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Errors on the first days of new entities.")
    parser.add_argument("data", nargs="+", help="names of the catalogue, or folders")
    parser.add_argument("--entities", nargs="+", help="names (default: all)")
    parser.add_argument("--quick", action="store_true", help="one entity of each data set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
