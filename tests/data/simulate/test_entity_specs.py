from collections import Counter

import pytest

from clearwatt.data.schema import Kind
from clearwatt.data.simulate.entity_specs import SUBTYPES, entity_specs


def kinds(entities):
    return Counter(member.kind for member in entity_specs(entities))


def test_the_papers_grid():
    assert kinds(95) == {Kind.GENERATOR: 7, Kind.CONSUMER: 59, Kind.RESIDUAL: 29}
    subtypes = Counter(member.subtype for member in entity_specs(95))
    assert subtypes == Counter({n: w for group in SUBTYPES.values() for n, w in group.items()})
    assert subtypes["pv"] >= 2 and subtypes["wind"] >= 1
    assert subtypes["biogas"] + subtypes["hydro"] >= 1


@pytest.mark.parametrize("entities", [1, 2, 3, 4, 10, 31, 94, 96, 300])
def test_any_size_has_that_many_members_with_unique_names(entities):
    members = entity_specs(entities)
    assert len(members) == entities
    assert len({member.name for member in members}) == entities


@pytest.mark.parametrize("entities", [3, 5, 10, 31, 190])
def test_every_kind_is_there_in_proportion(entities):
    count = kinds(entities)
    for kind, share in ((Kind.GENERATOR, 7), (Kind.CONSUMER, 59), (Kind.RESIDUAL, 29)):
        assert count[kind] >= 1
        assert abs(count[kind] - entities * share / 95) <= 1.5


def test_a_smaller_grid_is_part_of_a_larger_one():
    assert set(entity_specs(20)) <= set(entity_specs(95)) <= set(entity_specs(120))
