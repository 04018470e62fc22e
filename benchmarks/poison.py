"""Meters that lie for six weeks and are repaired: what a zone's learner makes of it.

    python benchmarks/poison.py                                   # everything: hours
    python benchmarks/poison.py --kinds adaptive --lies sign random --folder poison-runs
    python benchmarks/poison.py --part false                      # suspicions without a lie
    python benchmarks/poison.py --part drifts --json

A simulated zone of sixteen meters by the hour learns a history of 90 days and two weeks more. Then
one photovoltaic plant, one wind farm, one consumer and one residual load lie in the same way for
six weeks, all four at once, and are repaired. The learner of the service applies the journal in
this process, a day at a time, and forecasts the next day. Finished runs are kept in the folder and
not repeated.

- after: RMSE over the two weeks after the repair, as a ratio to the run without lies
- others: RMSE of the twelve honest meters during the lie, mean of their ratios to that run
- set aside: share of the lying readings in quarantine at the end
- told: days from the first lying reading until it was suspected
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from clearwatt.data import Dataset, load_dataset, simulate_grid
from clearwatt.data.features import prepare
from clearwatt.data.scaling import fit_scaling
from clearwatt.data.suspicion import Lie, MeterWatch
from clearwatt.experiment.protocol import Phases
from clearwatt.service.files import ModelFiles
from clearwatt.service.learner.apply.learning import inputs_at
from clearwatt.service.learner.apply.zone_learning import ZoneLearning
from clearwatt.service.records import (
    READING,
    Command,
    Entry,
    Flag,
    RegisteredEntity,
    WeatherIssue,
    Zone,
)
from clearwatt.service.store import open_store
from clearwatt.training.fleet import train

STEP, DAY = 3600, 24
HISTORY, PAUSE, LYING, AFTER = 90, 14, 42, 14
"""Days of the warm-up, of learning without lies, of lies, and after the repair."""
HOUR = 10
"""Hour of the day at which lies begin and end."""
LIARS = ("pv", "wind", "consumer", "residual")
HONEST = {"pv": 1, "wind": 1, "consumer": 5, "residual": 5}
ZONE = "grid"
FORECASTERS: dict[str, dict[str, Any]] = {
    "adaptive": {"forecaster": "adaptive"},
    "clear": {
        "forecaster": "clear",
        "strategy": "RecentReplay",
        "novelty_capacity": 7 * DAY,
        "epochs": 15,
        "warmup_epochs": 30,
        "gate_margin": None,
    },
}
"""Settings of the zones; "clear" with a small buffer and no gate learns lies soonest."""

Forecaster = Literal["adaptive", "clear"]
Power = np.ndarray


class Case(NamedTuple):
    """A meter that begins to lie: what it would read (n), what it read before, another's (n)."""

    truth: Power
    past: Power
    other: Power
    rng: np.random.Generator

    @property
    def low(self) -> float:
        """Lowest reading before."""
        return float(np.nanmin(self.past))

    @property
    def high(self) -> float:
        """Highest reading before."""
        return float(np.nanmax(self.past))

    def shifted(self, hours: int) -> Power:
        """Readings that are some hours late."""
        whole = np.concatenate([self.past[-hours:], self.truth])
        return whole[: len(self.truth)]

    def repeated(self) -> Power:
        """The last day before, again and again."""
        return np.resize(self.past[-DAY:], len(self.truth))

    def frozen(self) -> Power:
        """The mean with a little noise."""
        noise = self.rng.standard_normal(len(self.truth))
        return np.asarray(np.nanmean(self.past) + 0.02 * np.nanstd(self.past) * noise)


LIES: dict[str, Callable[[Case], Power]] = {
    "sign": lambda case: -case.truth,
    "thousand": lambda case: 1000 * case.truth,
    "thousandth": lambda case: case.truth / 1000,
    "hundredth": lambda case: case.truth / 100,
    "shift": lambda case: case.shifted(5),
    "replay": lambda case: case.repeated(),
    "mirror": lambda case: case.low + case.high - case.truth,
    "frozen": lambda case: case.frozen(),
    "constant": lambda case: np.full(len(case.truth), case.past[-1]),
    "random": lambda case: case.rng.uniform(case.low, case.high, len(case.truth)),
    "clipped": lambda case: np.minimum(case.truth, case.low + 0.4 * (case.high - case.low)),
    "swapped": lambda case: case.other,
    "silent": lambda case: np.full(len(case.truth), np.nan),
}
"""Twelve kinds of lies, and none: what six weeks without readings cost."""


class Days(NamedTuple):
    """Lengths of the parts of a run, in days."""

    history: int = HISTORY
    pause: int = PAUSE
    lying: int = LYING
    after: int = AFTER

    @property
    def begin(self) -> int:
        """First row of the lies."""
        return (self.history + self.pause) * DAY + HOUR

    @property
    def repaired(self) -> int:
        """First row after the lies."""
        return self.begin + self.lying * DAY

    @property
    def total(self) -> int:
        """Days of the whole run; a further one is forecast."""
        return self.history + self.pause + self.lying + self.after + 1


class Grid(NamedTuple):
    """Meters of a zone: times (n), power (n x e), weather (n x v), and the places of the liars."""

    times: np.ndarray
    power: Power
    weather: Power
    variables: tuple[str, ...]
    entities: tuple[RegisteredEntity, ...]
    liars: dict[str, int]


@cache
def grid_of(seed: int, days: int, *, drifts: bool = False) -> Grid:
    """Sixteen meters of a simulated grid, by the hour."""
    none = dict.fromkeys(
        ("capacity_added", "capacity_retired", "outage", "meter_rescaled", "behaviour"), 0.0
    )
    simulated = simulate_grid(steps=96 * (days + 2), seed=seed, drifts={} if drifts else none)
    kinds = [
        each.subtype if each.subtype in LIARS else each.kind.value for each in simulated.entities
    ]
    chosen: list[int] = []
    for kind in LIARS:
        chosen += [place for place, own in enumerate(kinds) if own == kind][: 1 + HONEST[kind]]
    hourly = simulated.power.iloc[:, chosen].resample("1h").mean()
    (weather,) = simulated.weather.values()
    weather = weather.reindex(hourly.index).interpolate(limit_direction="both")
    index = pd.DatetimeIndex(hourly.index)
    entities = tuple(
        RegisteredEntity(
            each.name,
            ZONE,
            each.kind.value,
            capacity=each.capacity,
            extra={"subtype": each.subtype} if each.subtype else {},
        )
        for each in (simulated.entities[place] for place in chosen)
    )
    own = [kinds[place] for place in chosen]
    return Grid(
        index.as_unit("s").asi8,
        hourly.to_numpy(np.float32),
        weather.to_numpy(np.float32),
        tuple(map(str, weather.columns)),
        entities,
        {kind: own.index(kind) for kind in LIARS},
    )


def lying_power(grid: Grid, lie: str, days: Days) -> Power:
    """The readings in which one meter of each kind lies."""
    power, rng = grid.power.copy(), np.random.default_rng(7)
    rows = slice(days.begin, days.repaired)
    places = list(grid.liars.values())
    for number, place in enumerate(places):
        other = grid.power[rows, places[number - 1]]
        scale = np.nanmax(grid.power[: days.begin, place])
        other = other * scale / np.nanmax(grid.power[: days.begin, places[number - 1]])
        case = Case(grid.power[rows, place], grid.power[: days.begin, place], other, rng)
        power[rows, place] = LIES[lie](case)
    return power


class Learner:
    """The learner of a zone in this process, over a store in a folder."""

    def __init__(self, folder: Path, grid: Grid, settings: dict[str, Any]) -> None:
        self.grid, self.folder = grid, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.store, self.files = open_store(folder / "clearwatt.db"), ModelFiles(folder)
        base = {"lateness": 6 * STEP, **settings}
        self.zone = Zone(ZONE, STEP, grid.variables, settings=base)
        self.checkpoint = folder / "checkpoint"
        if self.checkpoint.exists():
            self.entities = self.store.entities(ZONE)
            self.learning = ZoneLearning.load(
                self.checkpoint, zone=self.zone, store=self.store, files=self.files
            )
        else:
            self.store.add_zone(self.zone)
            self.entities = self.store.add_entities(grid.entities)
            self.learning = ZoneLearning(self.zone, store=self.store, files=self.files)

    def copy(self, folder: Path) -> Learner:
        """The same learner in another folder, after saving this one."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        self.learning.save(self.checkpoint)
        self.store.close()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder, folder)
        self.store = open_store(self.folder / "clearwatt.db")
        return Learner(folder, self.grid, dict(self.zone.settings))

    def warm_up(self, days: Days) -> None:
        """Learn the history."""
        times = self.grid.times
        issue = WeatherIssue(ZONE, int(times[0]) - 12 * STEP, times, self.grid.weather)
        self.store.add_weather(issue, at=0.0)
        self.send(self.grid.power, 0, days.history * DAY)
        arguments = {"end": int(times[days.history * DAY - 1])}
        self.store.add_command(Command("warmup", ZONE, None, arguments, "benchmark", 0.0))
        self.catch_up()

    def send(self, power: Power, start: int, stop: int) -> None:
        """Send rows."""
        order = {each.id: each.number for each in self.entities}
        numbers = [order[each.id] for each in self.grid.entities]
        part = np.empty((stop - start) * len(numbers), READING)
        part["time"] = np.repeat(self.grid.times[start:stop], len(numbers))
        part["entity"] = np.tile(np.array(numbers), stop - start)
        part["value"] = power[start:stop].ravel()
        self.store.add_readings(part, at=0.0)

    def catch_up(self) -> None:
        """Apply all entries of the journal."""
        while entries := self.store.journal(ZONE, after=self.learning.position, limit=1000):
            self._apply(entries)

    def _apply(self, entries: Sequence[Entry]) -> None:
        stream = self.learning.apply(entries, self.store.entities(ZONE))
        try:
            jobs = next(stream)
            while True:
                jobs = stream.send(train(jobs))
        except StopIteration as stop:
            self.store.commit(stop.value)

    def follow(self, power: Power, first: int, last: int) -> Power:
        """Learn days, and forecast the day after each: scaled power, `n x e`."""
        return np.concatenate([self._follow_day(power, day) for day in range(first, last)])

    def _follow_day(self, power: Power, day: int) -> Power:
        self.send(power, day * DAY, (day + 1) * DAY)
        self.catch_up()
        state = self.learning.state
        assert state.rows is not None
        end = int(self.grid.times[(day + 2) * DAY - 1])
        times = np.arange(state.rows.next, end + 1, STEP)
        models: Any = state.models
        made = models.forecaster.deployed.forecast(inputs_at(state, times), times // STEP)
        columns = [state.columns.index(each.id) for each in self.grid.entities]
        return np.asarray(made.power[-DAY:, columns])

    @property
    def sizes(self) -> Power:
        """Power that is scaled to 1, `e`."""
        state = self.learning.state
        return np.array([state.power_size(each.id) for each in self.grid.entities])

    def set_aside(self, place: int, start: int, stop: int) -> float:
        """Share of the readings of a meter in quarantine."""
        numbers = {each.id: each.number for each in self.entities}
        times = self.grid.times
        found = self.store.readings(
            numbers[self.grid.entities[place].id], start=int(times[start]), end=int(times[stop])
        )
        return float((found.flags == Flag.QUARANTINED).mean())

    def suspicions(self) -> list[tuple[str, int, str]]:
        """Entity, time and kind of the beginning of each suspicion, and of its end."""
        found = self.store.events(kinds=["suspicion", "suspicion ended"], limit=10_000)
        return [
            (
                str(each.entity),
                int(each.time or 0),
                str(each.details["suspicion"]) if each.kind == "suspicion" else "ended",
            )
            for each in reversed(found)
        ]


class Run(NamedTuple):
    """Errors (forecast less truth, scaled, n x e) by day of a run, and what was set aside."""

    errors: Power
    aside: dict[str, float]
    told: dict[str, float | None]
    suspicions: list[tuple[str, int, str]]


def run_lie(base: Learner, folder: Path, lie: str | None, days: Days) -> Run:
    """Learn with lies or without, from a learner that has learned up to them."""
    grid = base.grid
    learner = base.copy(folder)
    power = grid.power if lie is None else lying_power(grid, lie, days)
    first = days.history + days.pause
    forecasts = learner.follow(power, first, days.total - 1)
    rows = slice((first + 1) * DAY, days.total * DAY)
    truth = grid.power[rows] / learner.sizes
    aside = {
        kind: learner.set_aside(place, days.begin, days.repaired)
        for kind, place in grid.liars.items()
    }
    suspicions = learner.suspicions()
    told: dict[str, float | None] = {}
    for kind, place in grid.liars.items():
        since = [
            (moment - grid.times[days.begin]) / 86_400
            for name, moment, what in suspicions
            if name == grid.entities[place].id and what != "ended"
        ]
        told[kind] = since[0] if since else None
    learner.store.close()
    shutil.rmtree(folder)
    return Run(forecasts - truth, aside, told, suspicions)


def prepared(folder: Path, forecaster: str, seed: int, days: Days) -> Learner:
    """A learner up to the day on which lies begin; kept in the folder."""
    grid = grid_of(seed, days.total)
    own = folder / f"{forecaster}-{seed}-{'-'.join(map(str, days))}"
    known = (own / "checkpoint").exists()
    if not known:
        shutil.rmtree(own, ignore_errors=True)
    learner = Learner(own, grid, FORECASTERS[forecaster])
    if not known:
        learner.warm_up(days)
        learner.follow(grid.power, days.history, days.history + days.pause)
        learner.learning.save(learner.checkpoint)
    return learner


def rmse(errors: Power) -> Power:
    """By entity, `e`."""
    return np.asarray(np.sqrt(np.nanmean(np.square(errors), axis=0)))


def compare(lying: Run, clean: Run, grid: Grid, days: Days) -> list[dict[str, Any]]:
    """The figures of each liar."""
    # The first forecasts are those of the day after the lies began.
    during, after = slice(0, (days.lying - 1) * DAY), slice(-days.after * DAY, None)
    honest = [place for place in range(len(grid.entities)) if place not in grid.liars.values()]
    others = rmse(lying.errors[during])[honest] / rmse(clean.errors[during])[honest]
    ratios = rmse(lying.errors[after]) / rmse(clean.errors[after])
    wrong = {grid.entities[place].id for place in honest}
    return [
        {
            "kind": kind,
            "after": float(ratios[place]),
            "others": float(others.mean()),
            "worst other": float(others.max()),
            "set aside": lying.aside[kind],
            "told": lying.told[kind],
            "false": sum(name in wrong and what != "ended" for name, _, what in lying.suspicions),
        }
        for kind, place in grid.liars.items()
    ]


def lie_results(options: argparse.Namespace, days: Days) -> Iterator[dict[str, Any]]:
    """The figures of all lies; runs that are in the folder are not repeated."""
    for forecaster in options.kinds:
        clean: Run | None = None
        for lie in options.lies:
            name = f"{forecaster}-{options.seed}-{lie}.json"
            path = options.folder / name
            if not path.exists():
                began = time.monotonic()
                base = prepared(options.folder, forecaster, options.seed, days)
                if clean is None:
                    clean = run_lie(base, options.folder / "clean", None, days)
                found = run_lie(base, options.folder / "run", lie, days)
                rows = compare(found, clean, base.grid, days)
                path.write_text(
                    json.dumps([{**row, "suspicions": found.suspicions} for row in rows])
                )
                base.store.close()
                seconds = time.monotonic() - began
                Console(stderr=True).print(f"{forecaster}, {lie}: {seconds:.0f} s")
            for row in json.loads(path.read_text()):
                yield {"forecaster": forecaster, "lie": lie, **row}


class Suspected(NamedTuple):
    """Suspicions of honest meters."""

    data: str
    entities: int
    years: float
    suspicions: int
    share: float
    """Of the readings, in suspicion."""
    kinds: dict[str, int]
    which: list[tuple[str, str, str, float]]
    """Entity, kind, beginning and days of each."""


def watch_honest(dataset: Dataset, warm_up: int, stop: int) -> Suspected:
    """Watch the meters of a data set by its inputs, zone by zone; warm-up and end in rows."""
    count = doubted = readings = 0
    years = 0.0
    kinds: dict[str, int] = {}
    which: list[tuple[str, str, str, float]] = []
    for zone in dataset.zones:
        part = dataset.select([each.name for each in dataset.entities if each.zone == zone])
        scaling = fit_scaling(part.slice(part.times[0], part.times[warm_up]))
        x, times = prepare(part, scaling).inputs[zone], part.times.as_unit("s").asi8
        columns = scaling.columns(zone)
        power = part.power.to_numpy(np.float32)
        step = int(times[1] - times[0])
        watch = MeterWatch.start(columns, power.shape[1], step=step)
        watch.learn_history(times[:warm_up], x[:warm_up], power[:warm_up])
        rows = slice(warm_up, stop)
        verdicts = watch.observe(times[rows], x[rows], power[rows])
        end = int(times[rows][-1])
        readings += int(np.isfinite(power[rows]).sum())
        years += power.shape[1] * (end - int(times[warm_up])) / (365 * 86_400)
        since: dict[int, int] = {}
        ended: list[tuple[int, int, int]] = []
        label: dict[tuple[int, int], str] = {}
        for each in verdicts:
            label[each.column, each.time] = each.lie.label
            if each.lie is not Lie.NONE:
                if each.column not in since:
                    count += 1
                    since[each.column] = each.time
                    kinds[each.lie.label] = kinds.get(each.lie.label, 0) + 1
            elif each.column in since:
                ended.append((each.column, since.pop(each.column), each.time))
        for column, start, stop_at in [*ended, *((*open_, end) for open_ in since.items())]:
            doubted += _between(times, power, column, start, stop_at)
            days = (stop_at - start) / 86_400
            which.append((part.names[column], label[column, start], _day(start), days))
    names = len(dataset.entities)
    return Suspected(dataset.name, names, years, count, doubted / max(1, readings), kinds, which)


def _day(moment: int) -> str:
    return pd.Timestamp(moment, unit="s").isoformat()


def _between(times: np.ndarray, power: Power, column: int, start: int, end: int) -> int:
    rows = (times >= start) & (times < end)
    return int(np.isfinite(power[rows, column]).sum())


def honest_results(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Suspicions in data without lies: simulated, and the updating phases of real data sets."""
    for name in options.data:
        if name.startswith("simulated"):
            dataset = simulate_grid(seed=options.seed)
            warm_up, stop = 96 * 90, len(dataset.times)
        else:
            dataset = load_dataset(name)
            phases = Phases.for_length(len(dataset.times))
            warm_up, stop = phases.warmup, phases.warmup + phases.updating
        yield watch_honest(dataset, warm_up, stop)._asdict()


def drift_results(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Live error with drifts of the simulator, with protection and without."""
    days = Days(lying=options.drift_days, after=0, pause=1)
    for forecaster in options.kinds:
        path = options.folder / f"drifts-{forecaster}-{options.seed}.json"
        if not path.exists():
            path.write_text(json.dumps(_drift_result(options, forecaster, days)))
        yield json.loads(path.read_text())


def _drift_result(options: argparse.Namespace, forecaster: str, days: Days) -> dict[str, Any]:
    grid = grid_of(options.seed, days.total, drifts=True)
    errors, suspicions = [], []
    for suspicion in ("on", "off"):
        settings = {**FORECASTERS[forecaster], "suspicion": suspicion}
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            learner = Learner(Path(folder), grid, settings)
            learner.warm_up(days)
            forecasts = learner.follow(grid.power, days.history, days.total - 1)
            truth = grid.power[(days.history + 1) * DAY : days.total * DAY] / learner.sizes
            errors.append(rmse(forecasts - truth))
            suspicions.append(learner.suspicions())
            learner.store.close()
    ratios = errors[0] / errors[1]
    return {
        "forecaster": forecaster,
        "ratio": float(ratios.mean()),
        "worst": float(ratios.max()),
        "suspicions": suspicions[0],
    }


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--part", choices=["lies", "false", "drifts"], default="lies")
    parser.add_argument("--kinds", nargs="+", choices=list(FORECASTERS), default=list(FORECASTERS))
    parser.add_argument("--lies", nargs="+", choices=list(LIES), default=list(LIES))
    parser.add_argument("--data", nargs="+", default=["simulated"], help="for --part false")
    parser.add_argument("--drift-days", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("poison-runs"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main() -> None:
    """Run a part and print its table."""
    options = parse()
    options.folder.mkdir(parents=True, exist_ok=True)
    found = {
        "lies": lambda: lie_results(options, Days()),
        "false": lambda: honest_results(options),
        "drifts": lambda: drift_results(options),
    }[options.part]()
    rows = list(found)
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    names = [name for name in rows[0] if name not in ("suspicions",) or options.part == "false"]
    table = Table(*names)
    for row in rows:
        table.add_row(*(_text(row[name]) for name in names))
    Console(width=140).print(table)


def _text(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
