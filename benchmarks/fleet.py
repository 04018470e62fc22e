"""Stacked training against the plain eager loop and against a large matrix product.

    python benchmarks/fleet.py [--quick] [--json]

One thread, CPU seconds (on an idle machine the same as wall time). All rates come from the same
run: each repeat times the eager loop, the fleet and the matrix product one after another. The best
of the repeats counts for each. The eager loop trains one `nn.Sequential` after another with the
default Adam and batches taken by index.

Floating-point operations: 2 per multiply-add of a linear layer. A training step counts the forward
pass, the weight gradients and the input gradients of all layers but the first. Activations, loss,
optimiser and shuffling do not count.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from clearwatt.training.fleet import Job, Training, default_stack, train
from clearwatt.training.networks import Autoencoder, Network, Predictor

FEATURES = 23
BATCH = 64
PAPER = {"smallest": (64, 3, 12), "middle": (128, 3, 16), "largest": (256, 4, 18)}
"""First width, hidden layers and latent dimension out of the paper's search space."""


@dataclass(frozen=True)
class Row:
    """One network: seconds per model and epoch, and rates."""

    network: str
    members: int
    eager_ms: float
    fleet_ms: float
    speedup: float
    eager_gflops: float
    fleet_gflops: float
    matmul_gflops: float
    share_of_matmul: float


def main() -> None:
    args = parse_args()
    torch.set_num_threads(1)
    samples, repeats = (2048, 4) if args.quick else (8000, 8)
    rows = [
        measure(f"{kind.__name__.lower()} {size}", network, samples=samples, repeats=repeats)
        for size, (width, layers, latent) in PAPER.items()
        for kind, network in (
            (Autoencoder, Autoencoder(FEATURES, width, layers, latent)),
            (Predictor, Predictor(latent, width, layers)),
        )
    ]
    print(json.dumps([asdict(row) for row in rows], indent=2) if args.json else table(rows))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less data, fewer repeats")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def measure(name: str, network: Network, *, samples: int, repeats: int) -> Row:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(samples, network.inputs, generator=generator)
    y = x if isinstance(network, Autoencoder) else torch.rand(samples, 1, generator=generator)
    target = None if isinstance(network, Autoencoder) else y
    training = Training(epochs=1, batch=BATCH)
    jobs = [Job(network, network.initialise([0]), x, target, training, seed=0)]
    members = default_stack(jobs[0])
    jobs = [
        Job(network, network.initialise([i]), x, target, training, seed=i) for i in range(members)
    ]
    square = torch.rand(2048, 2048, generator=generator)
    eager, fleet, matmul = best_of(
        repeats,
        lambda: train_eagerly([sequential(network) for _ in range(2)], x, y),
        lambda: train(jobs),
        lambda: square @ square,
    )
    flops = samples * flops_per_sample(network) / 1e9
    rates = (flops / (eager / 2), flops / (fleet / members), 2 * 2048**3 / 1e9 / matmul)
    return Row(
        name,
        members,
        eager_ms=500 * eager,
        fleet_ms=1000 * fleet / members,
        speedup=rates[1] / rates[0],
        eager_gflops=rates[0],
        fleet_gflops=rates[1],
        matmul_gflops=rates[2],
        share_of_matmul=rates[1] / rates[2],
    )


def best_of(repeats: int, *functions: Callable[[], object]) -> list[float]:
    """CPU seconds of each function: the best of interleaved repeats, after a first run."""
    seconds = [float("inf")] * len(functions)
    for repeat in range(repeats + 1):
        for i, function in enumerate(functions):
            started = time.process_time()
            function()
            if repeat:
                seconds[i] = min(seconds[i], time.process_time() - started)
    return seconds


def train_eagerly(models: Sequence[nn.Module], x: Tensor, y: Tensor) -> None:
    """Train each model for one epoch with a plain loop."""
    for model in models:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        order = torch.randperm(len(x))
        for start in range(0, len(x), BATCH):
            rows = order[start : start + BATCH]
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.mse_loss(model(x[rows]), y[rows]))
            optimizer.step()


def sequential(network: Network) -> nn.Module:
    """The same network as a plain `nn.Sequential`."""
    layers: list[nn.Module] = []
    for widths in chains(network):
        for pair in pairwise(widths):
            layers += [nn.Linear(*pair), nn.ReLU()]
        layers.pop()
    return nn.Sequential(*layers)


def chains(network: Network) -> list[tuple[int, ...]]:
    if isinstance(network, Autoencoder):
        return [network.encoder.widths, network.decoder.widths]
    assert isinstance(network, Predictor)
    return [network.chain.widths]


def flops_per_sample(network: Network) -> int:
    layers = [a * b for widths in chains(network) for a, b in pairwise(widths)]
    return 2 * (3 * sum(layers) - layers[0])


def table(rows: list[Row]) -> str:
    head = ("network", "m", "eager ms", "fleet ms", "speed-up", "eager", "fleet", "matmul", "share")
    lines = [
        "per model and epoch; rates in GFLOP/s; share = fleet / matmul",
        "{:22}{:>4}{:>10}{:>10}{:>10}{:>8}{:>8}{:>8}{:>8}".format(*head),
    ]
    lines += [
        f"{r.network:22}{r.members:4}{r.eager_ms:10.2f}{r.fleet_ms:10.2f}{r.speedup:9.1f}x"
        f"{r.eager_gflops:8.1f}{r.fleet_gflops:8.1f}{r.matmul_gflops:8.1f}{r.share_of_matmul:8.0%}"
        for r in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
