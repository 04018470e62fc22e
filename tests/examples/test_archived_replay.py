"""The row of archived models is found by its name."""

from pathlib import Path

from clearwatt.strategies.own import own_strategy

ROOT = Path(__file__).parents[2]


def test_the_example_keeps_the_models_of_every_update(monkeypatch):
    monkeypatch.chdir(ROOT)
    strategy = own_strategy("examples.archived_replay:archived_replay", {})
    assert strategy.archives == "all"
