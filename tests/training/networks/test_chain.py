import pytest
import torch

from clearwatt.training.networks.chain import FEW, Chain


@pytest.mark.parametrize("hidden", [(), (6,)], ids=["no hidden layer", "one hidden layer"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_many_rows_give_what_few_give_if_the_first_layer_is_filled_up(hidden, outputs):
    chain = Chain("layer", (5, *hidden, outputs), align_first=True)
    params = chain.initialise(torch.Generator().manual_seed(0))
    x = torch.randn(1, FEW + 50, 5, generator=torch.Generator().manual_seed(1))
    pieces = [chain.forward(params, piece) for piece in x.split(FEW - 1, dim=1)]
    torch.testing.assert_close(chain.forward(params, x), torch.cat(pieces, dim=1))
