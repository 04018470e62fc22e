"""Settings of the forecasts by lead, compared on 2010: before the competition's first block.

Each run of the second half of 2010 is forecast, with what was learned up to half a week before at
most. The competition's own blocks are not used.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from clearwatt.adaptive.lead_inputs import InputScales
from clearwatt.adaptive.leads import LeadForecaster, LeadSettings
from clearwatt.data.wind_competition import BLOCK, WindCompetition, load_wind_competition

FIRST = pd.Timestamp("2010-07-01", tz="UTC")
RUNS_PER_LEARNING = 7
"""As many runs as there are from one block of the competition to the next."""


def variants() -> dict[str, LeadSettings]:
    base, scales = LeadSettings(), InputScales()
    none = {
        name: replace(base, scales=replace(scales, **{name: 0.0}))
        for name in ("neighbouring", "means", "others", "earlier", "recent")
    }
    return {
        "default": base,
        **{f"without {name}": settings for name, settings in none.items()},
        "ridge 0.3": replace(base, ridge=0.3),
        "ridge 3": replace(base, ridge=3.0),
        "half-life 365 days": replace(base, half_life=365.0),
        "fade 6": replace(base, fade=6.0),
        "fade 24": replace(base, fade=24.0),
        "150 landmarks, 80 features": replace(base, landmarks=150, features=80),
        "1,200 landmarks, 600 features": replace(base, landmarks=1_200, features=600),
    }


def errors(settings: LeadSettings, task: WindCompetition) -> dict[str, float]:
    """RMSE in all and by twelve hours of lead."""
    start = (FIRST - task.start) // pd.Timedelta(hours=1)
    stop = int(task.issues[0]) - BLOCK
    issues = task.runs.issued[(task.runs.issued >= start) & (task.runs.issued <= stop)]
    forecaster, squares = LeadForecaster(settings), []
    for count, issue in enumerate(issues.tolist()):
        known = task.known_at(issue)
        if count % RUNS_PER_LEARNING == 0:
            forecaster.learn(known.measured, known.runs)
        power = forecaster.forecast(known.measured, known.runs)
        squares.append(np.square(power - task.measured[issue + 1 : issue + 1 + BLOCK]))
    found = np.stack(squares)
    parts = found.mean(axis=(0, 2)).reshape(-1, 12).mean(axis=1)
    leads = {f"{12 * at + 1}-{12 * at + 12} h": value for at, value in enumerate(parts)}
    return {name: float(np.sqrt(value)) for name, value in {"all": found.mean(), **leads}.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the default alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    task, found = load_wind_competition(), {}
    for name, settings in variants().items():
        with threadpool_limits(1):
            found[name] = errors(settings, task)
        if not options.json:
            figures = "  ".join(f"{lead} {value:.4f}" for lead, value in found[name].items())
            print(f"{name:32}{figures}", flush=True)
        if options.quick:
            break
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
