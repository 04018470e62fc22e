"""The comparison of the README runs, on a short stream."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_approach_and_reference_is_compared_for_every_entity():
    script = ROOT / "examples" / "compare_approaches.py"
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script), "--quick", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    outcomes = json.loads(run.stdout)
    assert len(outcomes) == 9 * 3
    assert len({(each["approach"], each["entity"]) for each in outcomes}) == 27
    assert all(
        each["predictor"]["updates"] >= 1 for each in outcomes if each["approach"] != "frozen"
    )
