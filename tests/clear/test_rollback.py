"""A block is taken in whole or not at all."""

from copy import deepcopy

import pytest

from clearwatt.strategies import GenerativeReplay, OnlineEWC, RandomReplay, RecentReplay
from clearwatt.testing.comparison import first_difference
from clearwatt.testing.scenario import STREAM, observe, start
from clearwatt.training import streams
from clearwatt.training.fleet import train

STRATEGIES = [OnlineEWC(), RandomReplay(), RecentReplay(recent_updates=1), GenerativeReplay()]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_block_can_be_given_again(strategy, error, monkeypatch):
    """Interrupted in the third training of the block, when two updates are done already."""
    instance = observe(start(strategy, entities=(0, 1)), last=70)
    twin, trainings = deepcopy(instance), iter(range(1, 4))

    def interrupted(jobs, *, stack):
        if next(trainings) == 3:
            raise error
        return train(jobs, stack=stack)

    monkeypatch.setattr(streams, "train", interrupted)
    with pytest.raises(error):
        observe(instance, 70, STREAM)
    monkeypatch.undo()
    assert next(trainings, None) is None
    assert first_difference(instance, twin) is None
    assert (instance.step, instance.inputs.next_row) == (twin.step, twin.inputs.next_row)
    observe(instance, 70, STREAM)
    assert first_difference(instance, observe(twin, 70, STREAM)) is None
