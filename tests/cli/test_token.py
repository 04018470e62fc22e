"""Tokens: created, listed without secrets, revoked."""

import json

import pytest

from clearwatt.cli.main import main
from clearwatt.service.store import open_store


@pytest.fixture
def token(tmp_path, capsys):
    """Calls a command on a data directory; returns its exit code, stdout and stderr."""

    def call(*words):
        code = main(["token", *words, "--data-dir", str(tmp_path / "live")])
        return (code, *capsys.readouterr())

    return call


def test_a_token_is_printed_once_and_its_secret_is_not_stored(token, tmp_path):
    code, text, _ = token("create", "--role", "read", "--name", "grafana")
    # A secret may hold underscores of its own: it begins after the second one.
    secret = text.strip().split("_", maxsplit=2)[2]
    assert (code, text.startswith("cw_")) == (0, True)
    listed = token("list")[1]
    assert "grafana" in listed
    assert secret not in listed
    assert secret.encode() not in (tmp_path / "live" / "clearwatt.db").read_bytes()


def test_a_revoked_token_is_gone(token, tmp_path):
    new = json.loads(token("create", "--role", "ingest", "--name", "meters", "--json")[1])
    assert token("revoke", new["id"])[0] == 0
    store = open_store(tmp_path / "live" / "clearwatt.db")
    assert store.tokens() == []
    store.close()
    code, _, error = token("revoke", new["id"])
    assert code == 2
    assert "clearwatt token list" in error


def test_only_create_makes_a_data_directory(token, tmp_path):
    code, _, error = token("list")
    assert code == 2
    assert "does not exist" in error
    assert not (tmp_path / "live").exists()
