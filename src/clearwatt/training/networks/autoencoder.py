"""The autoencoder in the paper's shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from clearwatt.errors import require_whole
from clearwatt.training.networks.backward import Pass, weigh_errors
from clearwatt.training.networks.base import Params, Reconstructor
from clearwatt.training.networks.chain import Chain
from clearwatt.training.networks.dense import DenseNetwork, WeightedBatch


def hidden_widths(width: int, layers: int) -> tuple[int, ...]:
    """First hidden width, then each next 70 % of the one before, rounded half up."""
    widths = [width]
    while len(widths) < layers:
        widths.append(max(1, (7 * widths[-1] + 5) // 10))
    return tuple(widths)


@dataclass(frozen=True)
class Autoencoder(DenseNetwork, Reconstructor):
    """Encoder of shrinking widths, linear representation, mirrored decoder.

    Args:
        inputs: Number of input features.
        width: Neurons of the first hidden layer; each next has 70 % of the one before.
        layers: Hidden layers of the encoder.
        latent: Width of the representation.
    """

    inputs: int
    width: int = 64
    layers: int = 3
    latent: int = 12

    def __post_init__(self) -> None:
        require_whole(inputs=self.inputs, width=self.width, layers=self.layers, latent=self.latent)

    @cached_property
    def encoder(self) -> Chain:
        """Layers from the inputs to the representation."""
        hidden = hidden_widths(self.width, self.layers)
        return Chain("encoder", (self.inputs, *hidden, self.latent), align_first=True)

    @cached_property
    def decoder(self) -> Chain:
        """The encoder's widths in reverse."""
        return Chain("decoder", self.encoder.widths[::-1], align_last=True)

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Encoder, then decoder."""
        return (self.encoder, self.decoder)

    def encode(self, params: Params, x: Tensor) -> Tensor:
        """Map inputs `m x b x d` to representations `m x b x z`."""
        return self.encoder.forward(params, x)

    def decode(self, params: Params, z: Tensor) -> Tensor:
        """Map representations `m x b x z` to inputs `m x b x d`."""
        return self.decoder.forward(params, z)

    def differentiate(self, passes: Sequence[Pass], batch: WeightedBatch) -> Tensor:
        """Send `coefficients * losses` back through the passes; return the losses, `m x b`."""
        encoder, decoder = passes
        output = decoder.forward(encoder.forward(batch.x))
        losses, delta = weigh_errors(output, batch.target, batch.coefficients, outputs=self.inputs)
        decoder.backward(delta)
        encoder.backward(decoder.input_delta())
        return losses
