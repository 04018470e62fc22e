"""The widths of an autoencoder's layers."""

from clearwatt.training.networks import (
    Autoencoder,
    Predictor,
    VariationalAutoencoder,
)


def test_shape_rule_of_the_paper():
    network = Autoencoder(inputs=23, width=64, layers=4, latent=12)
    assert network.encoder.widths == (23, 64, 45, 32, 22, 12)
    assert network.decoder.widths == (12, 22, 32, 45, 64, 23)
    variational = VariationalAutoencoder(inputs=23, width=64, layers=4, latent=12)
    assert variational.encoder.widths == (23, 64, 45, 32, 22, 24)
    assert variational.decoder.widths == network.decoder.widths
    assert Predictor(inputs=12, width=128, layers=4).chain.widths == (12, 128, 128, 128, 128, 1)
