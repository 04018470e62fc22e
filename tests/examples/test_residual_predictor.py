"""The example of the documentation runs and learns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_example_learns_the_power_curve():
    script = ROOT / "examples" / "residual_predictor.py"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    for name in ("residual", "built-in"):
        [line] = [line for line in run.stdout.splitlines() if line.startswith(name)]
        errors = [float(value) for value in line.split()[1:5]]
        # Predicting the mean leaves an error of about 0.36.
        assert all(error < 0.15 for error in errors)
