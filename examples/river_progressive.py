"""Progressive validation with River: forecast each sample, then learn from it.

ClearRegressor needs a warm-up, so it is fitted first and wrapped then. River hands in one sample at
a time; novelty buffers and updates work as they do with blocks.

Run: python examples/river_progressive.py   (needs: pip install '.[river]')
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from river import compat, evaluate, metrics

from clearwatt import ClearRegressor
from clearwatt.strategies import Frozen, RandomReplay, Strategy

WARM_UP, STREAM = 600, 900
HOUR = np.arange(WARM_UP + STREAM)


def solar_park() -> tuple[np.ndarray, np.ndarray]:
    """Hourly sunshine and temperature (n x 2) and power (n); a second park opens in the stream."""
    rng = np.random.default_rng(0)
    sun = np.clip(np.sin(HOUR * 2 * np.pi / 24), 0, None) * rng.uniform(0.3, 1.0, len(HOUR))
    temperature = 12 + 8 * sun + rng.normal(0, 2, len(HOUR))
    capacity = np.where(HOUR < WARM_UP + 150, 10.0, 16.0)
    power = capacity * sun * (1 - 0.004 * temperature) + rng.normal(0, 0.1, len(HOUR))
    return np.stack([sun, temperature], axis=1), power


def progressive_error(strategy: Strategy) -> tuple[float, int]:
    """Mean absolute error over the stream, each forecast made before its sample is learnt."""
    x, power = solar_park()
    model = ClearRegressor(
        strategy=strategy,
        novelty_capacity=60,
        latent=2,
        width=16,
        layers=1,
        predictor_width=16,
        predictor_layers=1,
        epochs=100,
        update_epochs=60,
        learning_rate=0.01,
        random_state=0,
    )
    model.fit(x[:WARM_UP], power[:WARM_UP])
    wrapped = compat.convert_sklearn_to_river(model)
    metric = evaluate.progressive_val_score(stream(x, power), wrapped, metrics.MAE())
    return metric.get(), len(wrapped.estimator.events_)


def stream(x: np.ndarray, power: np.ndarray) -> Iterator[tuple[dict[str, float], float]]:
    """The samples after the warm-up, as River wants them."""
    for (sun, temperature), measured in zip(x[WARM_UP:], power[WARM_UP:], strict=True):
        yield {"sun": float(sun), "temperature": float(temperature)}, float(measured)


def main() -> None:
    for strategy in (Frozen(), RandomReplay()):
        error, updates = progressive_error(strategy)
        print(f"{type(strategy).__name__:<13} MAE {error:.3f}  updates {updates}")


if __name__ == "__main__":
    main()
