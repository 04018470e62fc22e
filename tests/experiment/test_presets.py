"""The presets."""

from dataclasses import replace

import pytest

from clearwatt.cli.experiment import _PRESETS
from clearwatt.errors import ConfigurationError
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.presets import PRESETS, preset


def test_the_paper_preset_is_everything():
    assert len(preset("paper").grid_configurations) == 120
    assert preset("paper").entities == "all"
    for name in ("demo", "small", "real"):
        assert len(preset(name).grid_configurations) == 6


def test_in_the_paper_preset_alone_all_autoencoders_have_equal_epochs():
    assert [name for name in PRESETS if preset(name).equal_epochs] == ["paper"]


def test_the_paper_preset_alone_averages_weights_and_takes_half_of_the_epochs():
    assert [name for name in PRESETS if preset(name).update.averaging] == ["paper"]
    assert preset("paper").update.epochs == Experiment().update.epochs // 2


def test_every_preset_has_a_row_for_the_adaptive_forecaster():
    for name in PRESETS:
        assert preset(name).instances == ("E", "F", "Ra", "Re", "ReD", "G", "A")
        assert len(preset(name).adaptive_configurations) == 1


def test_the_preset_for_real_data_differs_from_small_in_its_updates_alone():
    real, small = preset("real"), preset("small")
    assert real.update.epochs < small.update.epochs
    assert replace(real, update=small.update, preset="small") == small


def test_the_command_offers_every_preset():
    assert set(_PRESETS) == set(PRESETS)


def test_an_unknown_preset_is_named():
    with pytest.raises(ConfigurationError, match=f"'big' is unknown; .*{', '.join(PRESETS)}"):
        preset("big")


def test_a_preset_knows_its_name():
    assert {name: each.preset for name, each in PRESETS.items()} == {n: n for n in PRESETS}
