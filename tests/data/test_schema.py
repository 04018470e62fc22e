import pandas as pd
import pytest

from clearwatt.data.schema import Drift, Entity, Kind


@pytest.mark.parametrize(
    ("extra", "subtype"),
    [
        ({"subtype": " Wind "}, "wind"),
        ({"technology": "PV"}, "pv"),
        ({"subtype": "", "technology": "hydro"}, "hydro"),
        ({}, ""),
    ],
)
def test_the_subtype_is_the_stated_one_or_the_technology(extra, subtype):
    assert Entity("a", Kind.GENERATOR, None, "z", extra).subtype == subtype


def test_a_drift_is_plain_values_for_json():
    start = pd.Timestamp("2024-01-01", tz="UTC")
    assert Drift("outage", None, start, None, 0.5, "stands still").to_dict() == {
        "what": "outage",
        "entity": None,
        "start": "2024-01-01T00:00:00+00:00",
        "end": None,
        "strength": 0.5,
        "description": "stands still",
    }
