"""Creation and lookup of the components of an instance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clearwatt.clear.component import Component, Model
from clearwatt.clear.loop import reconstructor
from clearwatt.clear.settings import ClearSettings
from clearwatt.errors import ConfigurationError
from clearwatt.forecaster import Name
from clearwatt.strategies import ComponentName
from clearwatt.training.networks import JointNetwork


def make_component(
    name: ComponentName,
    settings: ClearSettings,
    model: Model,
    *,
    width: int,
    index: int,
    entity: Name | None,
) -> Component:
    """The autoencoder or the predictor of the entity with this index, for `width` inputs.

    `entity` is None for an autoencoder that all entities share. A sample of a predictor has the
    measurement besides the inputs.
    """
    predicts = int(name == "predictor")
    return Component(
        name,
        model,
        settings=settings,
        rng=np.random.default_rng([settings.seed, predicts, index]),
        sample_width=width + predicts,
        entity=entity,
    )


def make_components(
    settings: ClearSettings,
    width: int,
    *,
    autoencoder: Model,
    predictors: Sequence[Model],
    names: Sequence[Name],
) -> tuple[list[Component], list[Component]]:
    """The autoencoders (one, or one per entity) and the predictors of an instance."""
    require_unique(names)
    if settings.strategy.trains_jointly:
        for each in predictors:
            JointNetwork.of(autoencoder.network, each.network)  # refuses what cannot
    shared = not settings.strategy.synchronous
    encoders = [
        make_component(
            "autoencoder",
            settings,
            autoencoder,
            width=width,
            index=index,
            entity=None if shared else name,
        )
        for index, name in enumerate(names)
        if index == 0 or not shared
    ]
    heads = [
        make_component("predictor", settings, model, width=width, index=index, entity=name)
        for index, (name, model) in enumerate(zip(names, predictors, strict=True))
    ]
    return encoders, heads


def require_unique(names: Iterable[Name]) -> None:
    """Refuse a name that two entities share."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            raise ConfigurationError(f"entity {name!r} is there twice; give each a name of its own")
        seen.add(name)


def checked_autoencoder(
    settings: ClearSettings, like: Component, model: Model | None, name: Name
) -> Model | None:
    """The autoencoder of a new entity, checked; None if all entities share one."""
    if not settings.strategy.synchronous:
        return None
    if model is None or model.network != like.network:
        given = "no autoencoder" if model is None else f"the autoencoder {model.network}"
        raise ConfigurationError(
            f"{name} joins with {given}; with {type(settings.strategy).__name__} each entity has "
            f"its own, of the network {like.network}"
        )
    return model


def require_latents(model: Model, autoencoder: Model | Component, name: Name) -> None:
    """Refuse a predictor whose inputs are not the latents of the autoencoder."""
    latent, inputs = reconstructor(autoencoder.network).latent, model.network.inputs
    if inputs != latent:
        raise ConfigurationError(
            f"the predictor of {name} takes {inputs} inputs, the autoencoder gives {latent} "
            "latents; train it on the latents of this instance"
        )


def entity_indices(parts: Sequence[Component], names: Sequence[Name] | None) -> list[int]:
    """Indices of the named entities among the predictors; None: all."""
    if names is None:
        return list(range(len(parts)))
    known = {part.entity: place for place, part in enumerate(parts)}
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"there is no entity {name!r}; choose among {', '.join(map(str, known))}"
            )
    return [known[name] for name in names]
