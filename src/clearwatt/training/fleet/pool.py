"""The samples of all members of a stack in one tensor; a batch is gathered in one call."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


class SamplePool:
    """Rows of several tensors; a tensor that several members share is held once.

    Args:
        tensors: One per member, `n_i x d` each.
        align: Applied to each tensor before it is stored.
    """

    def __init__(self, tensors: Sequence[Tensor], align: Callable[[Tensor], Tensor]) -> None:
        first: dict[int, int] = {}
        distinct: list[Tensor] = []
        end = 0
        for tensor in tensors:
            if id(tensor) not in first:
                first[id(tensor)] = end
                distinct.append(align(tensor))
                end += len(tensor)
        self._rows = torch.cat(distinct)
        self._first = torch.tensor([first[id(tensor)] for tensor in tensors]).unsqueeze(1)
        self._batch = torch.empty(0)

    def keep(self, positions: Sequence[int]) -> None:
        """Continue with some of the members."""
        self._first = self._first[torch.tensor(positions)]

    def positions(self, order: Tensor) -> Tensor:
        """Positions of the samples numbered `... x m x b`, each member's own."""
        return order + self._first

    def gather(self, positions: Tensor) -> Tensor:
        """The samples at positions `m x b`, as `m x b x d`.

        The result is overwritten by the next call.
        """
        shape = (*positions.shape, self._rows.shape[1])
        if self._batch.shape != shape:
            self._batch = self._rows.new_empty(shape)
        torch.index_select(self._rows, 0, positions.view(-1), out=self._batch.view(-1, shape[-1]))
        return self._batch
