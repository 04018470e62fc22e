"""The example of data frames in and out runs, and learning pays."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_learning_pays_for_both_entities():
    run = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "frames_to_results.py")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    rows = re.findall(r"^(A|Ra|Re|E|never updated) +([\d.]+) +([\d.]+)$", run.stdout, re.MULTILINE)
    errors = {name: (float(farm), float(town)) for name, farm, town in rows}
    frozen = errors.pop("never updated")
    assert set(errors) == {"A", "Ra", "Re", "E"}
    for own in errors.values():
        assert own[0] < 0.7 * frozen[0] and own[1] < 0.7 * frozen[1]
