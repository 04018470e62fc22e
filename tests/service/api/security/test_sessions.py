"""Cookies that name a token: signed, for half a day, and no longer than the token."""

import stat

import pytest
from starlette.datastructures import Headers

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.api.security.sessions import (
    SESSION_SECONDS,
    Sessions,
    is_same_origin,
    local_path,
)

NOW = 1_717_200_000


@pytest.fixture
def token():
    return create_token("operator", "operate").token


def test_a_session_is_its_token_until_it_runs_out(token):
    now = [NOW]
    sessions = Sessions(clock=lambda: now[0])
    cookie = sessions.new_cookie(token)
    known = {token.id: token}
    assert sessions.token(cookie, known.get) == token
    now[0] += SESSION_SECONDS - 1
    assert sessions.token(cookie, known.get) == token
    now[0] += 1
    assert sessions.token(cookie, known.get) is None


def test_a_session_ends_with_its_token_even_if_the_id_is_given_again(token):
    sessions = Sessions()
    cookie = sessions.new_cookie(token)
    assert sessions.token(cookie, {}.get) is None
    other = create_token("operator", "operate").token
    assert sessions.token(cookie, {token.id: other}.get) is None


def test_a_cookie_that_was_changed_or_made_up_is_worth_nothing(token):
    sessions, known = Sessions(clock=lambda: NOW), {token.id: token}
    identity, expiry, signature = sessions.new_cookie(token).split(".")
    longer = f"{identity}.{int(expiry) + 1}.{signature}"
    other = f"{identity}.{expiry}.{'0' * 64}"
    foreign = Sessions(clock=lambda: NOW).new_cookie(token)
    for cookie in (longer, other, foreign, "", "..", f"{identity}.{expiry}.", "a" * 5000):
        assert sessions.token(cookie, known.get) is None


def test_the_key_outlives_a_restart_and_is_its_owners_alone(tmp_path, token):
    file = tmp_path / "session.key"
    before = Sessions(file)
    assert not file.exists()
    cookie = before.new_cookie(token)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Sessions(file).token(cookie, {token.id: token}.get) == token
    assert [each.name for each in tmp_path.iterdir()] == ["session.key"]


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_key_that_was_cut_short_is_never_used(tmp_path, token, content):
    file = tmp_path / "session.key"
    file.write_bytes(content)
    Sessions(file).new_cookie(token)
    assert len(file.read_bytes()) == 32


@pytest.mark.parametrize(
    ("headers", "same"),
    [
        ({"host": "grid.example", "origin": "https://grid.example"}, True),
        ({"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:8000"}, True),
        ({"host": "127.0.0.1:8000", "origin": "http://127.0.0.1:9000"}, False),
        ({"host": "grid.example", "origin": "https://grid.example.evil.example"}, False),
        ({"host": "grid.example", "origin": "null"}, False),
        ({"host": "grid.example", "origin": "http://[not an address"}, False),
        ({"host": "grid.example"}, False),
        ({"host": ""}, False),
        ({}, False),
    ],
)
def test_only_a_page_of_the_same_host_is_of_the_same_origin(headers, same):
    assert is_same_origin(Headers(headers)) is same


@pytest.mark.parametrize("path", ["/", "/events?kind=update", "/entities/park%207"])
def test_one_is_sent_on_to_paths_of_the_service(path):
    assert local_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example/",
        "\\/evil.example",
        "/\t/evil.example",
        "\n//evil.example",
        "javascript:alert(1)",
        "",
        "/" + "a" * 3000,
    ],
)
def test_one_is_never_sent_elsewhere(path):
    assert local_path(path) == "/"
