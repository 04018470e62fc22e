"""The autoencoder in the paper's shape."""

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from clearwatt.networks.base import Params, Reconstructor, require_positive
from clearwatt.networks.dense import Chain, DenseNetwork, Sink, weigh_errors


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
        require_positive(
            inputs=self.inputs, width=self.width, layers=self.layers, latent=self.latent
        )

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

    def differentiate(
        self,
        params: Params,
        x: Tensor,
        target: Tensor,
        *,
        noise: Tensor | None,
        coefficients: Tensor,
        sink: Sink,
    ) -> Tensor:
        """Send `coefficients * losses` down into the sink; return the losses, `m x b`."""
        encoding = self.encoder.trace(params, x, scratch=sink.scratch)
        decoding = self.decoder.trace(params, encoding[-1], scratch=sink.scratch)
        losses, delta = weigh_errors(
            decoding[-1], target, coefficients, outputs=self.inputs, scratch=sink.scratch
        )
        delta = self.decoder.backward(params, decoding, delta, sink=sink)
        delta = self.decoder.to_input(params, delta, sink=sink)
        self.encoder.backward(params, encoding, delta, sink=sink)
        return losses
