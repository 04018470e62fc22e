"""Peak memory of a whole region: 95 entities, one configuration of Recent Replay, the full stream.

    python benchmarks/memory.py [--quick] [--json]

The grid is simulated first and its arrays are written to a temporary folder, so that the tested
process holds only what an experiment holds. That process is new. Its peak resident memory is read
after each stage: imports, data, warm-up (autoencoder and all predictors), stream (one block, the
worst case for an instance).

Models train for few epochs, because epochs do not change the memory. The number of updates is
printed, because a stream without updates would prove nothing.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.data import simulate_grid
from clearwatt.data.features import fit_scaling, prepare
from clearwatt.strategies import RecentReplay
from clearwatt.training.fleet import Training
from clearwatt.training.networks import Autoencoder, Predictor
from clearwatt.training.streams import drive

WARM_UP = 10_000
GOAL_MB = 2_000
UPDATE = Training(epochs=2, patience=None)


@dataclass(frozen=True)
class Peaks:
    """Peak resident memory in MB (10^6 bytes) at the end of each stage, and the workload."""

    entities: int
    samples: int
    updates: int
    retained_mb: float
    imports: float
    data: float
    warm_up: float
    stream: float
    seconds: float

    @property
    def above_data(self) -> float:
        """Memory of learning, without imports and data."""
        return self.stream - self.data


def main() -> None:
    args = parse_args()
    if args.folder is not None:
        print(json.dumps(asdict(run(args.folder))))
        return
    entities, steps = (16, 30_000) if args.quick else (95, 67_764)
    peaks = measure(entities, steps)
    summary = asdict(peaks) | {"above_data": peaks.above_data}
    print(json.dumps(summary, indent=2) if args.json else table(peaks))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="16 entities, half the stream")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(entities: int, steps: int) -> Peaks:
    """Simulate in this process and learn in a new one."""
    dataset = simulate_grid(entities, steps)
    features = prepare(dataset, fit_scaling(dataset, WARM_UP))
    (x,) = features.inputs.values()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "x.npy", x)
        np.save(Path(folder) / "y.npy", features.targets)
        command = [sys.executable, __file__, "--folder", folder]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Peaks(**json.loads(done.stdout))


def run(folder: Path) -> Peaks:
    """Learn in the tested process."""
    torch.set_num_threads(1)
    imports = peak_mb()
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    data, started = peak_mb(), time.perf_counter()
    warm_up = WarmUp(training=UPDATE)
    network = Autoencoder(x.shape[1])
    networks = InstanceNetworks(network, Predictor(network.latent))
    settings = ClearSettings(RecentReplay(), update=UPDATE)
    instance = drive(warm_up.instance(settings, networks, x[:WARM_UP], y[:WARM_UP]))
    after_warm_up = peak_mb()
    instance.observe(x[WARM_UP:], y[WARM_UP:])
    return Peaks(
        entities=y.shape[1],
        samples=len(x) - WARM_UP,
        updates=len(instance.events),
        retained_mb=instance.retained_bytes / 1e6,
        imports=imports,
        data=data,
        warm_up=after_warm_up,
        stream=peak_mb(),
        seconds=time.perf_counter() - started,
    )


def peak_mb() -> float:
    """Peak resident memory of this process so far, in MB.

    On Linux a new process inherits getrusage's peak from its parent, which has simulated a grid.
    The high-water mark of the kernel (VmHWM) starts at zero.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def table(peaks: Peaks) -> str:
    rows = [
        ("imports", peaks.imports),
        ("+ data", peaks.data),
        ("+ warm-up", peaks.warm_up),
        ("+ stream", peaks.stream),
        ("stream above data", peaks.above_data),
    ]
    reached = "reached" if peaks.stream <= GOAL_MB else "missed"
    return "\n".join(
        [
            f"Recent Replay, {peaks.entities} entities, {peaks.samples:,} samples, "
            f"{peaks.updates} updates in {peaks.seconds:.0f} s; "
            f"samples retained at the end count {peaks.retained_mb:.0f} MB",
            f"{'peak resident memory':20}{'MB':>8}",
            *(f"{name:20}{value:8.0f}" for name, value in rows),
            f"goal {GOAL_MB:,} MB for the whole process: {reached}",
        ]
    )


if __name__ == "__main__":
    main()
