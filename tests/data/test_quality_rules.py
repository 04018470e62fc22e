import dataclasses

import pandas as pd
import pytest

from clearwatt.data.quality_rules import CONSUMER, QualityRules
from clearwatt.data.schema import Entity, Kind
from clearwatt.errors import ConfigurationError


@pytest.mark.parametrize(
    "change",
    [
        {"low": 2.0},
        {"high": float("nan")},
        {"flat_hours": 0.0},
        {"flat_above": -0.1},
        {"ceiling": 1.5},
        {"spike_factor": -3.0},
        {"zero_hours": float("inf")},
    ],
)
def test_impossible_limits_are_named(change):
    (name,) = change
    with pytest.raises(ConfigurationError, match=name):
        dataclasses.replace(CONSUMER, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"typical_days": 0},
        {"typical_days": 2.5},
        {"fewest_readings": -1},
        {"outage_hours": 0.0},
        {"kinds": {Kind.CONSUMER: CONSUMER}},
    ],
)
def test_impossible_rules_are_named(change):
    (name,) = change
    with pytest.raises(ConfigurationError, match=name):
        QualityRules(**change)


def test_a_subtype_has_its_own_limits_in_any_spelling():
    rules = QualityRules()
    plain = Entity("a", Kind.GENERATOR, 1.0, "z", {"subtype": "wind"})
    biogas = Entity("b", Kind.GENERATOR, 1.0, "z", {"technology": " Biogas "})
    assert rules.limits(plain) == rules.kinds[Kind.GENERATOR]
    assert rules.limits(biogas).flat_hours > rules.limits(plain).flat_hours


def test_a_longer_memory_needs_a_longer_look_back():
    assert QualityRules(typical_days=60).lookback > QualityRules().lookback
    assert QualityRules(outage_hours=24 * 90).lookback > pd.Timedelta(days=90)


def test_coarser_readings_settle_later():
    rules, entity = QualityRules(), Entity("a", Kind.CONSUMER, 1.0, "z")
    fine, coarse = (rules.settles_after(entity, pd.Timedelta(step)) for step in ("15min", "1h"))
    assert pd.Timedelta(hours=2) <= fine < coarse
