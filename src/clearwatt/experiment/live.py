"""Live forecasts: what the model deployed at the time said, with measurements that come late."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from clearwatt.arrays import Float32Array
from clearwatt.clear.component import Model
from clearwatt.clear.loop import Deployment, reconstructor
from clearwatt.errors import require_whole
from clearwatt.experiment.protocol import Rows
from clearwatt.training.networks import Params

DAY = 96
"""Quarter hours: the default delay of a measurement."""


class Serving(NamedTuple):
    """Weights in service from the row ``start`` on, of which the samples before ``known`` tell."""

    start: int
    known: int
    encoder: Params
    head: Params


def served_from(row: int, delay: int, at: Rows | None = None) -> int:
    """The first row that is forecast when the measurement of a row is known.

    Args:
        row: of the measurement.
        delay: steps until it is known.
        at: step of each row on the clock; by default every step is a row.
    """
    return row + delay if at is None else int(np.searchsorted(at, at[row] + delay))


def servings(
    *,
    autoencoder: Model,
    predictor: Model,
    deployments: Sequence[Deployment],
    delay: int = DAY,
    at: Rows | None = None,
) -> Iterator[Serving]:
    """The models in service one after the other, those of the warm-up first.

    A forecast for step t is made when measurements up to t - delay have arrived, so a model that
    the measurement of step s updated serves from s + delay on.

    Args:
        autoencoder: The warm-up's.
        predictor: The warm-up's, of one entity.
        deployments: The updates of this entity's components during the stream.
        delay: Steps until a measurement is known; at least 1, because a model that has seen the
            measurement of a step does not forecast it.
        at: Step of each row of the stream on the clock; by default every step is a row.
    """
    require_whole(delay=delay)
    encoder, head = autoencoder.params, predictor.params
    yield Serving(0, 0, encoder, head)
    for event, params in deployments:
        if event.component == "autoencoder":
            encoder = params
        else:
            head = params
        if event.accepted:  # its step counts the sample that fired
            yield Serving(served_from(event.step - 1, delay, at), event.step, encoder, head)


def live_forecasts(
    x: Float32Array,
    *,
    autoencoder: Model,
    predictor: Model,
    deployments: Sequence[Deployment],
    delay: int = DAY,
    at: Rows | None = None,
) -> Float32Array:
    """Forecasts (n) for the stream's inputs (n x d), each by the model in service when it was made.

    The arguments are those of `servings`.
    """
    forecasts = np.empty(len(x), np.float32)
    each = list(
        servings(
            autoencoder=autoencoder,
            predictor=predictor,
            deployments=deployments,
            delay=delay,
            at=at,
        )
    )
    ends = [*(serving.start for serving in each[1:]), len(x)]
    for serving, end in zip(each, ends, strict=True):
        piece = slice(serving.start, min(end, len(x)))
        if piece.stop > piece.start:
            forecasts[piece] = said_by(serving, x[piece], autoencoder, predictor)
    return forecasts


def said_by(
    serving: Serving, x: Float32Array, autoencoder: Model, predictor: Model
) -> Float32Array:
    """What these weights say (n) of inputs (n x d)."""
    network = reconstructor(autoencoder.network)
    with torch.inference_mode():
        rows = torch.from_numpy(x)[None]
        output = predictor.network.forward(serving.head, network.encode(serving.encoder, rows))
    forecasts: Float32Array = output[0, :, 0].numpy()
    return forecasts
