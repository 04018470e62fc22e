"""Bring your own predictor: residual blocks, trained in the fleet beside the built-in one.

    python examples/residual_predictor.py

Any `torch.nn.Module` that maps `b x d` to `b x o` and is a function of its parameters and its
input alone can take a built-in network's place. Here four models of each kind, with different
seeds, learn the power curve of a wind turbine from a representation of the weather.
"""

import math

import torch
from torch import Tensor, nn

from clearwatt.training.fleet import Job, Trained, Training, train
from clearwatt.training.networks import ModulePredictor, Network, Predictor

LATENT = 6
SEEDS = range(4)


class ResidualBlock(nn.Module):
    """Adds a correction to what comes in, so that depth does not have to relearn it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.correct = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Map `b x width` to `b x width`."""
        corrected: Tensor = x + self.correct(self.norm(x))
        return corrected


def residual_predictor() -> nn.Module:
    """A fresh module; the fleet calls this once per member, with the member's seed set."""
    return nn.Sequential(
        nn.Linear(LATENT, 32), ResidualBlock(32), ResidualBlock(32), nn.Linear(32, 1)
    )


def power_curve(n: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Representations `n x d`, of which two carry the wind, and the power `n x 1` they lead to."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.rand(n, LATENT, generator=generator)
    wind = 18 * (0.7 * z[:, :1] + 0.3 * z[:, 1:2])
    power = torch.sigmoid(1.1 * (wind - 9))
    return z, power + 0.02 * torch.randn(n, 1, generator=generator)


def train_members(network: Network) -> list[Trained]:
    """Four members of one stack, each with its own seed."""
    (inputs, targets), validation = power_curve(600, seed=0), power_curve(300, seed=1)
    training = Training(epochs=25, patience=10, learning_rate=3e-3)
    return train(
        [
            Job(
                network,
                network.initialise([seed]),
                inputs,
                targets,
                training,
                seed,
                validation=validation,
            )
            for seed in SEEDS
        ]
    )


def main() -> None:
    print(f"{'predictor':<12}{'RMSE of each member':<36}{'seconds':>8}")
    networks: dict[str, Network] = {
        "residual": ModulePredictor(residual_predictor, inputs=LATENT),
        "built-in": Predictor(inputs=LATENT, width=32, layers=3),
    }
    for name, network in networks.items():
        results = train_members(network)
        errors = "  ".join(f"{member.validation_rmse or math.nan:.4f}" for member in results)
        print(f"{name:<12}{errors:<36}{sum(member.seconds for member in results):8.2f}")


if __name__ == "__main__":
    main()
