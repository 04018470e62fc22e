"""Configuration: presets, files and options; a mistake is an error, never ignored."""

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.experiment.config import Experiment, read_file, replace_values
from clearwatt.experiment.presets import preset
from clearwatt.experiment.protocol import Phases

PHASES = {"warmup": 100, "updating": 200, "test": 50}


def test_values_replace_the_presets_and_leave_the_rest():
    demo = preset("demo")
    values = {
        "seed": 7,
        "grid": {"alpha": [1, 2.5]},
        "warmup": {"epochs": 3},
        "entities": ["a", "b"],
        "phases": PHASES,
    }
    changed = replace_values(demo, values, "file")
    assert changed.seed == 7
    assert changed.grid.alpha == (1.0, 2.5)
    assert changed.grid.novelty_capacity == demo.grid.novelty_capacity
    assert (changed.warmup.epochs, changed.warmup.patience) == (3, demo.warmup.patience)
    assert changed.entities == ("a", "b")
    assert changed.phases == Phases(100, 200, 50)
    assert replace_values(demo, {"entities": "all"}, "file").entities == "all"
    assert replace_values(demo, {"entities": 12}, "file").entities == 12


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"sed": 1}, "unknown key 'sed'; known here: data, entities"),
        ({"grid": {"lambda": [1]}}, r"unknown key 'grid.lambda'; known here: novelty_capacity"),
        ({"seed": "one"}, "seed is 'one'; it must be a whole number"),
        ({"seed": True}, "seed is True; it must be a whole number"),
        ({"seed": -1}, "seed is -1"),
        ({"grid": {"alpha": 1.3}}, r"grid.alpha is 1.3; it must be a list of numbers"),
        ({"grid": {"alpha": []}}, "alpha is empty"),
        ({"grid": {"alpha": [1.0, 1.0]}}, "alpha holds 1.0 twice"),
        ({"grid": {"replay_weight": [-1.0]}}, "replay_weight is -1.0"),
        ({"grid": 3}, "grid is 3; it must be a table"),
        ({"instances": ["E", "Q"]}, "'Q' is unknown"),
        ({"entities": 0}, "entities is 0"),
        ({"entities": "some"}, "it must be 'all' or a whole number or a list of text"),
        ({"phases": {"test": 50}}, r"phases.warmup is missing; give warmup, updating, test"),
        ({"phases": {**PHASES, "tset": 1}}, r"unknown key 'phases.tset'; known here: warmup"),
        ({"grid": {"alpha": [1.0, "x"]}}, r"grid.alpha is 'x'; it must be a number"),
        ({"update": {"patience": "long"}}, r"update.patience is 'long'; it must be a whole number"),
        ({"phases": {**PHASES, "test": 0}}, "test phase takes 0 steps"),
        ({"update": {"epochs": 0}}, "epochs is 0"),
        ({"delay": -4}, "delay is -4"),
        ({"delay": 0}, "delay is 0; it must be 1 or more"),
        ({"grid": {"alpha": [-1.0]}}, "alpha is -1.0"),
        ({"grid": {"novelty_capacity": [0]}}, "novelty_capacity is 0"),
        ({"networks": {"widths": [0]}}, "width is 0"),
        ({"networks": {"predictor_layers": [0]}}, "layers is 0"),
        ({"networks": {"latents": [-2]}}, "latent is -2"),
    ],
)
def test_mistakes_are_named(values, says):
    with pytest.raises(ConfigurationError, match=says):
        replace_values(Experiment(), values, "file")


def test_a_file_that_is_not_toml_is_named(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("seed: 3")
    with pytest.raises(ConfigurationError, match=r"wrong.toml is not TOML"):
        read_file(path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        read_file(tmp_path / "absent.toml")


def test_given_capacities_are_not_scaled():
    demo = preset("demo")
    assert demo.grid.capacity_scale is None
    assert replace_values(demo, {"grid": {"alpha": [1.0]}}, "file").grid.capacity_scale is None
    given = replace_values(demo, {"grid": {"novelty_capacity": [700]}}, "file")
    assert given.grid.scale_to(5_000).capacities == (700,)
