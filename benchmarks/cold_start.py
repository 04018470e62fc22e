"""Live errors on the first days of new entities: some entities of a data set are left out.

    python benchmarks/cold_start.py gefcom2012-wind gefcom2012-load
    python benchmarks/cold_start.py gefcom2012-wind --entities wp1 wp4 --json
    python benchmarks/cold_start.py europe_wind_farm --folds 5 --out results   # can be resumed
    python benchmarks/cold_start.py gefcom2012-wind --quick      # one entity of each data set

An entity joins at the end of the warm-up. Nothing of it is known but its kind and capacity (or the
largest reading of the warm-up). The prior and "LightGBM, fleet" are trained until then on the
entities that are not left out: all others, or with folds, those outside its fold, once for the
fold. Forecasts use measurements that are at least a day old; "LightGBM, own days" is trained again
every day (after a month, every week) on what the entity has measured, and "full warm-up" is the
adaptive forecaster with the history that the new entity does not have. "Joins a running zone" is
like "from the fleet", with one forecaster for the entities of a fold and the others of their zone,
which have a full warm-up; others that are a multiple of a new one are left out of it. The figure
is the RMSE as a share of capacity, mean over entities; "inside" is the share of readings within the
90 % interval.

With a folder, each result is stored when it is there, and one that is stored is not made again;
--again makes those anew that depend on the prior, and keeps the peers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from clearwatt.adaptive import AdaptiveForecaster, FleetPrior, ZoneSamples, train_prior
from clearwatt.adaptive.prior_dataset import kinds_of
from clearwatt.adaptive.prior_intervals import calibrator_of_prior
from clearwatt.benchmark.peers.lightgbm import predict_power, train_booster
from clearwatt.clock import steps_per_day
from clearwatt.data import Dataset, load_dataset
from clearwatt.data.features import CALENDAR_COLUMNS, calendar, interpolate_weather
from clearwatt.experiment.adaptive_stream import clock_steps
from clearwatt.experiment.protocol import MIN_SAMPLES, Phases
from clearwatt.files import write_atomically

SPANS = {"days 1-7": (0, 7), "days 8-30": (7, 30), "days 31-90": (30, 90)}
SECOND_WEEK = {"days 8-14": (7, 14)}
"""Reported for intervals, too: the widening of the first week has ended."""
DAYS = 90
MONTH, WEEK = 30, 7
PERSISTENCE_DAYS = 14
OWN, INSIDE = "from the fleet", "inside"
JOINS = "joins a running zone"
EQUAL = 0.999
"""Correlation of readings from which on two entities count as multiples of each other."""
FULL = "full warm-up"
Power = np.ndarray
Spans = dict[str, float]
Result = dict[str, Spans]
"""By way of forecasting and span."""


class Series(NamedTuple):
    """An entity: inputs `n x d`, power as a share of capacity `n`, steps `n`."""

    name: str
    zone: str
    kinds: tuple[str, ...]
    """Its kind, and the kind and sort where that is known."""
    columns: tuple[str, ...]
    x: Power
    y: Power
    at: np.ndarray

    def between(self, start: int, end: int) -> Series:
        """The rows with start <= step < end."""
        rows = slice(*np.searchsorted(self.at, [start, end]))
        return self._replace(x=self.x[rows], y=self.y[rows], at=self.at[rows])


class Fold:
    """Entities that join at a step, and what is trained on the others."""

    def __init__(
        self, new: Sequence[Series], others: Sequence[Series], *, first: int, day: int, seed: int
    ) -> None:
        self.new, self.first, self.day, self.seed = new, first, day, seed
        self._whole = others
        self.others = [other.between(0, first) for other in others]
        self._joined: dict[str, dict[str, Power]] = {}
        self._boosters: dict[str, Callable[[Power], Power]] = {}

    @cached_property
    def prior(self) -> FleetPrior:
        """Of the others."""
        zones: dict[str, list[Series]] = {}
        for other in self.others:
            zones.setdefault(other.zone, []).append(other)
        samples = [
            ZoneSamples(
                own[0].x,
                np.stack([each.y for each in own], axis=1),
                own[0].at,
                own[0].columns,
                tuple(each.kinds for each in own),
            )
            for own in zones.values()
            if len(own[0].at)
        ]
        return train_prior(samples, day=self.day, seed=self.seed)

    def samples(self, kind: str) -> tuple[Power, Power]:
        """Inputs and power of the others of a kind."""
        past = [each for each in self.others if kind in each.kinds]
        x, y = np.concatenate([each.x for each in past]), np.concatenate([each.y for each in past])
        known = np.isfinite(y)
        return x[known].astype(np.float32), y[known].astype(np.float32)

    def booster(self, kind: str) -> Callable[[Power], Power]:
        """Forecasts of LightGBM that was trained on the others of a kind."""
        if kind not in self._boosters:
            model = train_booster(*self.samples(kind), seed=self.seed)
            self._boosters[kind] = lambda x: predict_power(model, x.astype(np.float32))
        return self._boosters[kind]

    def neighbours(self, zone: str) -> list[Series]:
        """The others of a zone, without multiples of an entity that joins it."""
        new = [each.between(0, self.first) for each in self.new if each.zone == zone]
        others = [each for each in self._whole if each.zone == zone]
        past = [each.between(0, self.first) for each in others]
        return [
            other
            for other, own in zip(others, past, strict=True)
            if not any(correlation(own, each) > EQUAL for each in new)
        ]

    def forecasts_in_zone(self, zone: str) -> dict[str, Power]:
        """Forecasts of the entities that join a zone in which the others run, by name."""
        if zone not in self._joined:
            self._joined[zone] = join_zone(self, zone)
        return self._joined[zone]

    @property
    def trials(self) -> list[Trial]:
        """One for each entity that joins."""
        return [Trial(new, self) for new in self.new]


class Trial(NamedTuple):
    """One entity that joins at a step."""

    new: Series
    fold: Fold

    @property
    def first(self) -> int:
        """Step at which it joins."""
        return self.fold.first

    @property
    def day(self) -> int:
        """Steps per day."""
        return self.fold.day

    @property
    def live(self) -> Series:
        """The rows to be forecast."""
        return self.new.between(self.first, self.first + DAYS * self.day)

    @property
    def kind(self) -> str:
        """The narrowest kind of which there are two others."""
        for kind in reversed(self.new.kinds):
            if sum(kind in other.kinds for other in self.fold.others) > 1:
                return kind
        raise SystemExit(f"{self.new.name}: no two other entities are of its kind; give more data")

    @property
    def fleet_mean(self) -> float:
        """Mean power of the others of its kind."""
        return float(self.fold.samples(self.kind)[1].mean())


def read_series(dataset: Dataset, day: int, warm_up: int) -> Iterator[Series]:
    """The entities with measurements in the warm-up and after it."""
    at = clock_steps(dataset.times, day)
    for zone in dataset.zones:
        frame = dataset.weather[zone]
        weather = interpolate_weather(frame, dataset.times)
        x = np.concatenate([weather, calendar(dataset.times, timezone=dataset.timezone)], axis=1)
        rows = np.isfinite(x).all(axis=1)
        columns = (*map(str, frame.columns), *CALENDAR_COLUMNS)
        inputs = x[rows].astype(np.float64)
        for entity in dataset.entities:
            if entity.zone != zone:
                continue
            power = dataset.power[entity.name].to_numpy(np.float64)
            size = entity.capacity or float(np.nanmax(np.abs(power[:warm_up]), initial=0.0))
            if np.isfinite(power[:warm_up]).sum() >= MIN_SAMPLES and size > 0:
                yield Series(
                    entity.name,
                    zone,
                    kinds_of(entity),
                    columns,
                    inputs,
                    power[rows] / size,
                    at[rows],
                )


def from_prior(trial: Trial) -> tuple[Power, Power]:
    """Forecasts of an entity that starts from the prior, and its 90 % intervals."""
    prior, live, kind = trial.fold.prior, trial.live, trial.kind
    forecaster = AdaptiveForecaster.from_prior(
        prior,
        kinds=[kind],
        sizes=[1.0],
        at=int(live.at[0]),
        day=trial.day,
        columns=live.columns,
        seed=trial.fold.seed,
    )
    power = forecaster.live(live.x, live.y[:, None], live.at)
    calibrator = calibrator_of_prior([prior.kind(kind)], [1.0], day=trial.day)
    quantiles = calibrator.observe(power, live.y[:, None], live.at, levels=(0.05, 0.95))
    assert quantiles is not None
    return power[:, 0], quantiles[:, 0]


def correlation(one: Series, other: Series) -> float:
    """Of the readings of two entities of a zone."""
    known = np.isfinite(one.y) & np.isfinite(other.y)
    return float(np.corrcoef(one.y[known], other.y[known])[0, 1])


def join_zone(fold: Fold, zone: str) -> dict[str, Power]:
    """Forecasts of entities that join a zone in which the others have had a full warm-up."""
    running, first, day = fold.neighbours(zone), fold.first, fold.day
    known, end = first - day, first + DAYS * day
    x, y, at = _stacked(running, 0, known)
    forecaster = AdaptiveForecaster.fit(
        x,
        y,
        at,
        day=day,
        columns=running[0].columns,
        names=[each.name for each in running],
        seed=fold.seed,
    )
    forecaster.observe(*_stacked(running, known, first))
    trials = [trial for trial in fold.trials if trial.new.zone == zone]
    for trial in trials:
        forecaster.join_from_prior(
            trial.new.name,
            fold.prior,
            kind=trial.kind,
            size=1.0,
            columns=trial.new.columns,
            ranges={},
        )
    everyone = [*running, *(trial.new for trial in trials)]
    x, y, at = _stacked(everyone, first, end)
    power = forecaster.live(x, y, at)[-len(at) :]
    return {each.name: column for each, column in zip(everyone, power.T, strict=True)}


def _stacked(series: Sequence[Series], start: int, end: int) -> tuple[Power, Power, np.ndarray]:
    """Inputs, power and steps of entities of a zone, with start <= step < end."""
    parts = [each.between(start, end) for each in series]
    return parts[0].x, np.stack([each.y for each in parts], axis=1), parts[0].at


def full_warm_up(trial: Trial) -> Power:
    known = trial.first - trial.day
    past = trial.new.between(0, known)
    later = trial.new.between(known, trial.first + DAYS * trial.day)
    forecaster = AdaptiveForecaster.fit(
        past.x, past.y[:, None], past.at, day=trial.day, columns=past.columns, seed=trial.fold.seed
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
    return np.where(np.isnan(power), trial.fleet_mean, power)


def boosted_on_fleet(trial: Trial) -> Power:
    return trial.fold.booster(trial.kind)(trial.live.x)


def boosted_on_own_days(trial: Trial) -> Power:
    """Before a day has been measured, the fleet's mean."""
    live, model = trial.live, None
    x, days = live.x.astype(np.float32), (live.at - trial.first) // trial.day
    power = np.full(len(live.at), trial.fleet_mean)
    for day in range(DAYS):
        known, rows = (days < day) & np.isfinite(live.y), days == day
        if known.sum() >= trial.day and (model is None or day <= MONTH or day % WEEK == 0):
            model = train_booster(x[known], live.y[known].astype(np.float32), seed=trial.fold.seed)
        if model is not None and rows.any():
            power[rows] = predict_power(model, x[rows])
    return power


PEERS: dict[str, Callable[[Trial], Power]] = {
    "persistence": persistence,
    "LightGBM, fleet": boosted_on_fleet,
    "LightGBM, own days": boosted_on_own_days,
    FULL: full_warm_up,
}


def by_span(trial: Trial, values: Power, spans: Mapping[str, tuple[int, int]] = SPANS) -> Spans:
    """Mean of values (n) of the rows that were measured, in each span."""
    days = (trial.live.at - trial.first) // trial.day
    found = {}
    for name, (start, end) in spans.items():
        rows = (days >= start) & (days < end) & np.isfinite(trial.live.y)
        found[name] = float(values[rows].mean()) if rows.any() else float("nan")
    return found


def errors_of(trial: Trial, power: Power) -> Spans:
    squares = by_span(trial, (power - trial.live.y) ** 2)
    return {span: value**0.5 for span, value in squares.items()}


def score(trial: Trial, found: Result) -> Iterator[Result]:
    """What is missing among the results of an entity, one after the other."""
    if OWN not in found:
        power, (low, high) = (each.T for each in from_prior(trial))
        inside = (trial.live.y >= low) & (trial.live.y <= high)
        yield {
            OWN: errors_of(trial, power),
            INSIDE: by_span(trial, inside.astype(np.float64), SPANS | SECOND_WEEK),
        }
    zone = trial.new.zone
    if JOINS not in found and trial.fold.neighbours(zone):
        power = trial.fold.forecasts_in_zone(zone)[trial.new.name]
        yield {JOINS: errors_of(trial, power)}
    for name, forecast in PEERS.items():
        if name not in found:
            yield {name: errors_of(trial, forecast(trial))}


def folds_of(
    data: str | Path, wanted: Sequence[str], *, folds: int, quick: bool, seed: int
) -> list[Fold]:
    """Folds with the wanted entities; without a number of folds, one for each entity."""
    dataset = load_dataset(data)
    day, warm_up = steps_per_day(dataset.step), Phases.for_length(len(dataset.times)).warmup
    series = list(read_series(dataset, day, warm_up))
    first = int(clock_steps(dataset.times, day)[warm_up])
    count = min(folds or len(series), len(series))
    parts = [series[number::count] for number in range(count)]
    found = []
    for part in parts:
        names = {each.name for each in part}
        others = [each for each in series if each.name not in names]
        fold = Fold(part, others, first=first, day=day, seed=seed)
        fold.new = [
            trial.new
            for trial in fold.trials
            if (not wanted or trial.new.name in wanted)
            and np.isfinite(trial.live.y).sum() >= DAYS * day / 2
        ]
        if fold.new:
            fold.new = fold.new[:1] if quick else fold.new
            found.append(fold)
    return found[:1] if quick else found


class Stored:
    """Results of entities, in files if there is a folder.

    Args:
        folder: Of one data set, number of folds and seed; None: nothing is stored.
        again: Whether stored results that depend on the prior are made again.
    """

    def __init__(self, folder: Path | None, *, again: bool) -> None:
        self.folder, self.again = folder, again

    def read(self, entity: str) -> Result:
        """What is stored of an entity and need not be made again."""
        path = None if self.folder is None else self.folder / f"{entity}.json"
        if path is None or not path.is_file():
            return {}
        found: Result = json.loads(path.read_text())
        stale = (OWN, JOINS, INSIDE) if self.again else ()
        return {name: spans for name, spans in found.items() if name not in stale}

    def write(self, entity: str, found: Result) -> None:
        """Store the results of an entity."""
        if self.folder is not None:
            text = json.dumps(found, indent=1) + "\n"
            write_atomically(self.folder / f"{entity}.json", text.encode())


def run(folds: Sequence[Fold], stored: Stored, console: Console) -> dict[str, Result]:
    """The results of all entities of a data set."""
    trials = [trial for fold in folds for trial in fold.trials]
    results: dict[str, Result] = {}
    for number, trial in enumerate(trials, start=1):
        started, name = time.process_time(), trial.new.name
        found = stored.read(name)
        for more in score(trial, found):
            found |= more
            stored.write(name, found)
        # The same order, whether a part was stored before or not.
        order = (OWN, JOINS, *PEERS, INSIDE)
        results[name] = {key: found[key] for key in order if key in found}
        own = ", ".join(f"{error:.3f}" for error in found[OWN].values())
        seconds = time.process_time() - started
        console.print(f"{name}, {number} of {len(trials)}: {own}, {seconds:.0f} s")
    return results


def show(results: dict[str, dict[str, Result]]) -> None:
    for data, entities in results.items():
        covered = [each[INSIDE][week] for each in entities.values() for week in SECOND_WEEK]
        table = Table(
            f"{data}, {len(entities)} entities",
            *SPANS,
            caption=f"inside in days 8-14: {np.nanmean(covered):.4f}",
        )
        for name in dict.fromkeys(key for each in entities.values() for key in each):
            own = [each[name] for each in entities.values() if name in each]
            means = [np.nanmean([each[span] for each in own]) for span in SPANS]
            table.add_row(name, *(f"{mean:.4f}" for mean in means))
        for name in PEERS:
            table.add_row(f"below {name}", *(_lower(entities, name, span) for span in SPANS))
        Console().print(table)


def _lower(entities: dict[str, Result], peer: str, span: str) -> str:
    """In how many entities the start from the fleet has a lower error than a peer."""
    pairs = [(each[OWN][span], each[peer][span]) for each in entities.values()]
    known = [own < other for own, other in pairs if np.isfinite(own + other)]
    return f"{sum(known)} of {len(known)}"


def main() -> None:
    arguments = parse_arguments()
    console = Console(stderr=True)
    results: dict[str, dict[str, Result]] = {}
    for data in arguments.data:
        folds = folds_of(
            data,
            arguments.entities or (),
            folds=arguments.folds,
            quick=arguments.quick,
            seed=arguments.seed,
        )
        name = Path(data).name
        folder = (
            arguments.out and Path(arguments.out) / f"{name}-{arguments.folds}-{arguments.seed}"
        )
        results[name] = run(folds, Stored(folder, again=arguments.again), console)
    if arguments.json:
        print(json.dumps(results, indent=1))
    else:
        show(results)


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Errors on the first days of new entities.")
    parser.add_argument("data", nargs="+", help="names of the catalogue, or folders")
    parser.add_argument("--entities", nargs="+", help="names (default: all)")
    parser.add_argument(
        "--folds", type=int, default=0, help="groups that are left out together (0: one by one)"
    )
    parser.add_argument("--out", help="folder for the result of each entity, to resume a run")
    parser.add_argument(
        "--again", action="store_true", help="make stored results again, except those of peers"
    )
    parser.add_argument("--quick", action="store_true", help="one entity of each data set")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
