"""State of an adaptive forecaster: one immutable value, and the form in which it is saved."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from clearwatt.adaptive.change_watch import ChangeWatch
from clearwatt.adaptive.corrections import Corrections
from clearwatt.adaptive.ensemble import Ensemble, NetworkVersion
from clearwatt.adaptive.experts import Experts
from clearwatt.adaptive.fast_part import FastPart
from clearwatt.adaptive.first_step import FirstStep
from clearwatt.adaptive.frame import Frame
from clearwatt.adaptive.lead_corrections import LEAD_TERMS, LeadCoefficients, LeadCorrections
from clearwatt.adaptive.novelty import InputModel
from clearwatt.adaptive.power_range import PowerRange
from clearwatt.adaptive.recent import RecentRows
from clearwatt.adaptive.reservoir import Reservoir
from clearwatt.adaptive.settings import LeadSettings
from clearwatt.adaptive.trust import Trust
from clearwatt.adaptive.unlearned import UnlearnedForecasts
from clearwatt.adaptive.update_counts import UpdateCounts
from clearwatt.arrays import Float64Array
from clearwatt.clock import Clock
from clearwatt.forecaster import Name
from clearwatt.packing import Packed, Tensors, Values, pack, tensors_below, unpack, with_prefix
from clearwatt.training.standardisation import Standardisation


class LearnerState(NamedTuple):
    """Everything that an adaptive forecaster has learned and holds, immutable.

    Args:
        frame: The part that learning never changes.
        names: Names of the entities, `e`.
        power: Scale of each entity's power.
        recent: Rows of the last days.
        unlearned: Forecasts of rows whose measurements are not learned yet.
        reservoir: Sample of the rows before.
        corrections: Sums of the corrections.
        trust: Sums and weights of the experts.
        leads: Sums of the corrections by lead.
        limits: Range of each entity's power.
        jumps: Distance from the mixture by which each entity has jumped; NaN: no jump, `e`.
        inputs: Detects novel inputs.
        progress: Counts since the last updates.
        boundary: Corrections and trust have learned from what was measured before this step.
        newest: Newest step learned from.
        watch: Since when each entity is examined for changes, or stands still.
        past: Experts that were in force, oldest first: back to those that forecast the row
            whose measurement arrives next.
        candidates: Versions that wait for approval.
        earlier: The fast part before readings that may turn out to be a change; None: none yet.
        first_steps: Of entities that joined without history and are new still.
    """

    frame: Frame
    names: tuple[Name, ...]
    power: Standardisation
    recent: RecentRows
    unlearned: UnlearnedForecasts
    reservoir: Reservoir
    corrections: Corrections
    trust: Trust
    leads: LeadCorrections
    limits: PowerRange
    jumps: Float64Array
    inputs: InputModel
    progress: UpdateCounts
    boundary: int
    newest: int
    watch: ChangeWatch
    past: tuple[Experts, ...] = ()
    candidates: tuple[NetworkVersion, ...] = ()
    earlier: FastPart | None = None
    first_steps: tuple[FirstStep, ...] = ()

    @property
    def ensemble(self) -> Ensemble:
        """The networks in service."""
        return self.past[-1].ensemble

    @property
    def known(self) -> int:
        """Last step with a row."""
        return int(self.recent.at[-1]) if self.recent.size else self.newest


class SavedExperts(NamedTuple):
    """Experts with the numbers of their networks in place of these."""

    since: int
    numbers: tuple[int, ...]
    coefficients: Float64Array
    weights: Float64Array
    limits: PowerRange
    leads: LeadCoefficients | None = None


class SavedPast(NamedTuple):
    """Past experts; networks that several of them share are saved once."""

    networks: tuple[NetworkVersion, ...]
    experts: tuple[SavedExperts, ...]


def pack_state(state: LearnerState) -> Packed:
    """A state as plain values and tensors."""
    versions = {
        (version.entity, version.number): version
        for experts in state.past
        for version in experts.ensemble.versions
    }
    past = SavedPast(tuple(versions.values()), tuple(map(_saved_experts, state.past)))
    parts = {"state": pack(state._replace(past=())), "past": pack(past)}
    values = {name: packed.values for name, packed in parts.items()}
    if not state.first_steps:  # nodes of an earlier release do not know them
        del values["state"]["first_steps"]
    tensors = [with_prefix(f"{name}.", packed.tensors) for name, packed in parts.items()]
    return Packed(values, tensors[0] | tensors[1])


def unpack_state(packed: Packed) -> LearnerState:
    """Back from `pack_state`."""
    values, tensors = packed
    state_tensors = tensors_below(tensors, "state.")
    plain = _with_watch(_with_leads(values["state"], state_tensors), state_tensors)
    state = unpack(LearnerState, plain, state_tensors)
    past = unpack(SavedPast, values["past"], tensors_below(tensors, "past."))
    versions = {(version.entity, version.number): version for version in past.networks}
    ensembles: dict[tuple[int, ...], Ensemble] = {}
    for saved in past.experts:
        if saved.numbers not in ensembles:
            keys = zip(state.names, saved.numbers, strict=True)
            own = tuple(versions[key] for key in keys)
            ensembles[saved.numbers] = Ensemble(state.frame.architecture, own)
    return state._replace(
        past=tuple(
            Experts(
                each.since,
                ensembles[each.numbers],
                each.coefficients,
                each.weights,
                each.limits,
                _current(each.leads),
            )
            for each in past.experts
        ),
    )


def _current(leads: LeadCoefficients | None) -> LeadCoefficients | None:
    """Coefficients of today's terms; None for those of an earlier release."""
    return leads if leads is not None and leads.is_current else None


def _with_leads(values: Values, tensors: Tensors) -> Values:
    """Saved values with corrections by lead, which begin anew after an earlier release.

    Its corrections had fewer terms, or there were none.
    """
    products = tensors.get("leads.regressions.products")
    if products is not None and products.shape[-1] == LEAD_TERMS:
        return values
    clock = unpack(Clock, values["frame"]["schedule"]["clock"], {})
    leads = LeadCorrections.empty(LeadSettings(), clock=clock, entities=len(values["names"]))
    kept = {name: each for name, each in values.items() if name != "earlier"}
    return kept | {"leads": leads}


def _with_watch(values: Values, tensors: Tensors) -> Values:
    """Saved values with a watch for changes, which begins anew after an earlier release."""
    if "watch.logs" in tensors:
        return values
    watch = ChangeWatch.begin(len(values["names"]))
    if "watch.standing" in tensors:  # there was one, without the days by weekday
        kept = tensors_below(tensors, "watch.")
        watch = replace(watch, **{name: each.numpy() for name, each in kept.items()})
    return values | {"watch": watch}


def _saved_experts(experts: Experts) -> SavedExperts:
    return SavedExperts(
        experts.since,
        tuple(version.number for version in experts.ensemble.versions),
        experts.coefficients,
        experts.weights,
        experts.limits,
        experts.leads,
    )
