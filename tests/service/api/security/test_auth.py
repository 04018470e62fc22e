"""Tokens: only their hash is kept, revoking works, and roles allow what they say."""

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.service.api.security.auth import (
    REFRESH,
    TokenBook,
    bearer_token,
    check_bind,
    create_token,
    is_local,
    required_role,
)
from clearwatt.service.store import StoreUnavailableError, open_store


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    yield made
    made.close()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_token_is_known_by_its_text_and_kept_as_a_hash(store):
    made = create_token("meters", "ingest")
    store.add_token(made.token)
    book = TokenBook(store)
    book.refresh()
    caller = book.caller(made.text)
    assert (caller.name, caller.role) == ("meters", "ingest")
    secret = made.text.rpartition(made.token.id + "_")[2]
    assert len(secret) >= 43
    assert secret not in repr(store.tokens())


def test_no_two_tokens_are_alike_and_none_opens_for_another(store):
    first, second = create_token("a", "read"), create_token("b", "operate")
    store.add_token(first.token)
    store.add_token(second.token)
    book = TokenBook(store)
    book.refresh()
    swapped = second.text.replace(second.token.id, first.token.id)
    assert first.text != second.text
    for wrong in (swapped, first.text[:-1], first.text + "x", "", "cw__", "cw_" + "é" * 52):
        assert book.caller(wrong) is None


def test_a_revoked_token_stops_working_and_does_not_open_the_service(store):
    clock, made = Clock(), create_token("meters", "read")
    store.add_token(made.token)
    book = TokenBook(store, clock=clock)
    book.refresh()
    store.remove_token(made.token.id)
    assert not book.is_stale
    clock.now = REFRESH + 0.1
    assert book.is_stale
    book.refresh()
    assert book.caller(made.text) is None
    assert not book.is_open


def test_tokens_known_last_hold_while_the_store_is_away(store, monkeypatch):
    made = create_token("meters", "read")
    store.add_token(made.token)
    book, late = TokenBook(store), TokenBook(store)
    book.refresh()

    def away():
        raise StoreUnavailableError("away")

    monkeypatch.setattr(store, "tokens", away)
    book.refresh()
    assert book.caller(made.text) is not None
    with pytest.raises(StoreUnavailableError):
        late.refresh()
    assert late.is_stale


@pytest.mark.parametrize(("name", "role"), [("", "read"), ("a\nb", "read"), ("a", "admin")])
def test_a_token_without_a_sensible_name_or_role_is_not_made(name, role):
    with pytest.raises(ConfigurationError):
        create_token(name, role)


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/healthz", None),
        ("GET", "/readyz", None),
        ("GET", "/metrics", "read"),
        ("GET", "/v1/forecasts", "read"),
        ("POST", "/v1/measurements", "ingest"),
        ("POST", "/v1/weather", "ingest"),
        ("POST", "/v1/zones", "operate"),
        ("PUT", "/v1/measurements", "operate"),
        ("DELETE", "/whatever/comes", "operate"),
    ],
)
def test_roles_needed(method, path, role):
    assert required_role(method, path) == role


def test_a_bind_that_others_can_reach_needs_a_token():
    token = create_token("a", "read").token
    for host in ("0.0.0.0", "::", "192.168.1.5", "power.example"):
        check_bind(host, [token])
        with pytest.raises(ConfigurationError, match="clearwatt token create"):
            check_bind(host, [])
    for host in ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"):
        check_bind(host, [])


def test_names_that_only_look_local_are_not():
    assert not any(map(is_local, ("localhost.evil.example", "127.0.0.1.evil.example", "", "0")))


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer x", "x"), ("bearer  x ", "x"), ("Basic x", None), ("Bearer", None), ("", None)],
)
def test_only_bearer_tokens_are_presented(header, token):
    assert bearer_token({"authorization": header}) == token
