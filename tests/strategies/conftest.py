"""An update of a small predictor, as an approach sees it."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from clearwatt.memory import Policy
from clearwatt.strategies import Batch, Past, State, Update
from clearwatt.training.networks import Predictor

NETWORK = Predictor(inputs=3, width=5, layers=2)
CAPACITY = 8


class ListedPast(Past):
    """Hands out the first samples of a list and notes how it was asked."""

    def __init__(self, data: Batch) -> None:
        self.data = data
        self.asked: list[tuple[Policy, int]] = []

    def replay(self, policy: Policy, budget: int) -> Batch:
        self.asked.append((policy, budget))
        return self.data.at(torch.arange(min(budget, self.data.size)))

    def count(self) -> int:
        return self.data.size

    def everything(self) -> Batch:
        return self.data


def batch(size: int, seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randn(size, 3, generator=generator), torch.randn(size, 1, generator=generator)
    )


@pytest.fixture
def update() -> Callable[..., Update]:
    def make(
        *, novel: int = CAPACITY, familiar: int = 20, past: int = 30, state: State | None = None
    ) -> Update:
        return Update(
            component="predictor",
            network=NETWORK,
            params=NETWORK.initialise([0]),
            state=state or {},
            novelty=batch(novel, 1),
            familiarity=batch(familiar, 2),
            past=ListedPast(batch(past, 3)),
            capacity=CAPACITY,
            rng=np.random.default_rng(0),
        )

    return make
