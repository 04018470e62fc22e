"""Who is in the grid: kinds in the paper's proportion, each with its subtype and name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from clearwatt.data.schema import Kind

# The paper's grid: 7 generators, 59 consumers, 29 residual loads.
KINDS: Mapping[Kind, int] = {Kind.GENERATOR: 7, Kind.CONSUMER: 59, Kind.RESIDUAL: 29}

# Weights; where a small grid cannot hold all, those first in the table come first.
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
class Member:
    """One entity of the simulated grid; ``number`` counts from 1 within its kind."""

    name: str
    kind: Kind
    subtype: str
    number: int


def roster(entities: int) -> tuple[Member, ...]:
    """Return the members of a grid of ``entities``; a smaller grid's are also in a larger one."""
    return tuple(
        member for kind, count in _kinds(entities).items() for member in _members(kind, count)
    )


def _kinds(entities: int) -> dict[Kind, int]:
    if entities < len(KINDS):
        # Too few for one of each: the most frequent kinds.
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


def _members(kind: Kind, count: int) -> list[Member]:
    weights = SUBTYPES[kind]
    total = sum(weights.values())
    seen: Counter[str] = Counter()
    members = []
    for number in range(1, count + 1):
        owed = {name: weight * number / total - seen[name] for name, weight in weights.items()}
        # Whoever has not been there yet goes first, so that small grids are varied.
        subtype = max(owed, key=lambda name: (seen[name] == 0 and number <= len(owed), owed[name]))
        seen[subtype] += 1
        members.append(Member(f"{subtype}_{seen[subtype]:02d}", kind, subtype, number))
    return members
