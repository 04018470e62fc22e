"""An adaptive forecaster's deployed value in the parts that processes exchange.

The networks are versions and change rarely. The rest is in two parts: the base changes at the end
of each period, the rows of the open period with each measurement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from clearwatt.adaptive.deployed import AdaptiveDeployed
from clearwatt.adaptive.ensemble import Ensemble, NetworkVersion
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.lead_corrections import LeadCoefficients
from clearwatt.adaptive.lead_errors import LatestErrors
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import LagRows
from clearwatt.arrays import Float64Array
from clearwatt.errors import StateError
from clearwatt.forecaster import Name
from clearwatt.packing import Packed, from_bytes, pack, unpack
from clearwatt.training.standardisation import Standardisation

KIND = "adaptive"
"""Marks the files of networks."""


class OpenPeriod(NamedTuple):
    """What has been measured since corrections and trust were solved."""

    rows: LagRows
    """Rows after those of the base."""
    latest: LatestErrors | None = None
    """What the last measurements tell; None: nothing."""

    def select(self, places: Sequence[int]) -> OpenPeriod:
        """Of the entities at some places."""
        latest = None if self.latest is None else self.latest.select(places)
        return OpenPeriod(self.rows.select(places), latest)


@dataclass(frozen=True, eq=False)
class DeployedBase:
    """A deployed value without its networks and without the rows of the open period.

    Args:
        frame: The part that learning never changes.
        names: Names of the entities, `e`.
        power: Scale of each entity's power.
        numbers: Number of the version of each entity's networks, `e`.
        since: From which step on the experts are in force.
        coefficients: Of the corrections.
        weights: Trust in each expert.
        limits: Range of each entity's power.
        rows: Rows of the last days, up to the open period.
        leads: Corrections by lead; None: none.
    """

    frame: Frame
    names: tuple[Name, ...]
    power: Standardisation
    numbers: tuple[int, ...]
    since: int
    coefficients: Float64Array
    weights: Float64Array
    limits: PowerRange
    rows: LagRows
    leads: LeadCoefficients | None = None

    def select(self, places: Sequence[int]) -> DeployedBase:
        """The base of some entities."""
        own = list(places)
        return replace(
            self,
            names=tuple(self.names[place] for place in own),
            power=self.power.select(own),
            numbers=tuple(self.numbers[place] for place in own),
            coefficients=self.coefficients[:, own],
            weights=self.weights[own],
            limits=self.limits.select(own),
            rows=self.rows.select(own),
            leads=None if self.leads is None else self.leads.select(own),
        )

    def with_networks(
        self, versions: Sequence[NetworkVersion], period: OpenPeriod
    ) -> AdaptiveDeployed:
        """The deployed value, with networks of each entity and the open period.

        Args:
            versions: Of each entity, `e`.
            period: What has been measured since the base was solved.
        """
        rows = period.rows
        if rows.slow.shape[1] != len(self.names) or len(versions) != len(self.names):
            raise StateError(
                f"{len(versions)} networks and rows of {rows.slow.shape[1]} entities for "
                f"{len(self.names)}; they are not of the same moment"
            )
        both = self.rows.add_rows(rows)
        return AdaptiveDeployed(
            frame=self.frame,
            names=self.names,
            power=self.power,
            experts=Experts(
                self.since,
                Ensemble(self.frame.architecture, tuple(versions)),
                self.coefficients,
                self.weights,
                self.limits,
                self.leads,
            ),
            recent=both,
            known=int(both.at[-1]) if len(both.at) else self.since - 1,
            latest=period.latest,
        )


def split_deployed(deployed: AdaptiveDeployed, boundary: int) -> tuple[DeployedBase, OpenPeriod]:
    """The base of a deployed value, and what has been measured from a step on."""
    rows, experts = deployed.recent, deployed.experts
    cut = int(np.searchsorted(rows.at, boundary))
    base = DeployedBase(
        frame=deployed.frame,
        names=deployed.names,
        power=deployed.power,
        numbers=tuple(version.number for version in experts.ensemble.versions),
        since=experts.since,
        coefficients=experts.coefficients,
        weights=experts.weights,
        limits=experts.limits,
        rows=rows.part(slice(cut)),
        leads=experts.leads,
    )
    return base, OpenPeriod(rows.part(slice(cut, None)), deployed.latest)


class _Rows(NamedTuple):
    rows: LagRows


def read_open_period(content: bytes) -> OpenPeriod:
    """An open period as `to_bytes` wrote it.

    Of what earlier releases wrote, the rows are taken: they wrote other errors with them, or none.
    """
    with suppress(StateError):
        return from_bytes(OpenPeriod, content)
    with suppress(StateError):
        return OpenPeriod(from_bytes(_Rows, content).rows)
    return OpenPeriod(from_bytes(LagRows, content))


def pack_networks(version: NetworkVersion) -> Packed:
    """The networks of an entity as the content of a file."""
    values, tensors = pack(version)
    return Packed({"kind": KIND, "version": values}, tensors)


def unpack_networks(values: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> NetworkVersion:
    """Back from `pack_networks`; a StateError for the model of another forecaster."""
    if values.get("kind") != KIND:
        raise StateError("the model is not one of an adaptive forecaster")
    return unpack(NetworkVersion, values["version"], tensors)
