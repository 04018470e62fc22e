"""The OpenAPI description is true: schemathesis finds no 5xx and no answer it does not mention."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.application import Web, listening
from tests.service.plant import Plant

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.config import ServiceConfig

# What no description can say is left out: that an end is after a start, or a reading on a step.
CHECKS = ",".join(
    (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "ignored_auth",
        "unsupported_method",
    )
)


STREAM = "/v1/stream"


@pytest.fixture
def web(tmp_path):
    plant = Plant(tmp_path)
    plant.deploy()
    plant.weather()
    made = Web(
        tmp_path,
        ServiceConfig(rate=1e6, burst=1_000_000),
        store=plant.store,
        files=plant.files,
    )
    yield made
    made.close()


def examined(web, folder, *options):
    """What schemathesis has to say of a running service."""
    made = create_token("tester", "operate")
    web.store.add_token(made.token)
    program = str(Path(sys.executable).parent / "schemathesis")
    with listening(web) as url:
        return subprocess.run(
            [
                *(program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--no-color"),
                *("--header", f"Authorization: Bearer {made.text}"),
                *(
                    "--seed",
                    "1",
                    "--generation-database",
                    "none",
                    "--wait-for-schema",
                    "60",
                    *options,
                ),
                *("--suppress-health-check", "too_slow"),  # of this machine, not of the service
                *("--exclude-path", STREAM),  # it does not end; test_stream.py listens to it
            ],
            cwd=folder,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.slow
def test_schemathesis_finds_nothing_in_the_examples_and_a_few_random_requests(web, tmp_path):
    result = examined(web, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "4")
    assert result.returncode == 0, result.stdout[-5000:]
    paths = web.get("/openapi.json")["paths"]
    operations = sum(len(methods) for path, methods in paths.items() if path != STREAM)
    assert f"Tested: {operations}" in result.stdout


@pytest.mark.slow
def test_schemathesis_finds_nothing_in_edge_cases_random_requests_and_sequences(web, tmp_path):
    result = examined(web, tmp_path, "--max-examples", "50")
    assert result.returncode == 0, result.stdout[-5000:]


def test_every_operation_says_what_it_does_which_role_it_needs_and_how_it_fails(web):
    description = web.get("/openapi.json")
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert operation["description"], where
            if path in ("/healthz", "/readyz"):
                continue
            assert "Role: " in operation["description"], where
            assert {"401", "403", "422", "429", "500", "503"} <= operation["responses"].keys(), (
                where
            )
            if method != "get":
                assert {"413", "507"} <= operation["responses"].keys(), where


def test_a_token_is_described_as_needed_once_one_exists(web):
    def security():
        return web.get("/openapi.json")["paths"]["/v1/zones"]["get"]["security"]

    assert security() == []
    web.store.add_token(create_token("first", "read").token)
    web.app.state.context.tokens.refresh()
    assert security() == [{"token": []}]


def test_pages_that_load_scripts_from_elsewhere_are_not_there(web):
    for path in ("/docs", "/redoc"):
        web.refused(404, "GET", path)
