"""Intervals: coverage, width compared with split conformal, state, and cost relative to judging.

    python benchmarks/intervals.py [--data NAME ...] [--quick] [--json] [--refresh]

For each data set, models are warmed up and the updating phase is streamed once (Recent Replay,
training as in the demo, delay of one day). Live forecasts, and forecasts of each new model for the
days before it, are stored in the temporary folder; a second run only calibrates. The test phase is
not read. Figures of an entity:

* coverage: share of all readings inside the 90 % interval as issued,
* after updates: the same in the three days after each deployment,
* width: mean width divided by that of split conformal prediction on the same forecasts, with the
  same limits, recalibrated every 30 days on the residuals of the 30 days before: with one quantile
  for each end ("tails"), and with one of absolute residuals for both ("symmetric"). Their nominal
  level is chosen in hindsight, per entity, so that the coverage is the same.

Cost is CPU time of `Calibrator.observe` over that of `Instance.observe` without updates, on the
same rows: in one block, a day at a time, and row by row like a live service. A run from scratch
(`--refresh`) takes some seven minutes of one core, mostly training.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.arrays import Float64Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.loop import Deployment
from clearwatt.clear.warm_up import WarmUp
from clearwatt.clock import Clock
from clearwatt.data import Dataset, load_dataset, simulate_grid
from clearwatt.errors import ClearwattError
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.intervals import score_intervals
from clearwatt.experiment.live import ModelTimeline
from clearwatt.experiment.plan import choose_entities
from clearwatt.experiment.protocol import ZonePhases, divide
from clearwatt.intervals import Calibrator, ModelSwap, physical_limits, replay_quantiles
from clearwatt.strategies import RecentReplay
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor
from clearwatt.training.streams import drive, run_together

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = (
    "simulated",
    "gefcom2012-wind",
    "gefcom2012-load",
    str(SHARED / "europe_wind_farm"),
    str(SHARED / "pse_poland_15min"),
)
ENTITIES = 24
"""Entities of the simulated grid, of all kinds in turn."""
MONTH = 30
MISSES = np.concatenate([[0.002, 0.005, 0.01], np.arange(0.02, 0.4, 0.01)])
"""Candidates for the nominal share outside the intervals of split conformal prediction."""
NEVER = 10**9
FEW = 4 * 96
"""Rows timed one by one."""


@dataclass(frozen=True)
class Trace:
    """Forecasts, measurements and model swaps of a zone in the updating phase."""

    day: int
    at: npt.NDArray[np.int64]
    y: Float64Array
    forecasts: Float64Array
    warm_at: npt.NDArray[np.int64]
    warm_y: Float64Array
    warm_forecasts: Float64Array
    limits: Float64Array
    swaps: tuple[ModelSwap, ...]

    def start(self) -> Calibrator:
        """A calibrator started with the warm-up."""
        low, high = self.limits
        return Calibrator.start(
            self.warm_forecasts, self.warm_y, self.warm_at, day=self.day, low=low, high=high
        )


@dataclass(frozen=True)
class Row:
    """Figures of a data set; shares are of entities, ratios of widths are means over entities."""

    data: str
    entities: int
    updates: int
    coverage: float
    within_88_92: float
    coverage_50: float
    kept_80_after_every_update: float
    updates_kept_80: float
    width: float
    width_to_tails: float
    width_to_symmetric: float
    narrower_than_tails: float
    tails_coverage_at_90: float
    state_bytes: int


@dataclass(frozen=True)
class Cost:
    """Nanoseconds per reading, and calibrating as a share of judging."""

    entities: int
    rows_at_once: int
    judging: float
    calibrating: float
    share: float


def main() -> None:
    args = parse_args()
    torch.set_num_threads(1)
    rows = [found for name in args.data if (found := row(name, args)) is not None]
    costs = measure_costs(quick=args.quick)
    if args.json:
        print(json.dumps({"data": [asdict(r) for r in rows], "cost": [asdict(c) for c in costs]}))
    else:
        print(table(rows, costs))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=DATA, help="names or folders of data sets")
    parser.add_argument("--quick", action="store_true", help="six simulated entities, half a year")
    parser.add_argument("--refresh", action="store_true", help="compute the forecasts again")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def row(name: str, args: argparse.Namespace) -> Row | None:
    """Figures of one data set; None if it is not available."""
    try:
        zones = traces(name, quick=args.quick, refresh=args.refresh)
    except ClearwattError as error:
        if not args.json:
            print(f"{name} is left out: {error}")
        return None
    return summary(Path(name).name, zones)


def traces(name: str, *, quick: bool, refresh: bool) -> list[Trace]:
    """Forecasts of a data set, from the temporary folder if available."""
    folder = Path(tempfile.gettempdir()) / "clearwatt-intervals"
    folder.mkdir(exist_ok=True)
    file = folder / f"{Path(name).name}{'-quick' if quick else ''}.npz"
    if refresh or not file.is_file():
        simulated = name == "simulated"
        grid = simulate_grid(12, 17_520) if quick else None
        dataset = grid if simulated and grid else load_dataset(Path(name) if "/" in name else name)
        write(
            file,
            stream_dataset(dataset, entities=(6 if quick else ENTITIES) if simulated else None),
        )
    return read(file)


def stream_dataset(dataset: Dataset, *, entities: int | None) -> list[Trace]:
    """Warm up and stream every zone of a data set."""
    names = choose_entities(dataset, Experiment(entities="all" if entities is None else entities))
    division = divide(dataset, None, names)
    zones, capacity = division.zones, max(200, round(3_000 * division.phases.updating / 54_764))
    day = round(86_400 / dataset.step.total_seconds())
    warmup = WarmUp(Training(epochs=100, patience=30))
    networks = [Autoencoder(zone.inputs, 64, 3, min(14, zone.inputs)) for zone in zones]
    pairs = list(zip(networks, zones, strict=True))
    encoders = drive(run_together([warmup.autoencoder(net, zone.warmup.x) for net, zone in pairs]))
    heads = drive(
        run_together(
            [
                warmup.predictors(
                    Predictor(net.latent, 64, 3), encoder, zone.warmup.x, zone.warmup.y
                )
                for (net, zone), encoder in zip(pairs, encoders, strict=True)
            ]
        )
    )
    models = list(zip(zones, encoders, heads, strict=True))
    instances = [start_instance(*each, capacity=capacity) for each in models]
    streams = [i.stream(z.updating.x, z.updating.y) for i, z in zip(instances, zones, strict=True)]
    warm = [each.predict(zone.warmup.x) for each, zone in zip(instances, zones, strict=True)]
    deployed = drive(run_together(streams))
    return [
        trace(dataset, *each, day=day, warm_forecasts=said, deployed=updates)
        for each, said, updates in zip(models, warm, deployed, strict=True)
    ]


def start_instance(
    zone: ZonePhases, encoder: Model, heads: Sequence[Model], *, capacity: int
) -> Instance:
    """An instance with the demo's training and the given novelty capacity."""
    settings = ClearSettings(
        RecentReplay(),
        novelty_capacity=capacity,
        alpha=1.3,
        update=Training(epochs=12, patience=None),
    )
    return Instance.start(
        settings,
        zone.warmup.x,
        zone.warmup.y,
        autoencoder=encoder,
        predictors=heads,
        names=zone.entities,
    )


def trace(
    dataset: Dataset,
    zone: ZonePhases,
    encoder: Model,
    heads: Sequence[Model],
    *,
    day: int,
    warm_forecasts: Float64Array,
    deployed: Sequence[Deployment],
) -> Trace:
    """The trace of a streamed zone."""
    x, at, live = zone.updating.x, zone.updating.at, []
    swaps: list[ModelSwap] = []
    for column, (name, head) in enumerate(zip(zone.entities, heads, strict=True)):
        own = [each for each in deployed if each.event.entity in (None, name)]
        timeline = ModelTimeline(encoder, head, own, Clock(day, delay=day), at)
        live.append(timeline.forecasts(x))
        swaps += timeline.swaps(column, x)
    members = [dataset.entity(name) for name in zone.entities]
    limits = [
        physical_limits(m.kind, rated=None if m.capacity is None else 1.0, readings=readings)
        for m, readings in zip(members, zone.warmup.y.astype(np.float64).T, strict=True)
    ]
    return Trace(
        day=day,
        at=at,
        y=zone.updating.y.astype(np.float64),
        forecasts=np.stack(live, axis=1).astype(np.float64),
        warm_at=zone.warmup.at,
        warm_y=zone.warmup.y.astype(np.float64),
        warm_forecasts=warm_forecasts,
        limits=np.array(limits).T,
        swaps=tuple(swaps),
    )


ARRAYS = ("at", "y", "forecasts", "warm_at", "warm_y", "warm_forecasts", "limits")


def write(file: Path, zones: Sequence[Trace]) -> None:
    content: dict[str, Any] = {}
    for number, zone in enumerate(zones):
        content |= {f"{number}.{name}": getattr(zone, name) for name in ARRAYS}
        longest = max((len(swap.forecasts) for swap in zone.swaps), default=0)
        said = np.full((len(zone.swaps), longest), np.nan)
        for at, swap in enumerate(zone.swaps):
            said[at, longest - len(swap.forecasts) :] = swap.forecasts
        content[f"{number}.said"] = said
        places = [(s.start, s.known, s.column, len(s.forecasts)) for s in zone.swaps]
        content[f"{number}.swaps"] = np.array(places, np.int64).reshape(-1, 4)
    np.savez_compressed(file, zones=len(zones), day=zones[0].day, **content)


def read(file: Path) -> list[Trace]:
    with np.load(file) as content:
        return [
            Trace(
                day=int(content["day"]),
                swaps=tuple(
                    ModelSwap(
                        int(place[0]), int(place[1]), int(place[2]), said[len(said) - place[3] :]
                    )
                    for place, said in zip(
                        content[f"{number}.swaps"], content[f"{number}.said"], strict=True
                    )
                ),
                **{name: content[f"{number}.{name}"] for name in ARRAYS},
            )
            for number in range(int(content["zones"]))
        ]


def summary(name: str, zones: Sequence[Trace]) -> Row:
    """Calibrate every zone and compute the figures."""
    said = [
        replay_quantiles(zone.start(), zone.forecasts, zone.y, at=zone.at, swaps=zone.swaps)
        for zone in zones
    ]
    pairs = list(zip(zones, said, strict=True))
    found = [figures for pair in pairs for figures in entity_figures(*pair)]
    columns = {key: np.array([each[key] for each in found]) for key in found[0]}
    least = columns["least"][~np.isnan(columns["least"])]
    after = np.concatenate([coverage_after_updates(*pair) for pair in pairs])
    inside = (columns["coverage"] >= 0.88) & (columns["coverage"] <= 0.92)
    return Row(
        data=name,
        entities=len(found),
        updates=len(after),
        coverage=float(columns["coverage"].mean()),
        within_88_92=float(inside.mean()),
        coverage_50=float(columns["coverage_50"].mean()),
        kept_80_after_every_update=float((least >= 0.8).mean()) if len(least) else np.nan,
        updates_kept_80=float((after >= 0.8).mean()) if len(after) else np.nan,
        width=float(columns["width"].mean()),
        width_to_tails=float((columns["width"] / columns["tails"]).mean()),
        width_to_symmetric=float((columns["width"] / columns["symmetric"]).mean()),
        narrower_than_tails=float((columns["width"] < columns["tails"]).mean()),
        tails_coverage_at_90=float(columns["tails_coverage"].mean()),
        state_bytes=max(zone.start().state_bytes for zone in zones),
    )


def updates_of(zone: Trace, column: int) -> list[int]:
    places = {s.start for s in zone.swaps if s.column == column and s.start < len(zone.at)}
    return [int(zone.at[place]) for place in sorted(places)]


def coverage_after_updates(zone: Trace, quantiles: Float64Array) -> Float64Array:
    """Coverage in the three days after each update of each entity of a zone."""
    found = []
    for column in range(zone.y.shape[1]):
        for step in updates_of(zone, column):
            scores = score_intervals(
                zone.y[:, column],
                quantiles[:, column],
                at=zone.at,
                day=zone.day,
                updates=[step],
                drifts=[],
            )
            if scores.least_after_update is not None:
                found.append(scores.least_after_update)
    return np.array(found)


def entity_figures(zone: Trace, quantiles: Float64Array) -> list[dict[str, float]]:
    tails, symmetric = (split_conformal(zone, tails=tails) for tails in (True, False))
    found = []
    for column in range(zone.y.shape[1]):
        scores = score_intervals(
            zone.y[:, column],
            quantiles[:, column],
            at=zone.at,
            day=zone.day,
            updates=updates_of(zone, column),
            drifts=[],
        )
        assert scores.overall is not None
        covered = scores.overall.coverage_90
        least = scores.least_after_update
        found.append(
            {
                "coverage": covered,
                "coverage_50": scores.overall.coverage_50,
                "width": scores.overall.width_90,
                "least": np.nan if least is None else least,
                "tails": width_at(covered, *tails[:, :, column]),
                "symmetric": width_at(covered, *symmetric[:, :, column]),
                "tails_coverage": float(tails[0, np.argmin(np.abs(MISSES - 0.1)), column]),
            }
        )
    return found


def width_at(coverage: float, covered: Float64Array, widths: Float64Array) -> float:
    """Width of the reference at the same coverage, interpolated between nominal levels."""
    order = np.argsort(covered)
    return float(np.interp(coverage, covered[order], widths[order]))


def split_conformal(zone: Trace, *, tails: bool) -> Float64Array:
    """Coverage and mean width at every nominal level: 2 x levels x m."""
    residuals, day = zone.y - zone.forecasts, (zone.at - zone.at[0]) // zone.day
    before = (zone.warm_y - zone.warm_forecasts)[-MONTH * zone.day :]
    known = ~np.isnan(zone.y)
    sums = np.zeros((2, len(MISSES), zone.y.shape[1]))
    for first in range(0, int(day[-1]) + 1, MONTH):
        rows = (day >= first) & (day < first + MONTH)
        # Measurements of the day before have not arrived yet.
        recent = residuals[(day < first - 1) & (day >= first - 1 - MONTH)] if first else before
        if rows.any():
            low, high = ends(recent, tails=tails)
            for level in range(len(MISSES)):
                edges = [
                    np.clip(zone.forecasts[rows] + end[level], *zone.limits) for end in (low, high)
                ]
                inside = (zone.y[rows] >= edges[0]) & (zone.y[rows] <= edges[1])
                sums[0, level] += (inside & known[rows]).sum(axis=0)
                sums[1, level] += np.where(known[rows], edges[1] - edges[0], 0.0).sum(axis=0)
    return np.asarray(sums / known.sum(axis=0), np.float64)


def ends(residuals: Float64Array, *, tails: bool) -> tuple[Float64Array, Float64Array]:
    """Ends of intervals around zero (levels x m), with the finite-sample correction."""
    columns = [column[~np.isnan(column)] for column in residuals.T]
    samples = np.array([max(1, len(column)) for column in columns])
    outside = MISSES[:, None] / (2 if tails else 1)
    kept = np.minimum(1.0, (1 - outside) * (samples + 1) / samples)

    def quantiles(values: list[Float64Array], levels: Float64Array) -> Float64Array:
        pairs = zip(values, levels.T, strict=True)
        return np.stack(
            [np.quantile(v if len(v) else np.zeros(1), level) for v, level in pairs], axis=1
        )

    if tails:
        return -quantiles([-c for c in columns], kept), quantiles(columns, kept)
    half = quantiles([np.abs(c) for c in columns], kept)
    return -half, half


def measure_costs(*, quick: bool) -> list[Cost]:
    """Costs of judging and calibrating on the simulated grid, with untrained networks."""
    dataset = simulate_grid(24 if quick else 95, 10_000)
    (zone,) = divide(dataset, None, dataset.names).zones
    whole = len(zone.updating.x)
    return [
        measure_cost(zone, entities=entities, at_once=at_once)
        for entities in sorted({1, 8, 24, len(zone.entities)})
        for at_once in (whole, 96, 1)
    ]


def measure_cost(zone: ZonePhases, *, entities: int, at_once: int, repeats: int = 3) -> Cost:
    network = Autoencoder(zone.inputs)
    head = Predictor(network.latent)
    rows = slice(0, FEW if at_once == 1 else None)
    x, y, warm_y = (
        each[:, :width]
        for each, width in (
            (zone.updating.x[rows], None),
            (zone.updating.y[rows], entities),
            (zone.warmup.y, entities),
        )
    )
    judging, calibrating = [], []
    for _ in range(repeats):
        instance = Instance.start(
            ClearSettings(RecentReplay(), novelty_capacity=NEVER),
            zone.warmup.x,
            warm_y,
            autoencoder=Model(network, network.initialise([0])),
            predictors=[Model(head, head.initialise([seed])) for seed in range(entities)],
        )
        forecasts, known = instance.predict(x), y.astype(np.float64)
        warm = instance.predict(zone.warmup.x)
        calibrator = Calibrator.start(warm, warm_y.astype(np.float64), zone.warmup.at, day=96)
        pieces = [slice(start, start + at_once) for start in range(0, len(x), at_once)]
        started = time.thread_time()
        for piece in pieces:
            instance.observe(x[piece], y[piece])
        judging.append(time.thread_time() - started)
        started = time.thread_time()
        for piece in pieces:
            calibrator.observe(forecasts[piece], known[piece], zone.updating.at[piece])
        calibrating.append(time.thread_time() - started)
    watching, widening = (1e9 * min(seconds) / y.size for seconds in (judging, calibrating))
    return Cost(entities, at_once, watching, widening, share=widening / watching)


def table(rows: Sequence[Row], costs: Sequence[Cost]) -> str:
    lines = [
        f"{'data':18}{'entities':>9}{'updates':>8}{'coverage':>9}{'88-92':>7}{'50 %':>7}"
        f"{'kept 80':>9}{'updates':>8}{'width':>8}{'to tails':>9}{'to sym.':>8}{'bytes':>8}"
    ]
    lines += [
        f"{r.data:18}{r.entities:9}{r.updates:8}{r.coverage:9.3f}{r.within_88_92:7.0%}"
        f"{r.coverage_50:7.3f}{r.kept_80_after_every_update:9.0%}{r.updates_kept_80:8.0%}"
        f"{r.width:8.3f}{r.width_to_tails:9.3f}{r.width_to_symmetric:8.3f}{r.state_bytes:8,}"
        for r in rows
    ]
    lines += ["", "CPU nanoseconds per reading; calibrating as a share of judging"]
    lines += [f"{'entities':>8}{'at once':>9}{'judging':>10}{'calibrating':>13}{'share':>8}"]
    lines += [
        f"{c.entities:8}{c.rows_at_once:9,}{c.judging:10,.0f}{c.calibrating:13,.0f}{c.share:8.1%}"
        for c in costs
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
