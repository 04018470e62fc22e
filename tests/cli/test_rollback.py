"""``clearwatt events``, ``models`` and ``rollback`` against a real service."""

import io
import json

import pytest
from tests.service.running import SETTINGS, running, small_grid

from clearwatt.cli import main
from clearwatt.service.client import Client

LIVELY = {**SETTINGS, "novelty_capacity": 10, "alpha": 0.5}
"""Almost every sample is novel, so that there are updates."""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A service whose entities have had updates."""
    folder = tmp_path_factory.mktemp("rollback")
    small_grid(200).save(folder / "small")
    with running(folder / "data") as service:
        settings = [f"{name}={json.dumps(value)}" for name, value in LIVELY.items()]
        options = ["--to", service.url, "--warmup", "150", "--set", *settings]
        assert main(["replay", str(folder / "small"), *options, "--report"]) == 0
        yield service.url


def deployed(url: str, entity: str = "park") -> str:
    with Client(url) as client:
        found = client.entity(entity).predictor
    assert found is not None
    return found


def test_events_are_listed_newest_last_and_by_kind(url, capsys):
    assert main(["events", "--url", url, "--kind", "update", "--entity", "park", "--json"]) == 0
    events = json.loads(capsys.readouterr().out)["events"]
    assert events and {event["kind"] for event in events} == {"update"}
    assert main(["events", "--url", url, "--kind", "update", "--entity", "park"]) == 0
    table = capsys.readouterr().out
    assert table.index(events[-1]["at"]) < table.index(events[0]["at"])


@pytest.mark.parametrize("command", ["events", "models"])
def test_an_unknown_zone_or_entity_is_told_and_not_an_empty_table(url, capsys, command):
    assert main([command, "--url", url, "--entity", "prak"]) == 2
    assert "'prak' is unknown" in capsys.readouterr().err
    assert main([command, "--url", url, "--zone", "nroth", "--json"]) == 2
    assert "'nroth' is unknown" in capsys.readouterr().err


def test_no_events_of_a_kind_are_told(url, capsys):
    assert main(["events", "--url", url, "--kind", "updaet"]) == 0
    assert "no events of kind updaet" in capsys.readouterr().out


def test_a_rollback_to_the_model_of_another_entity_is_refused(url, capsys):
    before = deployed(url, "park"), deployed(url, "farm")
    assert main(["rollback", "park", "--to", before[1], "--url", url]) == 2
    assert f"{before[1]} is not a model of park" in capsys.readouterr().err
    assert main(["rollback", "park", "--to", "../park", "--url", url]) == 2
    assert "'../park', which is not the id of a version" in capsys.readouterr().err
    assert (deployed(url, "park"), deployed(url, "farm")) == before


def test_a_rollback_puts_the_version_before_into_service_and_can_be_undone(url, capsys):
    before = deployed(url)
    name, _, number = before.rpartition(":")
    assert int(number) > 0
    assert main(["rollback", "park", "--url", url]) == 0
    after = f"{name}:{int(number) - 1}"
    assert f"{after} is in service instead of {before}" in capsys.readouterr().out
    assert deployed(url) == after
    assert main(["models", "--url", url, "--entity", "park", "--json"]) == 0
    status = {each["id"]: each["status"] for each in json.loads(capsys.readouterr().out)["models"]}
    assert (status[after], status[before]) == ("deployed", "superseded")
    assert main(["rollback", "park", "--to", before, "--url", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["event"]["kind"] == "activate"
    assert deployed(url) == before
    assert main(["models", "--url", url, "--entity", "park"]) == 0
    assert after in capsys.readouterr().out


def test_without_an_earlier_version_it_says_what_to_do(url, capsys):
    assert main(["rollback", "park", "--to", "predictor:park:0", "--url", url]) == 0
    capsys.readouterr()
    assert main(["rollback", "park", "--url", url]) == 2
    assert "no model before predictor:park:0" in capsys.readouterr().err


def test_unknown_names_are_refused(url, capsys):
    assert main(["rollback", "nobody", "--url", url]) != 0
    assert "nobody" in capsys.readouterr().err
    assert main(["rollback", "park", "--to", "predictor:park:999", "--url", url]) != 0
    assert "predictor:park:999" in capsys.readouterr().err


def test_errors_by_lead_are_printed(url, capsys):
    assert main(["entities", "leads", "park", "--url", url, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["entity"], found["leads"][-1]["lead"]) == ("park", 86_400)
    assert main(["zones", "leads", "north", "--url", url]) == 0
    shown = capsys.readouterr().out
    assert "24 h" in shown and "90 % interval" in shown
    assert main(["entities", "leads", "nobody", "--url", url]) != 0
    assert "nobody" in capsys.readouterr().err


def test_zones_and_entities_are_listed_renamed_and_deleted(url, capsys, monkeypatch):
    assert main(["entities", "rename", "town", "Old town", "--url", url]) == 0
    assert main(["entities", "list", "--url", url, "--json"]) == 0
    out = capsys.readouterr().out
    listed = {each["id"]: each["name"] for each in json.loads(out[out.index("[") :])}
    assert listed == {"farm": "farm", "park": "park", "town": "Old town"}
    assert main(["zones", "delete", "south", "--url", url]) == 2
    error = capsys.readouterr().err
    assert "'clearwatt backup' makes a copy" in error
    assert "--yes deletes" in error
    terminal = io.StringIO("north\nsouth\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    assert main(["zones", "delete", "south", "--url", url]) == 2
    captured = capsys.readouterr().err
    assert "clearwatt backup" in captured
    assert "nothing was deleted" in captured
    assert main(["zones", "delete", "south", "--url", url]) == 0
    assert "zone south is deleted with its 1 entities" in capsys.readouterr().out
    assert main(["entities", "delete", "farm", "--yes", "--json", "--url", url]) == 0
    assert json.loads(capsys.readouterr().out)["entities"] == ["farm"]
    assert main(["zones", "list", "--url", url]) == 0
    out = capsys.readouterr().out
    assert "north" in out and "south" not in out


def test_what_is_not_suspected_cannot_be_confirmed(url, capsys):
    assert main(["confirm", "park", "--url", url]) == 2
    assert "park is not suspected" in capsys.readouterr().err
