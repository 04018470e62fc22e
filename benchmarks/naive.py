"""The project against a plain implementation of the paper, for the same updates and epochs.

    python benchmarks/naive.py [--quick | --full] [--json]

One thread. Online EWC and Random Replay, 8 entities x 4 configurations (alpha x novelty capacity),
from the same warm-up weights, with the same epochs, batch and learning rate, over the same samples.

The plain implementation runs one entity and one configuration after the other, judges sample by
sample, trains `nn.Sequential` with the default Adam, and computes the Fisher information with one
backward pass per sample. The project runs all entities and configurations together. Both are timed
from the warm-up weights to the end of the stream, with first thresholds and Fisher information.

Both draw the same random numbers, so errors and updates agree up to float rounding. Both process
every sample; nothing is extrapolated. The project runs before and after the plain implementation,
and its mean counts, so that a change of the machine's load favours neither.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.experiment.metrics import fitting_error, prediction_error
from clearwatt.strategies import OnlineEWC, RandomReplay, Strategy
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor
from clearwatt.training.networks.chain import Chain
from clearwatt.training.streams import drive, run_together

GOAL = 15
STRATEGIES: tuple[Strategy, ...] = (OnlineEWC(), RandomReplay())


@dataclass(frozen=True)
class Size:
    """Size of the workload; PE is computed on the last `test` samples."""

    entities: int = 8
    warm_up: int = 2_000
    stream: int = 3_000
    test: int = 2_000
    alphas: tuple[float, ...] = (0.9, 1.3)
    capacities: tuple[int, ...] = (400, 800)
    warm_up_epochs: int = 30
    update: Training = field(default_factory=lambda: Training(epochs=30, patience=None))

    def settings(self, strategy: Strategy) -> list[ClearSettings]:
        """One configuration for each threshold factor and capacity."""
        return [
            ClearSettings(strategy, novelty_capacity=capacity, alpha=alpha, update=self.update)
            for alpha, capacity in product(self.alphas, self.capacities)
        ]


QUICK = Size(
    entities=2, warm_up=2_000, stream=2_000, capacities=(300,), update=Training(10, patience=None)
)
FULL = Size(warm_up=10_000, stream=40_000, test=17_764, capacities=(3_000, 5_000))


@dataclass(frozen=True)
class Workload:
    """Inputs (n x d) and readings (n x entities), warm-up first, and the warm-up models."""

    size: Size
    x: Float32Array
    y: Float32Array
    autoencoder: Model
    predictors: Sequence[Model]

    @property
    def end(self) -> int:
        """Row at which the stream ends and the test begins."""
        return self.size.warm_up + self.size.stream


class Outcome(NamedTuple):
    """What a run leaves: forecasts (n x entities) per configuration, and its updates."""

    forecasts: list[npt.NDArray[np.float64]]
    updates: int


class Clock(NamedTuple):
    """Seconds on the wall and of the process."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """One approach both ways; updates of each entity's two components are counted singly."""

    strategy: str
    plain_seconds: float
    project_seconds: float
    speedup: float
    speedup_cpu: float
    plain_fe: float
    project_fe: float
    plain_pe: float
    project_pe: float
    plain_updates: int
    project_updates: int


def main() -> None:
    args = parse_args()
    torch.set_num_threads(1)
    size = QUICK if args.quick else FULL if args.full else Size()
    work = workload(size)
    rows = [compare(work, strategy) for strategy in STRATEGIES]
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else table(size, rows))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--quick", action="store_true", help="2 entities x 2 configurations, short")
    group.add_argument("--full", action="store_true", help="the paper's lengths; takes hours")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def workload(size: Size) -> Workload:
    dataset = simulate_grid(size.entities, size.warm_up + size.stream + size.test)
    features = prepare(dataset, fit_scaling(dataset, size.warm_up))
    (x,) = features.inputs.values()
    y = features.targets
    known = slice(size.warm_up)
    warm_up = WarmUp(training=Training(epochs=size.warm_up_epochs, patience=None))
    network = Autoencoder(x.shape[1])
    networks = InstanceNetworks(network, Predictor(network.latent))
    return Workload(size, x, y, *drive(warm_up.models(networks, x[known], y[known])))


def compare(work: Workload, strategy: Strategy) -> Row:
    first, ours = time_call(lambda: run_project(work, strategy))
    plain_clock, plain = time_call(lambda: run_plain(work, strategy))
    last, _ = time_call(lambda: run_project(work, strategy))
    clock = Clock(*((one + other) / 2 for one, other in zip(first, last, strict=True)))
    return Row(
        strategy=type(strategy).__name__,
        plain_seconds=plain_clock.wall,
        project_seconds=clock.wall,
        speedup=plain_clock.wall / clock.wall,
        speedup_cpu=plain_clock.cpu / clock.cpu,
        plain_fe=mean_fe(work, plain),
        project_fe=mean_fe(work, ours),
        plain_pe=mean_pe(work, plain),
        project_pe=mean_pe(work, ours),
        plain_updates=plain.updates,
        project_updates=ours.updates,
    )


def time_call(function: Callable[[], Outcome]) -> tuple[Clock, Outcome]:
    wall, cpu = time.perf_counter(), time.process_time()
    outcome = function()
    return Clock(time.perf_counter() - wall, time.process_time() - cpu), outcome


def mean_fe(work: Workload, outcome: Outcome) -> float:
    """FE of the final predictors over the streamed slice, mean over entities, configurations."""
    part = slice(work.size.warm_up, work.end)
    return _mean(work.y[part], [found[part] for found in outcome.forecasts], fitting_error)


def mean_pe(work: Workload, outcome: Outcome) -> float:
    """PE of the final predictors over the slice after the stream."""
    part = slice(work.end, None)
    return _mean(work.y[part], [found[part] for found in outcome.forecasts], prediction_error)


def _mean(
    y: Float32Array, found: Sequence[npt.NDArray[np.float64]], metric: Callable[..., float]
) -> float:
    return float(
        np.mean([metric(y[:, i], each[:, i]) for each in found for i in range(y.shape[1])])
    )


def run_project(work: Workload, strategy: Strategy) -> Outcome:
    """Run all entities and configurations together, with stacked updates."""
    known, new = slice(work.size.warm_up), slice(work.size.warm_up, work.end)
    instances = [
        Instance.start(
            settings,
            work.x[known],
            work.y[known],
            autoencoder=work.autoencoder,
            predictors=work.predictors,
        )
        for settings in work.size.settings(strategy)
    ]
    drive(run_together([each.stream(work.x[new], work.y[new]) for each in instances]))
    # An update of the shared autoencoder replaces one update per entity.
    updates = sum(
        work.size.entities if event.component == "autoencoder" else 1
        for each in instances
        for event in each.events
    )
    return Outcome([each.predict(work.x) for each in instances], updates)


# The plain implementation, written from the paper; it uses only weights of the project.


def run_plain(work: Workload, strategy: Strategy) -> Outcome:
    """Run one configuration, one entity and one sample at a time."""
    x, y = torch.from_numpy(work.x), torch.from_numpy(work.y)
    forecasts, updates = [], 0
    for settings in work.size.settings(strategy):
        columns = []
        for entity, predictor in enumerate(work.predictors):
            seeds = [[settings.seed, 0, 0], [settings.seed, 1, entity]]
            models = (work.autoencoder, predictor)
            plain = Plain(settings, *models, x=x, y=y[:, entity : entity + 1], seeds=seeds)
            plain.start(work.size.warm_up)
            for row in range(work.size.warm_up, work.end):
                plain.observe(row)
            columns.append(plain.predict(x))
            updates += plain.updates
        forecasts.append(np.stack(columns, axis=1))
        what = f"alpha {settings.alpha}, capacity {settings.novelty_capacity}"
        print(f"plain {type(strategy).__name__}, {what}: done", file=sys.stderr)
    return Outcome(forecasts, updates)


class Plain:
    """An autoencoder and a predictor for one entity, learning from a stream."""

    def __init__(
        self,
        settings: ClearSettings,
        autoencoder: Model,
        predictor: Model,
        *,
        x: Tensor,
        y: Tensor,
        seeds: Sequence[list[int]],
    ) -> None:
        assert isinstance(autoencoder.network, Autoencoder)
        assert isinstance(predictor.network, Predictor)
        self.x, self.y = x, y
        self.encoder = sequential(autoencoder, autoencoder.network.encoder)
        self.decoder = sequential(autoencoder, autoencoder.network.decoder)
        self.predictor = sequential(predictor, predictor.network.chain)
        whole = nn.Sequential(self.encoder, self.decoder)
        first, second = (np.random.default_rng(seed) for seed in seeds)
        self.parts = (
            Part(whole, settings, see=lambda rows: (x[rows], x[rows]), rng=first),
            Part(self.predictor, settings, see=self.see_latents, rng=second),
        )

    @torch.no_grad()
    def see_latents(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        """Latents of the current encoder, and readings."""
        return self.encoder(self.x[rows]), self.y[rows]

    def start(self, stop: int) -> None:
        """Use the samples before `stop` as the warm-up."""
        rows = list(range(stop))
        self.parts[0].start(rows)
        self.parts[1].start([row for row in rows if not self.y[row].isnan()])

    def observe(self, row: int) -> None:
        """Judge one sample with both models, and update a model whose novelty buffer is full."""
        x, y = self.x[row : row + 1], self.y[row : row + 1]
        with torch.no_grad():
            latents = self.encoder(x)
            self.parts[0].judge(row, self.decoder(latents), x)
            if not y.isnan():
                self.parts[1].judge(row, self.predictor(latents), y)
        for part in self.parts:
            if len(part.novelty) == part.settings.novelty_capacity:
                part.update()

    @torch.no_grad()
    def predict(self, x: Tensor) -> npt.NDArray[np.float64]:
        """Forecasts (n) of the current models."""
        forecasts: npt.NDArray[np.float64] = self.predictor(self.encoder(x))[:, 0].numpy()
        return forecasts

    @property
    def updates(self) -> int:
        """Updates of both models."""
        return sum(part.updates for part in self.parts)


class Part:
    """A model with its threshold and buffers; `see` turns row numbers into inputs and targets."""

    def __init__(
        self,
        model: nn.Module,
        settings: ClearSettings,
        *,
        see: Callable[[list[int]], tuple[Tensor, Tensor]],
        rng: np.random.Generator,
    ) -> None:
        self.model, self.settings, self.see, self.rng = model, settings, see, rng
        self.novelty: list[int] = []
        self.familiarity: list[int] = []
        self.past: list[int] = []
        self.window: list[int] = []
        self.importance: list[Tensor] = []
        self.anchor: list[Tensor] = []
        self.threshold = float("nan")
        self.updates = 0

    def start(self, rows: list[int]) -> None:
        """Set the first threshold and the first Fisher information."""
        self.past = rows
        self.renew_threshold(rows)
        if isinstance(self.settings.strategy, OnlineEWC):
            self.importance = self.fisher(rows)
            self.anchor = [weight.detach().clone() for weight in self.model.parameters()]

    def judge(self, row: int, output: Tensor, target: Tensor) -> None:
        """Append a sample to the novelty or the familiarity buffer."""
        error = rms(output, target).item()
        (self.novelty if error > self.threshold else self.familiarity).append(row)
        self.window.append(row)

    def update(self) -> None:
        """Train, set the threshold, consolidate, and empty the buffers."""
        strategy = self.settings.strategy
        if isinstance(strategy, RandomReplay):
            self.replay(strategy)
        else:
            self.train(self.novelty, torch.ones(len(self.novelty)))
        seen = self.novelty + self.familiarity
        self.renew_threshold(seen)
        if isinstance(strategy, OnlineEWC):
            new = self.fisher(seen)
            pairs = zip(self.importance, new, strict=True)
            self.importance = [strategy.gamma * old + fresh for old, fresh in pairs]
            self.anchor = [weight.detach().clone() for weight in self.model.parameters()]
        self.past = self.past + self.window
        self.novelty, self.familiarity, self.window = [], [], []
        self.updates += 1

    def replay(self, strategy: RandomReplay) -> None:
        """L_N + λ_R · L_R, the replay set drawn from everything before the last update."""
        budget = strategy.replay_size or self.settings.novelty_capacity
        size = min(budget, len(self.past))
        chosen = self.rng.choice(len(self.past), size=size, replace=False, shuffle=False)
        drawn = [self.past[i] for i in sorted(chosen.tolist())]
        total = len(self.novelty) + len(drawn)
        weights = torch.cat(
            [
                torch.full((len(self.novelty),), total / len(self.novelty)),
                torch.full((len(drawn),), strategy.replay_weight * total / len(drawn)),
            ]
        )
        self.train(self.novelty + drawn, weights)

    def train(self, rows: list[int], weights: Tensor) -> None:
        """Train with the default Adam; samples are shuffled in every epoch."""
        training = self.settings.update
        generator = torch.Generator().manual_seed(int(self.rng.integers(2**31)))
        inputs, targets = self.see(rows)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=training.learning_rate)
        for _ in range(training.epochs):
            order = torch.randperm(len(rows), generator=generator)
            for start in range(0, len(rows), training.batch):
                batch = order[start : start + training.batch]
                optimizer.zero_grad()
                errors = (self.model(inputs[batch]) - targets[batch]).square().mean(dim=1)
                loss = (weights[batch] * errors).mean() + self.penalty()
                loss.backward()
                optimizer.step()

    def penalty(self) -> Tensor:
        """λ/2 · Σ F* (θ - θ*)² of Online EWC."""
        total = torch.zeros(())
        if isinstance(self.settings.strategy, OnlineEWC):
            moved = zip(self.model.parameters(), self.anchor, self.importance, strict=True)
            for weight, anchor, importance in moved:
                total = total + ((weight - anchor).square() * importance).sum()
            total = self.settings.strategy.ewc_weight / 2 * total
        return total

    def fisher(self, rows: list[int]) -> list[Tensor]:
        """Mean of squared gradients, with one backward pass per sample."""
        inputs, targets = self.see(rows)
        means = [torch.zeros_like(weight) for weight in self.model.parameters()]
        for i in range(len(rows)):
            self.model.zero_grad()
            (self.model(inputs[i : i + 1]) - targets[i : i + 1]).square().mean().backward()
            for mean, weight in zip(means, self.model.parameters(), strict=True):
                if weight.grad is not None:
                    mean.add_(weight.grad.square() / len(rows))
        return means

    @torch.no_grad()
    def renew_threshold(self, rows: list[int]) -> None:
        """Set τ = α · ē on these samples."""
        inputs, targets = self.see(rows)
        self.threshold = self.settings.alpha * rms(self.model(inputs), targets).mean().item()


def rms(output: Tensor, target: Tensor) -> Tensor:
    """Root mean square error over features; with one feature, the absolute error."""
    return (output - target).square().mean(dim=1).sqrt()


def sequential(model: Model, chain: Chain) -> nn.Sequential:
    """A plain `nn.Sequential` with the weights of a model."""
    modules: list[nn.Module] = []
    for pair, (weight, bias) in zip(
        pairwise(chain.widths), chain.layers(model.params), strict=True
    ):
        linear = nn.Linear(*pair)
        linear.weight.data.copy_(weight[0].T)
        linear.bias.data.copy_(bias[0])
        modules += [linear, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def table(size: Size, rows: Sequence[Row]) -> str:
    configurations = len(size.alphas) * len(size.capacities)
    head = ("approach", "plain s", "project s", "faster", "by CPU", "FE", "PE", "updates")
    lines = [
        f"{size.entities} entities x {configurations} configurations, {size.warm_up:,} warm-up and "
        f"{size.stream:,} streamed samples, {size.update.epochs} epochs an update",
        "FE, PE: mean RMSE over entities and configurations; plain / project",
        "{:14}{:>9}{:>10}{:>8}{:>8}{:>18}{:>18}{:>14}".format(*head),
    ]
    for r in rows:
        fe, pe = f"{r.plain_fe:.4f} / {r.project_fe:.4f}", f"{r.plain_pe:.4f} / {r.project_pe:.4f}"
        updates = f"{r.plain_updates} / {r.project_updates}"
        lines.append(
            f"{r.strategy:14}{r.plain_seconds:9.1f}{r.project_seconds:10.2f}{r.speedup:7.1f}x"
            f"{r.speedup_cpu:7.1f}x{fe:>18}{pe:>18}{updates:>14}"
        )
    plain, ours = (sum(getattr(r, f"{way}_seconds") for r in rows) for way in ("plain", "project"))
    reached = "reached" if plain / ours >= GOAL else "missed"
    lines.append(f"both approaches: {plain / ours:.1f}x faster; goal {GOAL}x: {reached}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
