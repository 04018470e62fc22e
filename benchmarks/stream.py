"""Judging a stream without updates: one long block against sample by sample.

    python benchmarks/stream.py [--quick] [--json]

One thread. The stream of the simulated grid passes through `Instance.observe`: checks, encoding,
reconstruction, prediction, verdicts, buffers and history. The networks are the paper's smallest (64
wide, 3 layers, latent 12), the strategy is Recent Replay, and the novelty capacity is so large that
there is no update.

A sample is one row of inputs with the readings of all entities; a reading is that of one entity.
All entities share the autoencoder. Repeats alternate between the two ways, and the best counts. A
large matrix product in between shows the speed of the machine at that moment.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import ClearSettings, Model
from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.strategies import RecentReplay
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor
from clearwatt.training.streams import drive

WARM_UP = 10_000
NEVER = 10**9
"""A novelty capacity that no stream fills."""
GOAL = 1_000_000


@dataclass(frozen=True)
class Row:
    """One instance: samples per second both ways, readings per second, and their ratio."""

    entities: int
    samples: int
    block_samples_per_second: float
    block_samples_per_cpu_second: float
    block_readings_per_second: float
    single_samples_per_second: float
    ratio: float
    matmul_gflops: float


@dataclass(frozen=True)
class Workload:
    """Inputs (n x d), readings (n x entities) and the warm-up models."""

    x: Float32Array
    y: Float32Array
    autoencoder: Model
    predictors: Sequence[Model]

    def instance(self, entities: int) -> Instance:
        """A new instance after its warm-up."""
        return Instance.start(
            ClearSettings(RecentReplay(), novelty_capacity=NEVER),
            self.x[:WARM_UP],
            self.y[:WARM_UP, :entities],
            autoencoder=self.autoencoder,
            predictors=self.predictors[:entities],
        )


def main() -> None:
    args = parse_args()
    torch.set_num_threads(1)
    counts = (1, 8) if args.quick else (1, 8, 95)
    work = workload(entities=max(counts), steps=30_000 if args.quick else 67_764)
    repeats = 5 if args.quick else 10
    rows = [measure(work, count, repeats=repeats if count < 95 else 3) for count in counts]
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else table(rows))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="half the stream, up to 8 entities")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def workload(*, entities: int, steps: int) -> Workload:
    """The simulated grid, and models of few epochs: the cost of judging does not depend on them."""
    dataset = simulate_grid(entities, steps)
    features = prepare(dataset, fit_scaling(dataset, WARM_UP))
    (x,) = features.inputs.values()
    y = features.targets
    warm_up = WarmUp(training=Training(epochs=3, patience=None))
    network = Autoencoder(x.shape[1])
    networks = InstanceNetworks(network, Predictor(network.latent))
    return Workload(x, y, *drive(warm_up.models(networks, x[:WARM_UP], y[:WARM_UP])))


def measure(work: Workload, entities: int, *, repeats: int) -> Row:
    x, y = work.x[WARM_UP:], np.ascontiguousarray(work.y[WARM_UP:, :entities])
    few = max(50, 1000 // entities)
    wall, cpu, single, matmul = [], [], [], []
    square = torch.rand(1024, 1024)
    for _ in range(repeats):
        instance = work.instance(entities)
        seconds, busy = time_call(partial(instance.observe, x, y))
        wall.append(seconds)
        cpu.append(busy)
        assert not instance.events, "there was an update; the capacity is too small"
        alone = work.instance(entities)
        single.append(time_call(partial(observe_one_by_one, alone, x[:few], y[:few]))[0])
        matmul.append(time_call(lambda: square @ square)[0])
    rate, rate_alone = len(x) / min(wall), few / min(single)
    return Row(
        entities=entities,
        samples=len(x),
        block_samples_per_second=rate,
        block_samples_per_cpu_second=len(x) / min(cpu),
        block_readings_per_second=entities * rate,
        single_samples_per_second=rate_alone,
        ratio=rate / rate_alone,
        matmul_gflops=2 * 1024**3 / 1e9 / min(matmul),
    )


def observe_one_by_one(instance: Instance, x: Float32Array, y: Float32Array) -> None:
    """Observe the same stream one sample at a time, as a live service does."""
    for row in range(len(x)):
        instance.observe(x[row : row + 1], y[row : row + 1])


def time_call(function: Callable[[], object]) -> tuple[float, float]:
    """Wall seconds and CPU seconds of this thread."""
    wall, cpu = time.perf_counter(), time.thread_time()
    function()
    return time.perf_counter() - wall, time.thread_time() - cpu


def table(rows: Sequence[Row]) -> str:
    head = ("entities", "samples", "block", "per CPU s", "readings", "singly", "ratio", "matmul")
    lines = [
        "samples per second; readings = samples x entities per second; matmul in GFLOP/s",
        "{:>8}{:>9}{:>12}{:>12}{:>12}{:>9}{:>9}{:>8}".format(*head),
    ]
    lines += [
        f"{r.entities:8}{r.samples:9,}{r.block_samples_per_second:12,.0f}"
        f"{r.block_samples_per_cpu_second:12,.0f}{r.block_readings_per_second:12,.0f}"
        f"{r.single_samples_per_second:9,.0f}{r.ratio:8,.0f}x{r.matmul_gflops:8.1f}"
        for r in rows
    ]
    reached = "reached" if rows[0].block_samples_per_second >= GOAL else "missed"
    return "\n".join([*lines, f"goal, one entity: {GOAL:,} samples per second: {reached}"])


if __name__ == "__main__":
    main()
