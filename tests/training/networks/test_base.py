"""Weights of several networks in one stack."""

import torch

from clearwatt.training.networks import (
    Predictor,
    select,
    stack,
)


def test_select_undoes_stack():
    network = Predictor(inputs=4, width=9, layers=2)
    members = [network.initialise([seed]) for seed in (1, 2)]
    for position, member in enumerate(members):
        taken = select(stack(members), position)
        assert all(torch.equal(taken[name], tensor) for name, tensor in member.items())
