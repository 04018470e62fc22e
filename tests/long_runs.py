"""The length of tests that prove more the longer they run."""

import os

MINUTES = os.environ.get("CLEARWATT_TEST_MINUTES")


def run_seconds(ci: float) -> float:
    """Seconds that a test may take: CLEARWATT_TEST_MINUTES, or ``ci`` where that is not set."""
    return ci if MINUTES is None else 60 * float(MINUTES)


def seed_options() -> tuple[str, ...]:
    """Of schemathesis: the same requests in every short run, new ones in each long run."""
    return ("--seed", "1") if MINUTES is None else ()
