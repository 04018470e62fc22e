"""Who may ask: roles over HTTP, and what no token protects from pages of other sites."""

import pytest
from tests.service.application import Web

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.config import ServiceConfig
from clearwatt.service.store import StoreUnavailableError


def bearer(store, role):
    made = create_token(f"the {role}", role)
    store.add_token(made.token)
    return {"Authorization": f"Bearer {made.text}"}


def test_with_tokens_nobody_gets_in_without(web):
    bearer(web.store, "read")
    answer = web.ask("GET", "/v1/zones")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    stranger = create_token("stranger", "operate").text
    assert "token" in web.refused(
        401, "GET", "/v1/zones", headers={"Authorization": f"Bearer {stranger}"}
    )
    for path in ("/healthz", "/readyz", "/openapi.json"):
        assert web.ask("GET", path).status_code == 200


def test_each_role_may_do_its_own_and_no_more(web):
    allowed = {"read": [200, 403, 403], "ingest": [200, 422, 403], "operate": [200, 422, 422]}
    roles = {role: bearer(web.store, role) for role in allowed}
    for role, expected in allowed.items():
        asked = [("GET", "/v1/zones"), ("POST", "/v1/measurements"), ("POST", "/v1/zones")]
        answers = [web.ask(*each, headers=roles[role]) for each in asked]
        assert [answer.status_code for answer in answers] == expected
    refusal = web.refused(403, "POST", "/v1/zones", headers=roles["read"])
    assert "operate" in refusal


def test_who_gave_a_command_is_recorded(web):
    web.register("a")
    operator = bearer(web.store, "operate")
    web.app.state.context.tokens.refresh()
    assert web.ask("POST", "/v1/entities/a/hold", headers=operator).status_code == 202
    (entry,) = web.store.journal("north", after=0)
    assert entry.content.actor == "the operate"


def test_without_tokens_pages_of_other_sites_are_kept_out(web):
    web.register("a")
    hold = "/v1/entities/a/hold"
    assert "name of this machine" in web.refused(
        421, "GET", "/v1/zones", headers={"Host": "rebound.example"}
    )
    web.refused(403, "POST", hold, headers={"Origin": "https://evil.example"})
    web.refused(403, "POST", hold, headers={"Origin": "null"})
    own = {"Origin": "http://127.0.0.1:8000"}
    assert web.ask("POST", hold, headers=own).status_code == 202
    assert web.ask("POST", hold, headers={"Host": "localhost:9000"}).status_code == 202


def test_a_public_service_is_never_open(tmp_path):
    web = Web(tmp_path, ServiceConfig(host="0.0.0.0"))
    web.refused(401, "GET", "/v1/zones")
    assert web.get("/readyz")["open"] is False
    web.close()


def test_before_the_tokens_were_ever_read_nobody_gets_in(tmp_path, monkeypatch):
    web = Web(tmp_path)

    def away():
        raise StoreUnavailableError("the database does not answer")

    monkeypatch.setattr(web.store, "tokens", away)
    answer = web.ask("GET", "/v1/zones")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    web.close()


@pytest.mark.parametrize("host", ["[", "]", "[::1", "[x]:1"])
def test_a_host_that_is_none_is_refused(web, host):
    for path in ("/v1/zones", "/"):
        assert "name of this machine" in web.refused(421, "GET", path, headers={"Host": host})


def test_a_service_whose_tokens_are_all_revoked_stays_closed_when_it_is_started_again(tmp_path):
    web = Web(tmp_path)
    made = create_token("the only one", "operate")
    web.store.add_token(made.token)
    web.store.remove_token(made.token.id)
    web.close()
    again = Web(tmp_path)
    try:
        assert again.ask("GET", "/v1/zones").status_code == 401
        ready = again.get("/readyz")
        assert not ready["open"]
        assert "token create" in " ".join(ready["notes"])
        holder = bearer(again.store, "read")
        again.app.state.context.tokens.refresh()
        assert again.ask("GET", "/v1/zones", headers=holder).status_code == 200
    finally:
        again.close()
