"""Thresholds move with each model that is put into service, and with nothing else."""

import pytest

from clearwatt.service.records import Outcome, RegisteredEntity, ServiceEvent, StoredVersion, Zone
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import open_store
from clearwatt.service.views.thresholds import ThresholdChange, threshold_steps

ENTITY = RegisteredEntity("e", "north", "consumer")
DEPLOYED = {"predictor": "predictor:e:0", "autoencoder": "autoencoder:north:0"}


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "clearwatt.db")
    made.add_zone(Zone("north", 900, ("wind",)))
    made.add_entities([ENTITY, RegisteredEntity("other", "north", "consumer")])
    versions = [
        version(f"{key}:{number}", threshold=float(10 * number + 1), time=100 * number)
        for key in ("predictor:e", "autoencoder:north")
        for number in range(3)
    ]
    made.commit(Outcome(status=ZoneStatus("north", 1, 1), versions=tuple(versions)))
    yield made
    made.close()


def version(identity, *, threshold, time):
    component, owner, number = identity.split(":")
    entity = owner if component == "predictor" else None
    return StoredVersion(
        identity, component, "north", entity, int(number), "superseded", 0.0, time, threshold, ""
    )


def changed(kind, before, after, *, time, threshold=None, entity="e"):
    details = {"before": before, "after": after, "threshold_after": threshold}
    key = f"{kind}:{after}:{time}"
    return ServiceEvent(key, kind, "", 0.0, zone="north", entity=entity, time=time, details=details)


def test_an_entity_that_never_updated_has_the_threshold_of_its_first_model(store):
    steps = threshold_steps(store, ENTITY, DEPLOYED)
    assert steps == {
        "predictor": [ThresholdChange(0, 1.0)],
        "autoencoder": [ThresholdChange(0, 1.0)],
    }
    nothing = threshold_steps(store, ENTITY, {"predictor": None, "autoencoder": None})
    assert nothing == {"predictor": [], "autoencoder": []}


def test_updates_and_roll_backs_are_steps_and_refused_models_are_not(store):
    for event in (
        changed("update", "predictor:e:0", "predictor:e:1", time=100, threshold=11.0),
        changed("refused", "predictor:e:1", None, time=150, threshold=99.0),
        changed("update", "predictor:e:1", "predictor:e:2", time=200, threshold=21.0),
        changed("activate", "predictor:e:2", "predictor:e:0", time=300),
        changed("update", "predictor:o:1", "predictor:o:2", time=9, threshold=5.0, entity="other"),
        changed(
            "update",
            "autoencoder:north:0",
            "autoencoder:north:1",
            time=250,
            threshold=0.5,
            entity=None,
        ),
    ):
        store.add_event(event)
    steps = threshold_steps(store, ENTITY, DEPLOYED)
    assert steps["predictor"] == [
        ThresholdChange(0, 1.0),
        ThresholdChange(100, 11.0),
        ThresholdChange(200, 21.0),
        ThresholdChange(300, 1.0),
    ]
    assert steps["autoencoder"] == [ThresholdChange(0, 1.0), ThresholdChange(250, 0.5)]
