"""Fleet priors of a service: reading, storing, and the choice of one for an entity."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from clearwatt.adaptive import AdaptiveForecaster, FleetPrior
from clearwatt.adaptive.prior import KindPrior
from clearwatt.adaptive.prior_intervals import calibrator_of_prior
from clearwatt.clock import HOURS_PER_DAY
from clearwatt.errors import ClearwattError, DataError
from clearwatt.service.quality import describe
from clearwatt.service.records import PriorOrigin, PriorVersion, RegisteredEntity, Zone
from clearwatt.service.store import Store

_LOG = logging.getLogger(__name__)


class PriorLostError(RuntimeError):
    """A prior that a journal names cannot be read; the zone waits until it is restored."""


class StoredPrior(NamedTuple):
    """A prior with its record in the store."""

    version: PriorVersion
    prior: FleetPrior


def add_prior(
    store: Store, content: bytes, *, origin: PriorOrigin, actor: str, at: float
) -> StoredPrior:
    """Check a prior and store it; DataError if the content is damaged or no prior of use here."""
    try:
        prior = FleetPrior.from_bytes(content)
        _try_start(prior)
    except (ClearwattError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as e:
        reason = str(e) if isinstance(e, ClearwattError) else f"its content does not fit: {e!r}"
        raise DataError(f"this is no fleet prior that can be used here: {reason}") from e
    version = store.add_prior(prior.digest, content, origin=origin, actor=actor, at=at)
    return StoredPrior(version, prior)


def _try_start(prior: FleetPrior) -> None:
    """Start a forecaster of each kind, because a prior that cannot would stop a zone for good."""
    kinds = list(prior.kinds)
    if not kinds:
        raise DataError("it knows no kind of entity")
    forecaster = AdaptiveForecaster.from_prior(
        prior, kinds=kinds, sizes=[1.0] * len(kinds), at=0, day=HOURS_PER_DAY
    )
    rows = np.zeros((HOURS_PER_DAY, len(prior.columns)))
    power = forecaster.deployed.forecast(rows, np.arange(HOURS_PER_DAY)).power
    known = list(prior.kinds.values())
    quantiles = calibrator_of_prior(known, [1.0] * len(kinds), day=HOURS_PER_DAY).snapshot
    found = quantiles.quantiles(power, np.arange(HOURS_PER_DAY), levels=[0.05, 0.95])
    if not (np.isfinite(power).all() and np.isfinite(found).all()):
        raise DataError("its forecasts are not finite")


def read_prior(store: Store, digest: str) -> FleetPrior:
    """The prior that a journal names; PriorLostError if it is not what was stored."""
    try:
        content = store.prior(digest)
        prior = None if content is None else FleetPrior.from_bytes(content)
    except ClearwattError as error:
        raise PriorLostError(f"the prior {digest[:16]} cannot be read: {error}") from error
    if prior is None or prior.digest != digest:
        raise PriorLostError(
            f"the prior {digest[:16]} is not stored; import it again, or restore a backup"
        )
    return prior


class PriorBook:
    """The priors of a store; each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, StoredPrior] = {}
        self._lost: set[str] = set()

    def all(self) -> list[StoredPrior]:
        """All that can be read, the newest first."""
        found = []
        for version in self._store.priors():
            known = self._known.get(version.digest)
            try:
                known = known or StoredPrior(version, read_prior(self._store, version.digest))
            except PriorLostError as error:
                if version.digest not in self._lost:  # once, because it is called every few seconds
                    _LOG.error("prior not read", extra={"reason": str(error)})
                self._lost.add(version.digest)
                continue
            self._lost.discard(version.digest)
            self._known[version.digest] = known
            found.append(known)
        return found

    def digests(self, zone: Zone, entities: Iterable[RegisteredEntity]) -> dict[str, str]:
        """Digest of the prior of each entity of a zone that can start from one."""
        priors = self.all()
        chosen = {each.id: choose_prior(priors, zone, each).prior for each in entities}
        return {name: each.version.digest for name, each in chosen.items() if each is not None}


class PriorChoice(NamedTuple):
    """The prior that an entity can start from, or why there is none."""

    prior: StoredPrior | None
    reason: str = ""


def choose_prior(
    priors: Sequence[StoredPrior], zone: Zone, entity: RegisteredEntity
) -> PriorChoice:
    """The prior for an entity of a zone.

    Of those that know its kind and need no weather variable that the zone does not have: the one
    that sees most variables, then the one of most entities, then the newest.
    """
    if entity.capacity is None or not entity.capacity > 0:
        return PriorChoice(None, "its capacity is not known")
    described = describe(entity)
    fitting, reasons = [], []
    for each in priors:
        kind = each.prior.find(str(described.kind), described.subtype)
        missing = each.prior.missing(zone.variables)
        if kind is not None and not missing:
            fitting.append((each, kind))
        else:
            reasons.append(_reason(each, kind, missing))
    if not fitting:
        return PriorChoice(None, "; ".join(reasons[:3]))
    return PriorChoice(_best(fitting))


def _best(fitting: Iterable[tuple[StoredPrior, KindPrior]]) -> StoredPrior:
    best, _ = max(
        fitting, key=lambda pair: (len(pair[0].prior.weather), pair[1].entities, pair[0][0].number)
    )
    return best


def _reason(each: StoredPrior, kind: KindPrior | None, missing: Sequence[str]) -> str:
    if kind is None:
        return f"prior {each.version.number} knows only {', '.join(each.prior.kinds)}"
    return f"prior {each.version.number} needs the weather variables {', '.join(missing)}"
