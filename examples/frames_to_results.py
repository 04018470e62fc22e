"""From data frames in memory to the results of an experiment as data frames.

    python examples/frames_to_results.py

A wind farm gets more turbines, and a town gets heat pumps. Three instances of the paper and our
adaptive forecaster learn both from 150 days of weather forecasts and readings, in some seconds.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from clearwatt.compute import executor
from clearwatt.data import Dataset
from clearwatt.experiment import Results
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import Phases
from clearwatt.experiment.run import run
from clearwatt.training.fleet import Training

HOURS = 24 * 150
CHANGE = 24 * 90


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Power (MW) of a farm and a town, and the weather forecast of their region."""
    rng = np.random.default_rng(0)
    times = pd.date_range("2024-01-01", periods=HOURS, freq="h", tz="Europe/Warsaw")
    wind = 7 + 4 * np.sin(np.arange(HOURS) / 37) + rng.normal(0, 1, HOURS)
    cold = 18 - 10 * np.sin(np.arange(HOURS) * np.pi / HOURS) + rng.normal(0, 2, HOURS)
    changed = np.arange(HOURS) >= CHANGE
    farm = np.clip(wind / 11, 0, 1) ** 3 * np.where(changed, 30, 20)
    town = 40 + 8 * np.sin(2 * np.pi * times.hour / 24) + np.where(changed, 1.5, 0.5) * cold
    power = pd.DataFrame({"farm": farm, "town": town}, index=times)
    return power, pd.DataFrame({"wind_ms": wind, "cold_k": cold}, index=times)


def main() -> None:
    power, weather = frames()
    dataset = Dataset.from_frames(
        power,
        weather,
        pd.DataFrame({"kind": ["generator", "consumer"], "capacity": [30.0, 80.0]}, power.columns),
        name="frames",
        timezone="Europe/Warsaw",
        unit="MW",
    )
    experiment = replace(
        preset("demo"),
        instances=("Ra", "Re", "E", "A"),
        phases=Phases(warmup=24 * 60, updating=24 * 80, test=24 * 10),
        warmup=Training(epochs=60),
    )
    with tempfile.TemporaryDirectory() as folder, executor("serial") as compute:
        for progress in run(experiment, dataset, Path(folder) / "run", compute=compute):
            print(progress.stage, progress.done, "of", progress.tasks)
        results = Results.load(Path(folder) / "run")
    errors = results.trials.pivot_table(values="live_rmse", index="instance", columns="entity")
    frozen = results.baselines.query("baseline == 'L'").set_index("entity")
    errors.loc["never updated"] = frozen["predictor_fitting_error"]
    print(errors.round(3))
    print(results.updates.groupby(["entity", "instance"]).size().rename("updates"))


if __name__ == "__main__":
    main()
