"""Estimated cost of later stages, before the networks they use have been chosen."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

from clearwatt.experiment.models import weight_count
from clearwatt.experiment.plan import adaptive_tasks, places_of, roles
from clearwatt.experiment.tasks import Context, NetworkRole, predictors_cost, stack_cost
from clearwatt.experiment.updating import updating_cost
from clearwatt.training.networks import Network

CostStage = Literal["autoencoders", "predictors", "updating", "baselines"]


def estimate_costs(context: Context) -> Mapping[CostStage, float]:
    """Multiply-adds of the stages whose tasks are not known at the start; a rough estimate.

    A network that is not chosen yet is taken to have the mean size of its candidates.
    """
    experiment = context.experiment
    encoder, head = _mean_encoder(context), _mean_head(context)
    candidates = len(_heads(context)) // len(_latents(context))
    search = sum(candidates * _all_heads(context, role, head) for role in roles(experiment))
    seen = [context.samples(zone, "everything") for zone in range(len(context.zones))]
    upper = stack_cost(encoder, seen, experiment.baseline_autoencoder)
    updating = sum(
        updating_cost(context, configuration, encoder=encoder, heads=[head] * len(zone.entities))
        for configuration in experiment.grid_configurations
        for zone in context.zones
    )
    updating += sum(task.cost(context) for task in adaptive_tasks(context))
    return {
        "predictors": search + upper,
        "updating": updating + _all_heads(context, "everything", head),
    }


def _all_heads(context: Context, role: NetworkRole, head: int) -> float:
    counts = [context.samples(place.zone, role) for place in places_of(context)]
    return predictors_cost(head, counts, context.training(role))


def _mean_encoder(context: Context) -> int:
    networks = context.experiment.networks
    inputs = context.zones[0].inputs
    return round(
        fmean(weight_count(each) for each in networks.representations(inputs, variational=False))
    )


def _mean_head(context: Context) -> int:
    return round(fmean(weight_count(each) for each in _heads(context)))


def _heads(context: Context) -> list[Network]:
    """Candidates for predictors, on every width of the representation."""
    networks = context.experiment.networks
    return [head for latent in _latents(context) for head in networks.predictors(latent)]


def _latents(context: Context) -> tuple[int, ...]:
    return context.experiment.networks.latent_candidates(context.zones[0].inputs)
