"""The length of tests that prove more the longer they run."""

import os


def run_seconds(ci: float) -> float:
    """Seconds that a test may take: CLEARWATT_TEST_MINUTES, or ``ci`` where that is not set."""
    minutes = os.environ.get("CLEARWATT_TEST_MINUTES")
    return ci if minutes is None else 60 * float(minutes)
