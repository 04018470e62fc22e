"""Limits on size and rate, and the headers of every answer."""

import httpx
import pytest
from tests.service.application import Web, listening
from tests.service.running import PATIENCE

from clearwatt.errors import ConfigurationError
from clearwatt.service.api.security.auth import create_token
from clearwatt.service.api.security.limits import HEADERS, MOST_CALLERS, Buckets
from clearwatt.service.config import ServiceConfig

LIMIT = 20_000


@pytest.fixture
def web(tmp_path):
    made = Web(tmp_path, ServiceConfig(max_body=LIMIT, rate=0.01, burst=3))
    yield made
    made.close()


def test_large_bodies_are_refused_whether_they_say_so_or_not(web):
    body = b"[" + b" " * (3 * LIMIT) + b"]"

    def chunks():
        for at in range(0, len(body), 1000):
            yield body[at : at + 1000]

    kind = {"Content-Type": "application/json"}
    with (
        listening(web) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as client,
    ):
        for content in (body, chunks()):
            answer = client.post("/v1/measurements", content=content, headers=kind)
            assert answer.status_code == 413
            assert str(LIMIT) in answer.json()["error"]["message"]


def test_a_body_at_the_limit_passes(web):
    body = b'{"measurements": []' + b" " * (LIMIT - 20) + b"}"
    kind = {"Content-Type": "application/json"}
    assert len(body) == LIMIT
    assert web.ask("POST", "/v1/measurements", content=body, headers=kind).status_code == 200
    assert web.ask("POST", "/v1/measurements", content=body + b" ", headers=kind).status_code == 413


def test_only_the_caller_above_the_rate_limit_must_wait(web):
    for _ in range(3):
        assert web.ask("GET", "/v1/zones").status_code == 200
    answer = web.ask("GET", "/v1/zones")
    assert answer.status_code == 429
    assert 50 <= int(answer.headers["retry-after"]) <= 100
    assert web.ask("GET", "/healthz").status_code == 200
    made = create_token("other", "read")
    web.store.add_token(made.token)
    web.app.state.context.tokens.refresh()
    other = {"Authorization": f"Bearer {made.text}"}
    assert web.ask("GET", "/v1/zones", headers=other).status_code == 200


def test_a_bucket_fills_again_up_to_its_burst():
    now = [0.0]
    buckets = Buckets(rate=10.0, burst=2, clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(2)] == [0, 0]
    assert buckets.wait("a") == pytest.approx(0.1)
    now[0] = 0.1
    assert buckets.wait("a") == 0
    now[0] = 100.0
    assert [buckets.wait("a") > 0 for _ in range(3)] == [False, False, True]


def test_quiet_callers_are_forgotten_before_memory_is_used_up():
    now = [0.0]
    buckets = Buckets(rate=1.0, burst=1, clock=lambda: now[0])
    for caller in range(3 * MOST_CALLERS):
        now[0] += 0.001
        buckets.wait(str(caller))
    assert len(buckets._buckets) <= MOST_CALLERS


def test_every_answer_has_the_security_headers(web):
    for path in ("/healthz", "/nowhere", "/v1/zones?unknown=1"):
        answer = web.ask("GET", path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "default-src 'self'" in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"burst": 0}, {"max_body": 0}, {"port": 70_000}, {"rate": float("nan")}]
)
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        ServiceConfig(**wrong)


def test_zone_defaults_are_checked_before_a_zone_needs_them():
    with pytest.raises(ConfigurationError, match="gate_margn"):
        ServiceConfig(zone_defaults={"gate_margn": 0.1})
