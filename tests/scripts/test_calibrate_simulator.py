import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "calibrate_simulator.py"


@pytest.mark.slow
def test_simple_networks_err_as_in_the_paper():
    command = [sys.executable, str(SCRIPT), "--every", "6", "--epochs", "100", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    measured = json.loads(result.stdout)["summary"]
    assert 0.02 <= measured["predictor_validation"] <= 0.06
    assert 3 <= measured["predictor_ratio"] <= 5
    assert measured["autoencoder_updating"] > 0.2
