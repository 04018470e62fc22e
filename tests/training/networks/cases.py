"""A stack of networks with samples, for tests."""

import torch


def case(network, members=3, rows=20, seed=0):
    """Weights, inputs, targets and noise in float64."""
    generator = torch.Generator().manual_seed(seed)
    params = {n: t.double() for n, t in network.initialise(range(members)).items()}

    def draw(width):
        return torch.randn(members, rows, width, generator=generator, dtype=torch.float64)

    noise = draw(network.noise_width) if network.noise_width else None
    return params, draw(network.inputs), draw(network.outputs), noise
