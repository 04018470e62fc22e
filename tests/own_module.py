"""A user's own module with strategies and networks, written where a command is started."""

from pathlib import Path

SOURCE = '''
from dataclasses import dataclass

import torch

from clearwatt.strategies import FineTune, Objective, Strategy
from clearwatt.strategies.base import replay_objective


@dataclass(frozen=True)
class Mixed(Strategy):
    """Novelty, and familiarity with a weight."""

    replay_weight: float = 1.0
    share: float = 0.5

    def objective(self, update):
        count = int(self.share * min(update.novelty.size, update.familiarity.size))
        chosen = torch.from_numpy(update.rng.permutation(update.familiarity.size)[:count])
        return replay_objective(update.novelty, update.familiarity.at(chosen), self.replay_weight)


small_share = Mixed(share=0.1)


@dataclass(frozen=True)
class Needy(FineTune):
    how: float


class Unfinished(Strategy):
    pass


def shallow(inputs):
    return torch.nn.Sequential(torch.nn.Linear(inputs, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


def two_wide(inputs):
    return torch.nn.Linear(inputs, 2)


def pair(inputs):
    return torch.nn.Linear(inputs, 3), torch.nn.Linear(3, inputs)


number = 5
'''


def write_module(folder: Path, name: str) -> None:
    """Write the module; each test needs a name of its own, because Python imports a name once."""
    (folder / f"{name}.py").write_text(SOURCE)


def enter_module(folder, monkeypatch, request):
    """Work in a folder with a module of a test's own; its name."""
    name = f"own_{abs(hash(request.node.nodeid)):x}"
    write_module(folder, name)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    return name
