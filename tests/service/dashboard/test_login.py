"""Logging in with a token, and what a session may and may not do."""

import pytest
from tests.service.application import Web

from clearwatt.service.api.security.auth import create_token
from clearwatt.service.api.security.sessions import COOKIE, SESSION_SECONDS

HTML = {"Accept": "text/html"}
OWN = {"Origin": "http://127.0.0.1:8000"}


class Guarded:
    """A service with a token, seen by a browser that keeps cookies."""

    def __init__(self, folder, role="operate"):
        self.web = Web(folder)
        self.web.register("a")
        self.made = create_token(f"the {role}", role)
        self.web.store.add_token(self.made.token)
        self.refresh()

    def refresh(self):
        self.web.app.state.context.tokens.refresh()

    def log_in(self, token=None, *, origin="http://127.0.0.1:8000", wanted="/health"):
        form = {"token": token or self.made.text, "next": wanted}
        return self.web.ask("POST", "/login", data=form, headers={"Origin": origin})

    def hold(self, **headers):
        return self.web.ask("POST", "/v1/entities/a/hold", headers=headers).status_code


@pytest.fixture
def guarded(tmp_path):
    made = Guarded(tmp_path)
    yield made
    made.web.close()


@pytest.fixture
def reader(tmp_path):
    made = Guarded(tmp_path, "read")
    yield made
    made.web.close()


def test_a_page_sends_a_stranger_to_log_in_and_back(guarded):
    answer = guarded.web.ask("GET", "/events?kind=update&kind=hold", headers=HTML)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fevents%3Fkind%3Dupdate%26kind%3Dhold"
    form = guarded.web.ask("GET", answer.headers["location"], headers=HTML)
    assert form.status_code == 200
    assert 'value="/events?kind=update&amp;kind=hold"' in form.text
    assert 'aria-label="Pages"' not in form.text
    assert guarded.web.refused(401, "GET", "/v1/fleet")


def test_a_token_opens_the_pages_and_the_api(guarded):
    answer = guarded.log_in(wanted="/?zone=north")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?zone=north"
    page = guarded.web.ask("GET", "/", headers=HTML)
    assert page.status_code == 200
    assert "the operate (operate)" in page.text
    assert guarded.web.get("/v1/fleet")["total"] == 1
    assert guarded.web.ask("GET", "/login").headers["location"] == "/"


def test_the_cookie_is_kept_from_scripts_and_other_sites(guarded):
    parts = guarded.log_in().headers["set-cookie"].split("; ")
    assert parts[0].startswith(f"{COOKIE}={guarded.made.token.id}.")
    assert guarded.made.text.split("_", 2)[2] not in parts[0]
    assert {"HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={SESSION_SECONDS}"} <= set(parts)
    assert "Secure" not in parts


def test_by_https_the_cookie_stays_on_https(guarded):
    headers = {"Host": "grid.example", "Origin": "https://grid.example"}
    answer = guarded.web.ask("POST", "/login", data={"token": guarded.made.text}, headers=headers)
    assert "Secure" in answer.headers["set-cookie"].split("; ")


def test_what_is_no_token_gets_nobody_in(guarded):
    for text in ("", "cw_", create_token("stranger", "operate").text, "<script>alert(1)</script>"):
        answer = guarded.log_in(text or " ")
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert 'role="alert"' in answer.text
        assert "alert(1)" not in answer.text
    assert guarded.log_in("x" * 20_000).status_code == 413


def test_a_token_made_a_moment_ago_counts(guarded):
    made = create_token("new", "read")
    guarded.web.store.add_token(made.token)
    assert guarded.log_in(made.text).status_code == 303


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_nobody_is_sent_to_another_site(guarded, wanted):
    assert guarded.log_in(wanted=wanted).headers["location"] == "/"
    assert guarded.web.ask("GET", "/login", params={"next": wanted}).headers["location"] == "/"


def test_other_sites_can_change_nothing_through_a_browser(guarded):
    guarded.log_in()
    assert guarded.hold() == 403
    assert guarded.hold(Origin="https://evil.example") == 403
    assert guarded.hold(Origin="null") == 403
    assert guarded.hold(**OWN) == 202
    assert guarded.web.store.heads()["north"] == 1


def test_a_token_in_the_header_needs_no_origin(guarded):
    guarded.log_in()
    assert guarded.hold(Authorization=f"Bearer {guarded.made.text}") == 202
    assert guarded.hold(Authorization="Bearer cw_wrong", **OWN) == 401


def test_other_sites_can_log_nobody_in_or_out(guarded):
    assert guarded.log_in(origin="https://evil.example").status_code == 403
    guarded.log_in()
    foreign = {"Origin": "https://evil.example"}
    assert guarded.web.ask("POST", "/logout", headers=foreign).status_code == 403
    assert guarded.web.ask("GET", "/", headers=HTML).status_code == 200


def test_a_session_has_the_role_of_its_token(reader):
    reader.log_in()
    assert reader.hold(**OWN) == 403
    assert reader.web.get("/v1/zones")["zones"]


def test_logging_out_ends_it(guarded):
    guarded.log_in()
    answer = guarded.web.ask("POST", "/logout", headers=OWN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert guarded.web.ask("GET", "/", headers=HTML).status_code == 303


def test_a_session_runs_out(guarded):
    guarded.log_in()
    guarded.web.now += SESSION_SECONDS - 1
    assert guarded.web.ask("GET", "/v1/zones").status_code == 200
    guarded.web.now += 1
    assert guarded.web.ask("GET", "/v1/zones").status_code == 401


def test_a_revoked_token_ends_its_sessions(guarded):
    guarded.log_in()
    guarded.web.store.remove_token(guarded.made.token.id)
    guarded.refresh()
    assert guarded.web.ask("GET", "/v1/zones").status_code == 401


def test_a_forged_cookie_is_a_stranger(guarded):
    forged = f"{guarded.made.token.id}.{10**11}.{'a' * 64}"
    headers = {"Cookie": f"{COOKIE}={forged}"}
    assert guarded.web.ask("GET", "/v1/zones", headers=headers).status_code == 401


def test_without_tokens_nobody_logs_in(tmp_path):
    web = Web(tmp_path)
    assert web.ask("GET", "/login?next=/health").headers["location"] == "/health"
    page = web.ask("GET", "/", headers=HTML)
    assert page.status_code == 200
    assert "Log out" not in page.text
    web.close()
