"""The entities of the simulated grid: kinds in the paper's proportion, subtypes and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clearwatt.data.schema import Kind

# The paper's grid: 7 generators, 59 consumers, 29 residual loads.
KINDS: Mapping[Kind, int] = {Kind.GENERATOR: 7, Kind.CONSUMER: 59, Kind.RESIDUAL: 29}

# Weights. A grid too small for all subtypes has those that come first here.
SUBTYPES: Mapping[Kind, Mapping[str, int]] = {
    Kind.GENERATOR: {"pv": 3, "wind": 2, "biogas": 1, "hydro": 1},
    Kind.CONSUMER: {
        "household_block": 10,
        "office": 7,
        "supermarket": 5,
        "shop": 5,
        "workshop": 4,
        "factory_two_shift": 4,
        "factory_three_shift": 4,
        "school": 4,
        "cold_store": 3,
        "restaurant": 3,
        "hospital": 2,
        "bakery": 2,
        "farm": 2,
        "waterworks": 2,
        "street_lighting": 1,
        "data_centre": 1,
    },
    Kind.RESIDUAL: {"residential": 11, "mixed": 10, "rural": 8},
}


@dataclass(frozen=True, slots=True)
class EntitySpec:
    """Name, kind and subtype of one entity; ``number`` counts from 1 within its kind."""

    name: str
    kind: Kind
    subtype: str
    number: int


def entity_specs(entities: int) -> tuple[EntitySpec, ...]:
    """The entities of a grid; those of a smaller grid are also in a larger one."""
    return tuple(
        spec for kind, count in _kind_counts(entities).items() for spec in _kind_specs(kind, count)
    )


def _kind_counts(entities: int) -> dict[Kind, int]:
    if entities < len(KINDS):
        # Too few for one of each kind: the most frequent ones.
        ranked = sorted(KINDS, key=lambda kind: -KINDS[kind])[:entities]
        return {kind: 1 for kind in KINDS if kind in ranked}
    total = sum(KINDS.values())
    exact = {kind: entities * share / total for kind, share in KINDS.items()}
    counts = {kind: max(1, int(value)) for kind, value in exact.items()}
    while sum(counts.values()) != entities:
        step = 1 if sum(counts.values()) < entities else -1
        worst = max(KINDS, key=lambda kind: step * (exact[kind] - counts[kind]))
        counts[worst] += step
    return counts


def _kind_specs(kind: Kind, count: int) -> list[EntitySpec]:
    weights = SUBTYPES[kind]
    total = sum(weights.values())
    counts: Counter[str] = Counter()
    specs = []
    for number in range(1, count + 1):
        lack = {name: weight * number / total - counts[name] for name, weight in weights.items()}
        # Subtypes that are still absent come first, so that small grids are varied.
        subtype = max(
            lack, key=lambda name: (counts[name] == 0 and number <= len(lack), lack[name])
        )
        counts[subtype] += 1
        specs.append(EntitySpec(f"{subtype}_{counts[subtype]:02d}", kind, subtype, number))
    return specs
