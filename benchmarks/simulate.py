"""Time and memory of simulating the full grid; goals: 30 s and 1.5 GB on one core.

python benchmarks/simulate.py [--json]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time

from clearwatt.data.simulate import simulate_grid

SECONDS, GIGABYTES = 30.0, 1.5


def peak_gigabytes() -> float:
    # Linux counts in kilobytes, macOS in bytes.
    scale = 1e9 if sys.platform == "darwin" else 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entities", type=int, default=95)
    parser.add_argument("--steps", type=int, default=67_764)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    started, cpu = time.perf_counter(), time.process_time()
    dataset = simulate_grid(options.entities, options.steps)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    memory = peak_gigabytes()
    within = seconds <= SECONDS and memory <= GIGABYTES
    result = {"seconds": seconds, "cpu_seconds": cpu, "peak_gigabytes": memory, "within": within}
    if options.json:
        print(json.dumps(result))
    else:
        print(f"{len(dataset.entities)} entities x {len(dataset.power)} steps")
        print(f"{seconds:6.1f} s   (at most {SECONDS:.0f}; {cpu:.1f} s of processor time)")
        print(f"{memory:6.2f} GB  (at most {GIGABYTES}, peak of the process)")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
