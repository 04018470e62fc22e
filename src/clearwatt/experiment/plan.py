"""The tasks of an experiment, determined by data and configuration only.

They do not depend on the number of workers, and neither do the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import TypeVar

from clearwatt.clear.loop import reconstructor
from clearwatt.data import Dataset
from clearwatt.errors import DataError
from clearwatt.experiment.adaptive_trials import AdaptiveTask
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.grid import Configuration
from clearwatt.experiment.models import Place
from clearwatt.experiment.presets import PRESETS
from clearwatt.experiment.protocol import ZonePhases
from clearwatt.experiment.tasks import Context, NetworkRole, PredictorTask, RepresentationTask
from clearwatt.experiment.updating import UpdatingTask, role_of
from clearwatt.training.networks import Network, Reconstructor

STACK = 32
"""Most entities of a task with autoencoders of their own; trains fastest in one stack."""
STREAMS = 64
"""Approximate number of streams of a task; an interruption loses the tasks under way."""
SHARING = 96
"""Most entities of a task that share an autoencoder; each task computes its updates again."""
SHARED_STREAMS = 336
"""Most streams of a task whose configurations begin alike: equal updates train once."""

T = TypeVar("T")


def choose_entities(dataset: Dataset, experiment: Experiment) -> tuple[str, ...]:
    """The entities that take part; a number is taken from all kinds in turn.

    The number of a preset is an upper limit; another number must be available.
    """
    wanted = experiment.entities
    left_out = {dataset.entity(name).name for name in experiment.without}
    if isinstance(wanted, tuple):
        names = tuple(dataset.entity(name).name for name in wanted)
        return _require_some([name for name in names if name not in left_out])
    names = _require_some([name for name in dataset.names if name not in left_out])
    if wanted == "all":
        return names
    if wanted > len(names) and not _is_preset_number(experiment):
        raise DataError(
            f"{wanted} entities wanted, but {dataset.name!r} has {len(names)}; ask for fewer"
        )
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(dataset.entity(name).kind, []).append(name)
    taken = set(_interleave(kinds.values())[:wanted])
    return tuple(name for name in names if name in taken)


def _require_some(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise DataError("no entity is left; leave out fewer")
    return tuple(names)


def _is_preset_number(experiment: Experiment) -> bool:
    """Whether the number of entities is that of the preset the experiment is based on."""
    source = PRESETS.get(experiment.preset or "")
    return source is not None and source.entities == experiment.entities


def _interleave(groups: Iterable[Sequence[str]]) -> list[str]:
    """The first of each group, then the second of each, and so on."""
    pairs = [(place, name) for group in groups for place, name in enumerate(group)]
    return [name for _, name in sorted(pairs, key=lambda pair: pair[0])]


def roles(experiment: Experiment) -> tuple[NetworkRole, ...]:
    """The representations that are needed; the baselines always need the plain one."""
    synchronous = any(role_of(each) == "variational" for each in experiment.grid_configurations)
    return ("plain", "variational") if synchronous else ("plain",)


def representation_tasks(context: Context) -> list[RepresentationTask]:
    """Every candidate autoencoder of every zone."""
    return [
        RepresentationTask(role, networks, zones)
        for role in roles(context.experiment)
        for inputs, group in _zones_by_inputs(context.zones)
        for networks in _group_by_stack(
            context.experiment.networks.representations(inputs, variational=role == "variational")
        )
        for zones in chunks(group, max(1, STACK // len(networks)))
    ]


def predictor_tasks(context: Context) -> list[PredictorTask]:
    """Every candidate predictor of every entity, on the chosen representations."""
    return [
        PredictorTask(role, network, places)
        for role in roles(context.experiment)
        for latent, group in _places_by_latent(context, role)
        for network in context.experiment.networks.predictors(latent)
        for places in chunks(group, STACK)
    ]


def upper_representation_tasks(context: Context) -> list[RepresentationTask]:
    """The autoencoders of Baseline_U, in the shapes chosen by the warm-up."""
    shapes = [
        reconstructor(context.representations[zone, "plain"].network)
        for zone in range(len(context.zones))
    ]
    return [
        RepresentationTask("everything", (network,), zones)
        for network in dict.fromkeys(shapes)
        for zones in chunks([at for at, shape in enumerate(shapes) if shape == network], STACK)
    ]


def upper_predictor_tasks(context: Context) -> list[PredictorTask]:
    """The predictors of Baseline_U, in the shapes chosen by the warm-up."""
    shapes = {place: context.predictors[place, "plain"].network for place in places_of(context)}
    return [
        PredictorTask("everything", network, places)
        for network in dict.fromkeys(shapes.values())
        for places in chunks([place for place, own in shapes.items() if own == network], STACK)
    ]


def updating_tasks(context: Context) -> list[UpdatingTask]:
    """Every point of the grid on every entity; a task has those whose updates train stacked."""
    tasks = []
    configurations = sorted(
        context.experiment.grid_configurations, key=lambda each: each.approach.family
    )
    for _, group in groupby(configurations, key=lambda each: each.approach.family):
        members = list(group)
        # A synchronous one trains an autoencoder with each predictor, so a task has half as many.
        own = members[0].strategy.synchronous
        streams = STREAMS // 2 if own else STREAMS
        places = _places_by_shape(context, role_of(members[0]))
        for some in chunks(places, STACK) if own else _group_by_zone(places):
            for each in _keep_together(members, most=max(1, streams // len(some))):
                parts = chunks(some, max(1, SHARED_STREAMS // len(each)))
                tasks += [UpdatingTask(each, part) for part in parts]
    return tasks


def _keep_together(
    members: Sequence[Configuration], *, most: int
) -> list[tuple[Configuration, ...]]:
    """Configurations in parts of about ``most``; those that begin alike are in one part."""
    groups: dict[object, list[Configuration]] = {}
    for each in members:
        groups.setdefault(each.beginning, []).append(each)
    alike = list(groups.values())
    largest = max(len(group) for group in alike)
    parts = chunks(alike, max(1, most // largest))
    return [tuple(each for group in part for each in group) for part in parts]


def adaptive_tasks(context: Context) -> list[AdaptiveTask]:
    """The adaptive forecaster, if it takes part, on every entity; a task has those of a zone."""
    return [
        AdaptiveTask(configuration, zone, columns)
        for configuration in context.experiment.adaptive_configurations
        for zone, own in enumerate(context.zones)
        for columns in chunks(range(len(own.entities)), STACK)
    ]


def _group_by_zone(places: Sequence[Place]) -> list[tuple[Place, ...]]:
    """Groups of entities: a zone stays together up to SHARING, small zones share a group."""
    zones: dict[int, list[Place]] = {}
    for place in places:
        zones.setdefault(place.zone, []).append(place)
    parts = [part for own in zones.values() for part in chunks(own, SHARING)]
    groups: list[tuple[Place, ...]] = []
    for part in parts:
        if groups and len(groups[-1]) + len(part) <= STACK:
            groups[-1] += part
        else:
            groups.append(part)
    return groups


def _places_by_shape(context: Context, role: NetworkRole) -> list[Place]:
    """Entities, ordered by the shape of their networks."""

    def shapes(place: Place) -> tuple[str, str, Place]:
        encoder = context.representations[place.zone, role].network
        return repr(encoder), repr(context.predictors[place, role].network), place

    return sorted(places_of(context), key=shapes)


def places_of(context: Context) -> list[Place]:
    """Every entity, zone by zone."""
    return [
        Place(zone, column)
        for zone, own in enumerate(context.zones)
        for column in range(len(own.entities))
    ]


def _zones_by_inputs(zones: Sequence[ZonePhases]) -> list[tuple[int, list[int]]]:
    widths = dict.fromkeys(zone.inputs for zone in zones)
    return [(width, [at for at, z in enumerate(zones) if z.inputs == width]) for width in widths]


def _group_by_stack(networks: Sequence[Reconstructor]) -> list[tuple[Reconstructor, ...]]:
    """Candidates, grouped by the stack that they can train in."""
    groups: dict[Network, list[Reconstructor]] = {}
    for network in networks:
        groups.setdefault(network.stack_key, []).append(network)
    return [tuple(group) for group in groups.values()]


def _places_by_latent(context: Context, role: NetworkRole) -> list[tuple[int, list[Place]]]:
    groups: dict[int, list[Place]] = {}
    for place in places_of(context):
        network = reconstructor(context.representations[place.zone, role].network)
        groups.setdefault(network.latent, []).append(place)
    return list(groups.items())


def chunks(values: Sequence[T], most: int) -> list[tuple[T, ...]]:
    """The values in parts of at most `most` and of nearly equal length."""
    count = -(-len(values) // most)
    cuts = [len(values) * i // count for i in range(count + 1)]
    return [tuple(values[a:b]) for a, b in pairwise(cuts)]
