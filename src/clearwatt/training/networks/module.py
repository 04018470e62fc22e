"""A user's own torch module in the place of a built-in network, stacked by `torch.func`."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from clearwatt.errors import ConfigurationError, require_whole
from clearwatt.packing import tensors_below
from clearwatt.training.networks.base import Differentiator, Network, Params, Reconstructor

Factory = Callable[[], nn.Module]
FISHER_ROWS = 256
"""Per-sample gradients held at once: this many times the size of the module."""


class ModuleNetwork(Network):
    """A network made of torch modules, differentiated by autograd."""

    def differentiator(self, params: Params, out: Params, *, batch: int) -> Differentiator:
        """A function that writes gradients into `out`; see `Network.differentiator`."""
        return partial(differentiate, self, params, out)

    def fisher(
        self, params: Params, x: Tensor, target: Tensor, noise: Tensor | None = None
    ) -> Params:
        """Mean over samples of squared per-sample gradients of the loss, exact."""
        return fisher(self, params, x, target)


class SingleModule(ModuleNetwork):
    """Abstract: one module that maps `b x d` to `b x o`."""

    @abstractmethod
    def build(self, seed: int) -> nn.Module:
        """A fresh module with the weights of a seed."""

    @cached_property
    def skeleton(self) -> nn.Module:
        """The module without storage: only its structure is used."""
        return self.build(0).to("meta")

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Build the module once per seed."""
        return stack_members([self.build(seed) for seed in seeds])

    def forward(self, params: Params, x: Tensor) -> Tensor:
        """Map `m x b x d` (or `1 x b x d`, shared) to `m x b x o`."""
        return call(self.skeleton, params, x)


class ModulePair(ModuleNetwork, Reconstructor):
    """Abstract: an encoder `b x d -> b x z` and a decoder `b x z -> b x d`."""

    @abstractmethod
    def build(self, seed: int) -> nn.ModuleDict:
        """A fresh "encoder" and "decoder" with the weights of a seed."""

    @cached_property
    def skeleton(self) -> nn.ModuleDict:
        """Both modules without storage: only their structure is used."""
        return self.build(0).to("meta")

    def initialise(self, seeds: Sequence[int]) -> Params:
        """Build the modules once per seed."""
        return stack_members([self.build(seed) for seed in seeds])

    def encode(self, params: Params, x: Tensor) -> Tensor:
        """Map inputs `m x b x d` to representations `m x b x z`."""
        return call(self.skeleton["encoder"], tensors_below(params, "encoder."), x)

    def decode(self, params: Params, z: Tensor) -> Tensor:
        """Map representations `m x b x z` to inputs `m x b x d`."""
        return call(self.skeleton["decoder"], tensors_below(params, "decoder."), z)


@dataclass(frozen=True)
class ModulePredictor(SingleModule):
    """A module that maps `b x d` to `b x o`, made by `factory` with its own initialisation.

    The module must be a function of its parameters and its input only. Batch statistics and
    dropout are refused.

    Args:
        factory: Called without arguments; returns a fresh module. Use the same function object
            for all models that are to be stacked.
        inputs: Width of the representation.
        outputs: Values predicted per sample.
    """

    factory: Factory
    inputs: int
    outputs: int = 1

    def __post_init__(self) -> None:
        require_whole(inputs=self.inputs, outputs=self.outputs)
        check_shape(self.skeleton, self.inputs, self.outputs)

    def build(self, seed: int) -> nn.Module:
        """Call the factory with torch's random state set to the seed."""
        with seeded(seed):
            return require_pure(self.factory())


@dataclass(frozen=True)
class ModuleAutoencoder(ModulePair):
    """An encoder `b x d -> b x z` and a decoder `b x z -> b x d`, each made by its factory.

    Args:
        encoder: Called without arguments; returns a fresh encoder.
        decoder: Called without arguments; returns a fresh decoder.
        inputs: Number of input features.
        latent: Width of the representation.
    """

    encoder: Factory
    decoder: Factory
    inputs: int
    latent: int

    def __post_init__(self) -> None:
        require_whole(inputs=self.inputs, latent=self.latent)
        check_shape(self.skeleton["encoder"], self.inputs, self.latent)
        check_shape(self.skeleton["decoder"], self.latent, self.inputs)

    def build(self, seed: int) -> nn.ModuleDict:
        """Call the factories, one after the other, with torch's random state set to the seed."""
        with seeded(seed):
            parts = {"encoder": self.encoder(), "decoder": self.decoder()}
        return nn.ModuleDict({name: require_pure(part) for name, part in parts.items()})


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Set torch's global random state to `seed` in the with-block, then restore it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def stack_members(modules: Sequence[nn.Module]) -> Params:
    """Parameters of equal modules behind one leading axis, `m x ...`."""
    states = [dict(module.named_parameters()) for module in modules]
    return {name: torch.stack([state[name].detach() for state in states]) for name in states[0]}


def call(skeleton: nn.Module, params: Params, x: Tensor) -> Tensor:
    """Run `m` copies of a module on `m x b x d`, or on `1 x b x d`, shared by all."""
    shared = x.shape[0] == 1
    one = vmap(lambda p, rows: functional_call(skeleton, p, (rows,)), (0, None if shared else 0))
    result: Tensor = one(params, x[0] if shared else x)
    return result


def differentiate(
    network: Network,
    params: Params,
    out: Params,
    x: Tensor,
    target: Tensor,
    *,
    coefficients: Tensor,
    noise: Tensor | None = None,
) -> Tensor:
    """Gradient of `sum(coefficients * losses)` by autograd, written into `out`."""
    leaves = {name: tensor.detach().requires_grad_() for name, tensor in params.items()}
    with torch.enable_grad():
        losses = network.losses(leaves, x, target, noise)
        found = torch.autograd.grad((coefficients * losses).sum(), list(leaves.values()))
    for name, gradient in zip(leaves, found, strict=True):
        out[name].copy_(gradient)
    return losses.detach()


def fisher(network: Network, params: Params, x: Tensor, target: Tensor) -> Params:
    """Mean of squared per-sample gradients by `vmap(grad)`, a bounded number of rows at a time."""

    def loss(member: Params, row: Tensor, wanted: Tensor) -> Tensor:
        single = {name: tensor[None] for name, tensor in member.items()}
        return network.losses(single, row[None, None], wanted[None, None]).sum()

    per_sample = vmap(vmap(grad(loss), (None, 0, 0)))
    total = {name: torch.zeros_like(tensor) for name, tensor in params.items()}
    for rows, wanted in zip(
        torch.split(x, FISHER_ROWS, 1), torch.split(target, FISHER_ROWS, 1), strict=True
    ):
        for name, gradient in per_sample(params, rows, wanted).items():
            total[name] += gradient.square().sum(dim=1)
    return {name: tensor.div_(x.shape[1]) for name, tensor in total.items()}


def check_shape(skeleton: nn.Module, inputs: int, outputs: int) -> None:
    """Refuse a module that does not map `b x inputs` to `b x outputs`."""
    try:
        shape = tuple(skeleton(torch.empty(2, inputs, device="meta")).shape)
    except RuntimeError as error:
        message = f"{type(skeleton).__name__} does not accept b x {inputs} inputs: {error}"
        raise ConfigurationError(message) from error
    if shape != (2, outputs):
        raise ConfigurationError(
            f"{type(skeleton).__name__} maps 2 x {inputs} to {' x '.join(map(str, shape))}; "
            f"it must give 2 x {outputs}"
        )


def require_pure(module: object) -> nn.Module:
    """The module; refuse what is none, and one with state besides its parameters."""
    name = type(module).__name__
    if not isinstance(module, nn.Module):
        raise ConfigurationError(f"a factory returned {module!r}; let it return a torch.nn.Module")
    if any(True for _ in module.buffers()):
        raise ConfigurationError(
            f"{name} has buffers, as batch normalisation does; models in a stack are functions of "
            "their parameters alone. Use torch.nn.LayerNorm, or make a constant in forward"
        )
    if any(isinstance(part, nn.modules.dropout._DropoutNd) for part in module.modules()):
        raise ConfigurationError(
            f"{name} uses dropout, which is not a function of its parameters and the member's "
            "seed. Remove it; Training(weight_decay=...) regularises instead"
        )
    return module
