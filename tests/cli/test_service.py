"""Options of the commands around the service."""

from argparse import Namespace
from pathlib import Path

import pytest

from clearwatt.cli.service import DATABASE_VARIABLE, TOKEN_VARIABLE, database_of, token_of
from clearwatt.errors import ConfigurationError


def test_the_database_is_given_in_the_environment_or_a_file(monkeypatch):
    options = Namespace(database=None, data_dir=Path("live"))
    monkeypatch.delenv(DATABASE_VARIABLE, raising=False)
    assert database_of(options) == str(Path("live") / "clearwatt.db")
    monkeypatch.setenv(DATABASE_VARIABLE, "postgresql://host/from-environment")
    assert database_of(options) == "postgresql://host/from-environment"
    options.database = "postgresql://host/given"
    assert database_of(options) == "postgresql://host/given"


def test_a_database_of_another_kind_is_refused_without_its_password():
    options = Namespace(database="mysql://me:hunter2@host/db", data_dir=Path("live"))
    with pytest.raises(ConfigurationError, match="mysql") as refused:
        database_of(options)
    assert "hunter2" not in str(refused.value)


def test_a_token_is_given_or_in_the_environment(monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, "cw_environment")
    assert token_of(Namespace(token="cw_given")) == "cw_given"
    assert token_of(Namespace(token=None)) == "cw_environment"
    monkeypatch.delenv(TOKEN_VARIABLE)
    assert token_of(Namespace(token=None)) is None
