import numpy as np
import pytest

from clearwatt.errors import DataError
from clearwatt.experiment.comparison import Phases


def outcome(outcomes, approach, entity):
    (found,) = [o for o in outcomes if (o.approach, o.entity) == (approach, entity)]
    return found


def test_every_approach_is_scored_for_every_entity(outcomes):
    assert {(o.approach, o.entity) for o in outcomes} == {
        (approach, entity)
        for approach in ("Frozen", "Random", "Generative")
        for entity in ("pv", "load")
    }


def test_a_frozen_model_forgets_nothing_learns_nothing_and_keeps_nothing(outcomes):
    for entity in ("pv", "load"):
        frozen = outcome(outcomes, "Frozen", entity)
        assert frozen.predictor.updates == frozen.autoencoder.updates == 0
        assert frozen.predictor.forgetting_ratio == frozen.autoencoder.forgetting_ratio == 0
        assert frozen.retained_bytes == 0


def test_learning_fits_the_drift_better_than_a_frozen_model(outcomes):
    for approach in ("Random", "Generative"):
        learnt, frozen = outcome(outcomes, approach, "pv"), outcome(outcomes, "Frozen", "pv")
        assert learnt.autoencoder.updates > 0
        assert learnt.autoencoder.fitting_error < frozen.autoencoder.fitting_error


def test_both_components_of_generative_replay_update_together(outcomes):
    for entity in ("pv", "load"):
        generative = outcome(outcomes, "Generative", entity)
        assert generative.predictor.updates == generative.autoencoder.updates > 0


def test_generative_replay_keeps_less_than_the_whole_past(outcomes):
    generative, replay = (outcome(outcomes, name, "pv") for name in ("Generative", "Random"))
    assert generative.retained_bytes < replay.retained_bytes


def test_the_live_error_of_a_frozen_model_is_its_plain_error(outcomes):
    frozen = outcome(outcomes, "Frozen", "pv")
    assert frozen.live.rmse == pytest.approx(frozen.predictor.fitting_error, rel=1e-4)


def test_phases_longer_than_the_data_are_refused():
    with pytest.raises(DataError, match="60 that the phases take"):
        Phases(30, 20, 10).split(np.zeros(59, np.float32))
