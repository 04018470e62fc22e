"""What an adaptive zone forecasts with, assembled from what the learner has published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from clearwatt.adaptive import AdaptiveDeployed, NetworkVersion
from clearwatt.adaptive.latest import LatestMeasurements
from clearwatt.adaptive.lead_errors import LONG
from clearwatt.adaptive.publication import DeployedBase, read_open_period
from clearwatt.arrays import Float32Array
from clearwatt.clock import Steps
from clearwatt.errors import StateError
from clearwatt.packing import from_bytes
from clearwatt.service.forecasting.deployed import ScaledForecasts
from clearwatt.service.forecasting.library import Versions
from clearwatt.service.records import DeployedSnapshot

FindNetworks = Callable[[str], tuple[str, NetworkVersion]]
"""Reads a version, or an earlier one, and returns its id; StateError if it cannot."""


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveForecasts:
    """The deployed value of a zone at one revision.

    Args:
        revision: Of the snapshot.
        base: The part that changes at the end of a period.
        mark: Checksum of the base as published.
        deployed: What makes forecasts.
        networks: Id and networks by the id that was asked for.
        ids: Version of each entity that has a forecast.
        places: Column of each of them in the deployed value.
        reasons: Why an entity has none.
    """

    revision: int
    base: DeployedBase
    mark: bytes
    deployed: AdaptiveDeployed
    networks: Mapping[str, tuple[str, NetworkVersion]]
    ids: Mapping[str, str]
    places: Mapping[str, int]
    reasons: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def assemble(
        cls, snapshot: DeployedSnapshot, find: FindNetworks, *, previous: AdaptiveForecasts | None
    ) -> AdaptiveForecasts:
        """Put a snapshot together with its networks.

        Args:
            snapshot: As the learner published it.
            find: Reads networks.
            previous: The forecasts so far; networks still in use are not read again.
        """
        base, mark = _read_base(snapshot, previous)
        networks: dict[str, tuple[str, NetworkVersion]] = {}
        ids: dict[str, str] = {}
        reasons: dict[str, str] = {}
        for name, number in zip(base.names, base.numbers, strict=True):
            wanted = f"predictor:{name}:{number}"
            try:
                kept = None if previous is None else previous.networks.get(wanted)
                networks[wanted] = kept or _read_networks(wanted, find, base)
                ids[str(name)] = networks[wanted][0]
            except StateError as error:
                reasons[str(name)] = str(error)
        places = [at for at, name in enumerate(base.names) if str(name) in ids]
        period = read_open_period(snapshot.rows)
        versions = [each for _, each in networks.values()]
        if reasons:
            deployed = base.select(places).with_networks(versions, period.select(places))
        else:
            deployed = base.with_networks(versions, period)
            # The rows are most of the base: held once, not once more by the deployed value.
            base = replace(base, rows=deployed.recent.part(slice(len(base.rows.at))))
        own = {str(name): place for place, name in enumerate(deployed.names)}
        return cls(snapshot.revision, base, mark, deployed, networks, ids, own, reasons)

    def with_latest(self, latest: LatestMeasurements) -> AdaptiveForecasts:
        """With what the last readings tell that are not learned from yet."""
        return replace(self, deployed=self.deployed.with_latest(latest))

    def versions(self, entity: str) -> Versions | None:
        """The version that forecasts an entity; None if none does."""
        version = self.ids.get(entity)
        return None if version is None else Versions(None, version)

    def forecast(self, x: Float32Array, steps: Steps, entities: Sequence[str]) -> ScaledForecasts:
        """Scaled forecasts of entities that have a version, for inputs (n x d)."""
        places, chosen = [self.places[entity] for entity in entities], self.deployed
        if len(entities) < len(self.places):
            chosen, places = chosen.select(places), list(range(len(entities)))
        found = chosen.forecast(x, steps)
        power = found.power.T[places]
        if found.day_ahead is None or found.spread is None:
            return ScaledForecasts.of(power)
        return ScaledForecasts(power, found.day_ahead.T[places], found.spread.T[places])

    def measured_until(self, entity: str) -> int | None:
        """Step of the newest measurement that an entity's forecast uses; None: none of a day."""
        latest = self.deployed.latest
        age = LONG if latest is None else int(latest.ages[self.places[entity]])
        return None if age >= LONG else self.deployed.known - age

    def lead_in(self, step: int) -> int:
        """Number of steps before this one whose inputs its forecast depends on.

        Those up to the last step learned from are held; the others must be given.
        """
        since = max(self.deployed.known + 1, step - self.deployed.frame.view.reach)
        return max(0, step - since)


def _read_networks(
    wanted: str, find: FindNetworks, base: DeployedBase
) -> tuple[str, NetworkVersion]:
    found, networks = find(wanted)
    if not base.frame.architecture.fits(networks.params):
        raise StateError(
            f"version {found} has other shapes than the zone's networks; it was learned with other "
            "settings, and is replaced when the learner has caught up"
        )
    return found, networks


def _read_base(
    snapshot: DeployedSnapshot, previous: AdaptiveForecasts | None
) -> tuple[DeployedBase, bytes]:
    if snapshot.base is None:
        raise StateError(f"zone {snapshot.zone} has published no base")
    mark = blake2b(snapshot.base, digest_size=16).digest()
    if previous is not None and previous.mark == mark:
        return previous.base, mark
    return from_bytes(DeployedBase, snapshot.base), mark
