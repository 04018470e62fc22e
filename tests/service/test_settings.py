"""Settings of a zone keep the names that clients and data directories use."""

import pytest

from clearwatt.errors import ConfigurationError
from clearwatt.service.settings import ZoneSettings
from clearwatt.training.networks import Autoencoder, VariationalAutoencoder


def test_epochs_of_update_and_warm_up_are_read_and_written_by_their_stored_names():
    given = {"epochs": 7, "warmup_epochs": 9, "warmup_patience": None}
    settings = ZoneSettings.read(given)
    assert settings.clear_settings(900).update.epochs == 7
    training = settings.warm_up(0).training
    assert (training.epochs, training.patience) == (9, None)
    assert given.items() <= settings.plain().items()
    assert ZoneSettings.read(settings.plain()) == settings


def test_weights_are_averaged_in_updates_but_not_in_the_warm_up():
    settings = ZoneSettings.read({"averaging": 0.98})
    assert settings.forecaster == "clear"
    assert settings.clear_settings(900).update.averaging == 0.98
    assert settings.warm_up(0).training.averaging == 0
    assert ZoneSettings.read({"epochs": 7}).clear_settings(900).update.averaging == 0
    assert ZoneSettings.read(settings.plain()) == settings


def test_epochs_of_large_networks_are_limited_where_that_is_wanted():
    settings = ZoneSettings.read({"work": 100_000, "equal_epochs": True}).clear_settings(900)
    assert settings.update.epochs_for(20_000) == 5
    assert settings.equal_epochs
    unlimited = ZoneSettings.read({"forecaster": "clear"}).clear_settings(900)
    assert unlimited.update.epochs_for(20_000) == 30
    assert not unlimited.equal_epochs


@pytest.mark.parametrize(
    ("name", "value", "default"),
    [("averaging", 0.98, 0.0), ("work", 5_000, None), ("equal_epochs", True, False)],
)
def test_a_new_setting_is_written_only_where_it_is_used(name, value, default):
    """Nodes of the release before refuse settings that they do not know."""
    settings = ZoneSettings.read({name: value})
    assert settings.plain()[name] == value
    assert ZoneSettings.read(settings.plain()) == settings
    assert name not in ZoneSettings.read({"forecaster": "clear", name: default}).plain()


def test_joint_training_and_a_gate_exclude_each_other():
    joint = {"strategy": "GenerativeReplay", "parameters": {"joint": True}}
    with pytest.raises(ConfigurationError, match="gate_margin null"):
        ZoneSettings.read(joint)
    settings = ZoneSettings.read({**joint, "gate_margin": None}).clear_settings(900)
    assert settings.strategy.trains_jointly


def test_a_wrong_value_is_named_as_the_client_wrote_it():
    with pytest.raises(ConfigurationError, match=r"^epochs: .*given 0"):
        ZoneSettings.read({"epochs": 0})
    with pytest.raises(ConfigurationError, match="update_epochs"):
        ZoneSettings.read({"update_epochs": 3})


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [("recent-replay", Autoencoder), ("GenerativeReplay", VariationalAutoencoder)],
)
def test_networks_suit_the_strategy(strategy, kind):
    settings = ZoneSettings.read({"strategy": strategy, "width": 8, "layers": 2, "latent": 3})
    networks = settings.networks(5)
    assert networks.autoencoder == kind(5, 8, 2, 3)
    assert (networks.predictor.inputs, networks.predictor.width) == (3, 8)


def test_the_adaptive_forecaster_is_the_default_and_has_settings_of_its_own():
    settings = ZoneSettings.read({"alpha": 1.5, "memory": 900})
    assert settings.forecaster == "adaptive"
    adaptive = settings.adaptive()
    assert (adaptive.memory, adaptive.novelty.alpha, adaptive.gate) == (900, 1.5, None)
    assert "strategy" not in settings.plain() and settings.plain()["delay"] == 86_400
    assert ZoneSettings.read(settings.plain()) == settings


def test_a_setting_of_the_papers_instances_chooses_them():
    settings = ZoneSettings.read({"novelty_capacity": 60})
    assert (settings.forecaster, settings.gate_margin) == ("clear", 0.5)
    assert "memory" not in settings.plain()
    assert ZoneSettings.read({"forecaster": "clear"}).strategy == "RecentReplay"


def test_settings_of_the_other_forecaster_are_refused():
    with pytest.raises(ConfigurationError, match="epochs is no setting of the forecaster 'adapt"):
        ZoneSettings.read({"forecaster": "adaptive", "epochs": 3})
    with pytest.raises(ConfigurationError, match="memory is no setting of the forecaster 'clear'"):
        ZoneSettings.read({"strategy": "RandomReplay", "memory": 500})


def test_another_forecaster_brings_its_own_settings():
    before = ZoneSettings.read({"lateness": 60, "memory": 900})
    after = before.with_values({"forecaster": "clear", "latent": 3})
    assert (after.forecaster, after.lateness, after.latent) == ("clear", 60, 3)
    assert after.gate_margin == 0.5
    assert before.with_values({"memory": 800}).memory == 800


def test_every_later_entity_gets_another_seed():
    settings = ZoneSettings.read({"seed": 4})
    assert [settings.warm_up(offset).seed for offset in (0, 3)] == [4, 7]


def test_a_place_is_read_and_written_as_it_was_given():
    place = {"latitude": -33.93, "longitude": 18}
    settings = ZoneSettings.read({"weather": "open-meteo", "coordinates": place})
    assert settings.plain()["coordinates"] == place
    assert ZoneSettings.read(settings.plain()) == settings
    assert settings.with_values({"forecaster": "clear"}).weather == "open-meteo"
    with pytest.raises(ConfigurationError, match="coordinates are missing"):
        settings.with_values({"coordinates": None})
    assert "$ref" not in str(ZoneSettings.model_json_schema())
