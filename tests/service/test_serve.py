"""The service as a process: who may start it, who may use it, and how it ends."""

import json
import socket

import pytest
from prometheus_client.parser import text_string_to_metric_families

from clearwatt.cli import main
from clearwatt.service.client import Client, ServiceError
from clearwatt.service.store import open_store

from .processes import alive, spawned, until
from .running import PATIENCE, SETTINGS, get, is_ready, running, small_grid


@pytest.fixture
def token(tmp_path, capsys):
    """A token made before the service's first start."""
    options = ["--role", "operate", "--name", "tests", "--data-dir", str(tmp_path / "data")]
    assert main(["token", "create", *options]) == 0
    return capsys.readouterr().out.strip()


@pytest.mark.slow
def test_a_life_with_tokens(tmp_path, token, capsys, monkeypatch):
    """Start, refuse strangers and a second service, forecast, revoke, stop in order."""
    data_dir = tmp_path / "data"
    small_grid(200).save(tmp_path / "small")
    with running(data_dir) as service:
        with Client(service.url) as stranger, pytest.raises(ServiceError) as caught:
            stranger.zones()
        assert caught.value.status == 401
        assert main(["serve", "--data-dir", str(data_dir), "--port", "0"]) == 2
        assert "another service uses" in capsys.readouterr().err

        monkeypatch.setenv("CLEARWATT_TOKEN", token)
        settings = [f"{name}={json.dumps(value)}" for name, value in SETTINGS.items()]
        where = ["--to", service.url, "--warmup", "150"]
        played = ["replay", str(tmp_path / "small"), *where, "--set", *settings]
        assert main([*played, "--report", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["new"] == 600
        with Client(service.url, token) as client:
            for facts in report["live"]:
                entity = client.entity(facts["entity"])
                assert facts["readings"] == entity.live.n_total > 0
                assert facts["rmse_share"] == entity.live.rmse_total / entity.capacity
        assert main([*played, "--report"]) == 0
        assert "live errors since the warm-up" in capsys.readouterr().out

        asked = ["--entity", "park", "--start", "2024-01-08T00:00:00Z"]
        asked += ["--end", "2024-01-08T03:00:00Z", "--url", service.url]
        assert main(["forecast", *asked, "--json"]) == 0
        (forecast,) = json.loads(capsys.readouterr().out)["forecasts"]
        assert forecast["sources"] == ["model"] * 3
        assert forecast["predictor"] == "predictor:park:0"
        assert main(["forecast", *asked]) == 0
        table = capsys.readouterr().out
        assert "predictor:park:0" in table
        assert f"{forecast['values'][0]:.1f}" in table

        assert main(["token", "list", "--data-dir", str(data_dir), "--json"]) == 0
        (listed,) = json.loads(capsys.readouterr().out)
        assert token not in json.dumps(listed)
        assert main(["token", "revoke", listed["id"], "--data-dir", str(data_dir)]) == 0
        until(lambda: get(f"{service.url}/v1/zones", headers=bearer(token)).is_error)

        learner = spawned(service.process.pid)
        assert service.stop() == 0
        assert not any(alive(pid) for pid in learner)
    store = open_store(data_dir / "clearwatt.db")
    try:
        assert [event.kind for event in store.events(kinds=["started", "stopped"])] == [
            "stopped",
            "started",
        ]
    finally:
        store.close()
    assert token not in (tmp_path / "data.log").read_text()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.slow
def test_a_killed_service_takes_its_processes_along_and_starts_again(tmp_path):
    with running(tmp_path / "data") as service:
        learner = until(lambda: spawned(service.process.pid), PATIENCE)
        service.kill()
        until(lambda: not any(alive(pid) for pid in learner), PATIENCE)
    with running(tmp_path / "data") as service:
        until(lambda: is_ready(service.url), PATIENCE)
        families = text_string_to_metric_families(get(f"{service.url}/metrics").text)
        samples = {sample.name: sample.value for family in families for sample in family.samples}
        assert samples["clearwatt_learner_up"] == samples["clearwatt_store_up"] == 1
        assert 0 <= samples["clearwatt_learner_heartbeat_age_seconds"] < PATIENCE


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "no token exists"),
        (["--port", "70000"], "port is 70000"),
        (["--gate", "much"], "neither a share"),
        (["--database", "mysql://user:hidden@host/name"], "postgresql://"),
        (["--workers", "0"], "workers"),
        (["--ray-address", "x:1"], "needs the updater ray"),
        (["--lateness", "-5"], "lateness"),
        (["--from", "nowhere"], "nowhere"),
        (["--keep-vintages", "90"], "'90' is not an age; give hours, days or weeks as in 12h"),
    ],
)
def test_invalid_options_are_reported_in_one_sentence(options, says, tmp_path, capsys):
    try:
        code = main(["serve", "--data-dir", str(tmp_path / "data"), "--port", "0", *options])
    except SystemExit as stopped:
        code = stopped.code
    err = capsys.readouterr().err
    assert code == 2
    assert err.startswith("clearwatt: ")
    assert err.count("\n") == 1
    assert says in err
    assert "hidden" not in err


def test_a_port_in_use_is_reported(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["serve", "--data-dir", str(tmp_path), "--port", port]) == 2
    assert f"cannot listen on 127.0.0.1:{port}" in capsys.readouterr().err
