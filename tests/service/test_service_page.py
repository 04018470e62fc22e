"""Every address of the API, and every error code, is on the page that explains it."""

import re
from pathlib import Path

import pytest

from clearwatt.service.api.problems import CODES
from clearwatt.service.api.security.auth import required_role

from .application import Web

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")


@pytest.fixture
def operations(tmp_path):
    web = Web(tmp_path)
    paths = web.get("/openapi.json")["paths"]
    web.close()
    return {(method.upper(), path) for path, methods in paths.items() for method in methods}


def documented():
    """Method, path and role of each row of the table."""
    for row in re.finditer(
        r"^\| (GET|POST|PUT|DELETE) (.*?) \| .* \| (\w+) \|$", PAGE, re.MULTILINE
    ):
        for path in re.findall(r"`(/[^`]*)`", row[2]):
            yield row[1], path, row[3]


def test_every_address_is_documented_and_no_other(operations):
    assert {(method, path) for method, path, _ in documented()} == operations


def test_the_roles_in_the_table_are_those_that_are_asked_for():
    for method, path, role in documented():
        assert (required_role(method, path) or "open") == role, f"{method} {path}"


def test_every_error_code_is_documented():
    assert [code for code in CODES.values() if f"`{code}`" not in PAGE] == []
