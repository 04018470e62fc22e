"""The built-in predictor."""

from itertools import pairwise

import torch
from torch import nn

from clearwatt.training.networks import (
    Predictor,
)


def sequential(*widths):
    layers = []
    for pair in pairwise(widths):
        layers += [nn.Linear(*pair), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def test_initialisation_is_pytorchs_own():
    torch.manual_seed(5)
    module = sequential(4, 9, 9, 1)
    network = Predictor(inputs=4, width=9, layers=2)
    x = torch.randn(6, 4)
    torch.testing.assert_close(network.forward(network.initialise([5]), x[None])[0], module(x))
