"""Live forecasts: what the model deployed at the time said, with measurements that come late."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from clearwatt.component import Model
from clearwatt.errors import require_whole
from clearwatt.loop import Deployment, reconstructor

DAY = 96
"""Quarter hours: the default delay of a measurement."""


def live_forecasts(
    x: npt.NDArray[np.float32],
    *,
    autoencoder: Model,
    predictor: Model,
    deployments: Sequence[Deployment],
    delay: int = DAY,
) -> npt.NDArray[np.float32]:
    """Forecasts (n) for the stream's inputs (n x d), each by the model in service when it was made.

    A forecast for step t is made when measurements up to t - delay have arrived, so a model that
    the measurement of step s updated serves from s + delay on.

    Args:
        x: Inputs of the stream since the warm-up.
        autoencoder: The warm-up's.
        predictor: The warm-up's, of one entity.
        deployments: The updates of this entity's components during the stream.
        delay: Steps until a measurement is known; at least 1, because a model that has seen the
            measurement of a step does not forecast it.
    """
    require_whole(delay=delay)
    forecasts = np.empty(len(x), np.float32)
    start, encoder, head = 0, autoencoder.params, predictor.params
    network = reconstructor(autoencoder.network)
    for end, deployment in [*_starts(deployments, delay), (len(x), None)]:
        stop = min(end, len(x))
        if stop > start:
            with torch.inference_mode():
                rows = torch.from_numpy(x[start:stop])[None]
                output = predictor.network.forward(head, network.encode(encoder, rows))
            forecasts[start:stop] = output[0, :, 0].numpy()
            start = stop
        if deployment is not None and deployment.event.component == "autoencoder":
            encoder = deployment.params
        elif deployment is not None:
            head = deployment.params
    return forecasts


def _starts(deployments: Sequence[Deployment], delay: int) -> list[tuple[int, Deployment]]:
    """The step from which each model serves; its event's step counts the sample that fired."""
    return [(each.event.step - 1 + delay, each) for each in deployments]
