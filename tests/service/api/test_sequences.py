"""Sequences of requests against a real service: schemathesis finds no 5xx and no hang."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.long_runs import run_seconds, seed_options
from tests.service.processes import until
from tests.service.running import PATIENCE, is_ready, running

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.store import open_store

pytestmark = [pytest.mark.slow, pytest.mark.long]

CI_SECONDS = 10.0
NOWHERE = "http://127.0.0.1:9"
HANG = 60.0
"""Seconds after which a request counts as hanging on a busy machine."""
CHECKS = "not_a_server_error,status_code_conformance,response_schema_conformance,use_after_free"


def examine(url: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the stateful phase, which follows the links of the description."""
    seconds = run_seconds(CI_SECONDS)
    program = str(Path(sys.executable).parent / "schemathesis")
    return subprocess.run(
        [
            *(program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--no-color"),
            *("--phases", "stateful", "--max-time", f"{seconds:.0f}", "--wait-for-schema", "60"),
            *("--request-timeout", f"{HANG:.0f}", "--generation-database", "none", *options),
            *seed_options(),
            *("--exclude-path", "/v1/stream"),  # it does not end; test_stream.py listens to it
        ],
        cwd=folder,
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + 10 * HANG,
    )


@pytest.mark.parametrize("guarded", [True, False], ids=["tokens", "open"])
def test_sequences_of_requests_cause_no_server_error_and_no_hang(address, guarded, tmp_path):
    options: tuple[str, ...] = ()
    if guarded:
        made = create_token("tester", "operate")
        with closing(open_store(address)) as store:
            store.add_token(made.token)
        options = ("--header", f"Authorization: Bearer {made.text}")
    limits = ("--rate", "1000000", "--burst", "1000000", "--weather-url", NOWHERE)
    place = ("--database", address) if "://" in address else ()  # SQLite is in the directory
    with running(tmp_path, *place, *limits) as service:
        result = examine(service.url, tmp_path, *options)
        until(lambda: is_ready(service.url), PATIENCE)
        assert service.stop() == 0
    assert result.returncode == 0, result.stdout[-8000:]
    assert "Scenarios:" in result.stdout
    log = tmp_path.with_name(f"{tmp_path.name}.log").read_text()
    assert "zone degraded" not in log, log[-5000:]
    assert "unexpected error" not in log, log[-5000:]
