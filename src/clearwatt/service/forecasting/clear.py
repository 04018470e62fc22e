"""What a zone with an instance of the paper forecasts with: its models, stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model
from clearwatt.clear.loop import reconstructor
from clearwatt.clock import Steps
from clearwatt.data.scaling import Scaling
from clearwatt.errors import DataError, StateError
from clearwatt.service.forecasting.deployed import ScaledForecasts
from clearwatt.service.forecasting.library import LoadedModel, Versions
from clearwatt.service.status import ZoneStatus
from clearwatt.training.networks import Network, Params, stack

BLOCK = 64
"""Entities per stack; small, so that an update copies little."""
AT_ONCE = 8
"""Models computed in one product; their values fit the cache, which halves the time."""


@dataclass(frozen=True, slots=True, eq=False)
class VersionStack:
    """Versions (m) of one shape, their weights stacked (m x ...)."""

    ids: tuple[str, ...]
    network: Network
    params: Params

    def members(self) -> Iterator[tuple[str, LoadedModel]]:
        """Each version by its id, without copying its weights."""
        for at, version in enumerate(self.ids):
            params = {name: tensor[at : at + 1] for name, tensor in self.params.items()}
            yield version, LoadedModel(version, Model(self.network, params))

    def double(self, members: Sequence[int]) -> Params:
        """Weights of some members in the precision forecasts are computed in."""
        chosen = list(members)
        return {name: tensor[chosen].double() for name, tensor in self.params.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Entities (m) computed together; they share one encoder or have one each."""

    entities: tuple[str, ...]
    encoders: VersionStack
    predictors: VersionStack

    @property
    def shares_encoder(self) -> bool:
        """Whether all entities use one encoder."""
        return len(self.encoders.ids) == 1

    def forecast(self, x: Tensor, members: Sequence[int]) -> Iterator[Tensor]:
        """Scaled forecasts (k x n) of some members, a few at a time, for inputs (1 x n x d)."""
        encoder = reconstructor(self.encoders.network)
        latent = encoder.encode(self.encoders.double([0]), x) if self.shares_encoder else None
        for start in range(0, len(members), AT_ONCE):
            some = members[start : start + AT_ONCE]
            seen = encoder.encode(self.encoders.double(some), x) if latent is None else latent
            yield self.predictors.network.forward(self.predictors.double(some), seen)[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class ClearForecasts:
    """The models of a zone: immutable.

    Args:
        blocks: Entities that are computed together.
        places: Block and member of each entity that has a forecast.
        reasons: Why an entity has none.
    """

    blocks: tuple[Block, ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def assemble(
        cls,
        status: ZoneStatus,
        scaling: Scaling,
        find: Callable[[str], LoadedModel],
        *,
        previous: ClearForecasts | None,
    ) -> ClearForecasts:
        """Load the models that a status names.

        Args:
            status: Status of the zone.
            scaling: Of its inputs and of power.
            find: Reads a version or an earlier one (`Library.find`); StateError if it cannot.
            previous: The forecasts so far; models still in use are not read or copied again.
        """
        width = len(scaling.columns(status.zone))
        builder = _Builder(find, previous or ClearForecasts(), width=width)
        entities = list(status.entities.items())
        for start in range(0, len(entities), BLOCK):
            members = []
            for entity, its in entities[start : start + BLOCK]:
                versions = its.encoder or status.encoder, its.predictor
                member = builder.member(entity, *versions, known=entity in scaling.power)
                members += [member] if member else []
            builder.add(members)
        return builder.build()

    def versions(self, entity: str) -> Versions | None:
        """The versions that forecast an entity; None if none do."""
        if entity not in self.places:
            return None
        block, member = self.places[entity]
        stacks = self.blocks[block].encoders, self.blocks[block].predictors
        encoder, predictor = (each.ids[member % len(each.ids)] for each in stacks)
        return Versions(encoder, predictor)

    def lead_in(self, step: int) -> int:
        """None: a forecast depends on the inputs of its own step only."""
        return 0

    def measured_until(self, entity: str) -> int | None:
        """None: a forecast does not depend on the last measurements."""
        return None

    @torch.inference_mode()
    def forecast(self, x: Float32Array, steps: Steps, entities: Sequence[str]) -> ScaledForecasts:
        """Scaled forecasts of entities that have models, for inputs (n x d) of steps (n).

        They are computed in double precision, as `Instance.predict` does.
        """
        values = torch.from_numpy(np.ascontiguousarray(x)).double()[None]
        result = np.empty((len(entities), len(x)))
        wanted: dict[int, list[tuple[int, int]]] = {}
        for row, entity in enumerate(entities):
            block, member = self.places[entity]
            wanted.setdefault(block, []).append((row, member))
        for block, pairs in wanted.items():
            rows, members = zip(*pairs, strict=True)
            found = np.concatenate(
                [t.numpy() for t in self.blocks[block].forecast(values, members)]
            )
            result[list(rows)] = found
        return ScaledForecasts.of(result)

    def models(self) -> dict[str, LoadedModel]:
        """Every version in use by its id; the next generation reuses them."""
        stacks = (each for block in self.blocks for each in (block.encoders, block.predictors))
        return {version: found for each in stacks for version, found in each.members()}


class _Member(NamedTuple):
    entity: str
    encoder: LoadedModel
    predictor: LoadedModel


class _Builder:
    """Collects members and stacks those of one shape."""

    def __init__(
        self, find: Callable[[str], LoadedModel], previous: ClearForecasts, *, width: int
    ) -> None:
        self._find, self._width = find, width
        self._known = previous.models()
        stacks = [each for block in previous.blocks for each in (block.encoders, block.predictors)]
        self._stacks = {each.ids: each for each in stacks}
        self._blocks: list[Block] = []
        self._reasons: dict[str, str] = {}

    def member(
        self, entity: str, encoder: str | None, predictor: str | None, *, known: bool
    ) -> _Member | None:
        if encoder is None or predictor is None or not known:
            return None
        try:
            member = _Member(entity, self._load(encoder), self._load(predictor))
            _check(member, self._width)
        except (StateError, DataError) as error:
            self._reasons[entity] = str(error)
            return None
        return member

    def add(self, members: Sequence[_Member]) -> None:
        groups: dict[tuple[Network, Network], list[_Member]] = {}
        for each in members:
            shape = each.encoder.model.network, each.predictor.model.network
            groups.setdefault(shape, []).append(each)
        for group in groups.values():
            encoders = list({each.encoder.version: each.encoder for each in group}.values())
            self._blocks.append(
                Block(
                    tuple(each.entity for each in group),
                    self._stack(encoders if len(encoders) == 1 else [e.encoder for e in group]),
                    self._stack([each.predictor for each in group]),
                )
            )

    def build(self) -> ClearForecasts:
        places = {
            entity: (at, member)
            for at, block in enumerate(self._blocks)
            for member, entity in enumerate(block.entities)
        }
        return ClearForecasts(
            tuple(self._blocks), MappingProxyType(places), MappingProxyType(self._reasons)
        )

    def _load(self, version: str) -> LoadedModel:
        if version not in self._known:
            # Keyed by the requested id, so that a damaged encoder is replaced once, not per entity.
            self._known[version] = self._find(version)
        return self._known[version]

    def _stack(self, members: Sequence[LoadedModel]) -> VersionStack:
        ids = tuple(member.version for member in members)
        if ids not in self._stacks:
            params = stack([member.model.params for member in members])
            self._stacks[ids] = VersionStack(ids, members[0].model.network, params)
        return self._stacks[ids]


def _check(member: _Member, width: int) -> None:
    """Raise StateError if models do not fit the inputs or each other."""
    encoder = reconstructor(member.encoder.model.network)
    if encoder.inputs != width or member.predictor.model.network.inputs != encoder.latent:
        raise StateError(
            f"{member.encoder.version} ({encoder.inputs} inputs, {encoder.latent} latent) and "
            f"{member.predictor.version} ({member.predictor.model.network.inputs} inputs) do not "
            f"fit the zone's {width} inputs; activate versions that do"
        )
