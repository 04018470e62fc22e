"""Samples of all members in one place."""

import torch

from clearwatt.training.fleet.pool import SamplePool


def test_each_member_gets_its_own_rows():
    tensors = [torch.arange(n * 2.0).view(n, 2) + 100 * n for n in (3, 5)]
    pool = SamplePool(tensors, lambda tensor: tensor)
    order = torch.tensor([[2, 0], [4, 4]])
    expected = torch.stack([tensor[rows] for tensor, rows in zip(tensors, order, strict=True)])
    assert torch.equal(pool.gather(pool.positions(order)), expected)


def test_a_shared_tensor_is_stored_once():
    aligned = []

    def align(tensor):
        aligned.append(tensor)
        return tensor

    shared, own = torch.rand(4, 2), torch.rand(3, 2)
    pool = SamplePool([shared, own, shared], align)
    assert len(aligned) == 2
    order = torch.tensor([[1], [1], [3]])
    assert torch.equal(
        pool.gather(pool.positions(order))[:, 0], torch.stack([shared[1], own[1], shared[3]])
    )


def test_members_that_stay_keep_their_rows():
    tensors = [torch.full((2, 1), float(i)) for i in range(3)]
    pool = SamplePool(tensors, lambda tensor: tensor)
    pool.keep([0, 2])
    assert pool.gather(pool.positions(torch.zeros(2, 1, dtype=torch.int64))).flatten().tolist() == [
        0.0,
        2.0,
    ]
