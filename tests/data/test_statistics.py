import pandas as pd
import pytest

from clearwatt.data import Entity, Kind
from clearwatt.data.quality import EntityQuality, Reason
from clearwatt.data.statistics import EntityStatistics, GroupStatistics, spread_of


def statistics(name, *, capacity=10.0, factor=None, gaps=0):
    counts = dict.fromkeys(Reason, 0) | {Reason.GAP: gaps}
    return EntityStatistics(
        entity=Entity(name, Kind.GENERATOR, capacity, "town"),
        subtype="",
        mean=2.0,
        peak=4.0,
        capacity_factor=factor,
        load_factor=None,
        quality=EntityQuality(name, 100, counts, pd.Timedelta(minutes=90)),
    )


def group(*members):
    return GroupStatistics(Kind.GENERATOR, None, members)


def test_a_spread_is_of_the_values_that_exist():
    assert spread_of([3.0, None, 1.0, 5.0]) == (1.0, 3.0, 5.0)
    assert spread_of([None, None]) is None


def test_capacities_are_added_if_all_are_given():
    assert group(statistics("a"), statistics("b", capacity=2.5)).capacity == 12.5
    assert group(statistics("a"), statistics("b", capacity=None)).capacity is None


def test_a_group_has_the_spread_and_the_means_of_its_members():
    both = group(statistics("a", factor=0.2, gaps=10), statistics("b", factor=0.4, gaps=30))
    assert both.capacity_factors == pytest.approx((0.2, 0.3, 0.4))
    assert both.missing_share == pytest.approx(0.2)
    document = both.to_dict()
    assert document["entities"] == 2
    assert document["capacity_factor"] == pytest.approx({"min": 0.2, "mean": 0.3, "max": 0.4})
    assert document["load_factor"] is None


def test_an_entity_in_json():
    document = statistics("a", gaps=25).to_dict()
    assert (document["entity"], document["kind"], document["subtype"]) == ("a", "generator", None)
    assert (document["missing_share"], document["longest_gap_hours"]) == (0.25, 1.5)
