"""What a zone forecasts with: immutable. The models of an instance are stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from clearwatt.clear.component import Model
from clearwatt.clear.loop import reconstructor
from clearwatt.clock import Steps
from clearwatt.data.scaling import Scaling
from clearwatt.errors import DataError, StateError
from clearwatt.intervals import QuantileSnapshot
from clearwatt.service.forecasting.adaptive import AdaptiveForecasts
from clearwatt.service.forecasting.library import LoadedModel
from clearwatt.service.records import IntervalSnapshot
from clearwatt.service.scaling import read_scaling
from clearwatt.service.status import ZoneStatus
from clearwatt.training.networks import Network, Params, stack

BLOCK = 64
"""Entities per stack; small, so that an update copies little."""
AT_ONCE = 8
"""Models computed in one product; their values fit the cache, which halves the time."""


class Versions(NamedTuple):
    """The versions that forecast an entity; an adaptive forecaster has no encoder."""

    encoder: str | None
    predictor: str


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
class ZoneQuantiles:
    """The quantiles of a zone at one revision; ``columns`` maps entity numbers to columns."""

    revision: int
    snapshot: QuantileSnapshot
    columns: Mapping[int, int]

    @classmethod
    def of(cls, stored: IntervalSnapshot) -> ZoneQuantiles:
        """Unpack stored quantiles; StateError if they are damaged."""
        columns = {number: column for column, number in enumerate(stored.entities)}
        return cls(
            stored.revision, QuantileSnapshot.unpack(stored.content), MappingProxyType(columns)
        )


@dataclass(frozen=True, slots=True, eq=False)
class DeployedZone:
    """The models of a zone at one generation: stacked ones, or those of an adaptive forecaster.

    ``reasons`` has the reason why an entity has no model, ``trouble`` why the zone has none;
    ``widths`` is None without quantiles.
    """

    generation: int
    scaling: Scaling | None = None
    blocks: tuple[Block, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    trouble: str | None = None
    widths: ZoneQuantiles | None = None
    adaptive: AdaptiveForecasts | None = None

    def reason_without_model(self, entity: str) -> str:
        """Why an entity has no model."""
        waiting = f"{entity} has no model yet; send its history and ask for a warm-up"
        return self.reasons.get(entity) or self.trouble or waiting

    def versions(self, entity: str) -> Versions | None:
        """The versions that forecast an entity; None if none do."""
        if self.adaptive is not None:
            version = self.adaptive.ids.get(entity)
            return None if version is None else Versions(None, version)
        if entity not in self.places:
            return None
        block, member = self.places[entity]
        stacks = self.blocks[block].encoders, self.blocks[block].predictors
        encoder, predictor = (each.ids[member % len(each.ids)] for each in stacks)
        return Versions(encoder, predictor)

    def lead_in(self, step: int) -> int:
        """Number of steps before this one whose inputs its forecast depends on."""
        return 0 if self.adaptive is None else self.adaptive.lead_in(step)

    @torch.inference_mode()
    def forecast(
        self, x: npt.NDArray[np.float32], steps: Steps, entities: Sequence[str]
    ) -> npt.NDArray[np.float64]:
        """Scaled forecasts (k x n) of entities that have a model, for inputs (n x d) of steps (n).

        Those of stacked models are computed in double precision, as `Instance.predict` does.
        """
        if self.adaptive is not None:
            return self.adaptive.forecast(x, steps, entities)
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
        return result

    def models(self) -> dict[str, LoadedModel]:
        """Every version in use by its id; the next generation reuses them."""
        stacks = (each for block in self.blocks for each in (block.encoders, block.predictors))
        return {version: found for each in stacks for version, found in each.members()}


class _Member(NamedTuple):
    entity: str
    encoder: LoadedModel
    predictor: LoadedModel


def deploy(
    status: ZoneStatus, find: Callable[[str], LoadedModel], *, previous: DeployedZone | None = None
) -> DeployedZone:
    """Load the models that a status names.

    Args:
        status: status of the zone.
        find: reads a version or an earlier one (`Library.find`); StateError if it cannot.
        previous: the models deployed so far; those still in use are not read or copied again.
    """
    if not status.scaling:
        return DeployedZone(status.generation)
    scaling = read_scaling(status.scaling)
    builder = _Builder(find, previous or DeployedZone(-1), width=len(scaling.columns(status.zone)))
    entities = list(status.entities.items())
    for start in range(0, len(entities), BLOCK):
        members = []
        for entity, its in entities[start : start + BLOCK]:
            versions = its.encoder or status.encoder, its.predictor
            member = builder.member(entity, *versions, known=entity in scaling.power)
            members += [member] if member else []
        builder.add(members)
    return builder.build(status.generation, scaling)


class _Builder:
    """Collects members and stacks those of one shape."""

    def __init__(
        self, find: Callable[[str], LoadedModel], previous: DeployedZone, *, width: int
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

    def build(self, generation: int, scaling: Scaling) -> DeployedZone:
        places = {
            entity: (at, member)
            for at, block in enumerate(self._blocks)
            for member, entity in enumerate(block.entities)
        }
        frozen = MappingProxyType(self._reasons), MappingProxyType(places)
        return DeployedZone(generation, scaling, tuple(self._blocks), *frozen)

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
