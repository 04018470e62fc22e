"""What a strategy is handed of a history: as much as it declares, through today's encoder."""

import numpy as np
import pytest
import torch

from clearwatt.clear.buffers import SampleRows
from clearwatt.clear.past import history_for, past_of
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import Batch, FineTune, RecentReplay, Retrain

NOTHING = np.empty(0, np.int64)


def view(samples: SampleRows) -> Batch:
    return Batch(torch.from_numpy(samples.rows)[:, None], None)


def past(strategy, *, closed=8, opened=4, held_back=NOTHING):
    history = history_for(strategy, labelled=False)
    if history is not None:
        history.extend(SampleRows(np.arange(closed), None))
        history.close()
        history.extend(SampleRows(np.arange(closed, closed + opened), None))
    rng = np.random.default_rng(0)
    return past_of(strategy, history, view, rng=rng, held_back=held_back)


def rows(batch: Batch) -> list[int]:
    return batch.inputs[:, 0].tolist()


def test_everything_includes_the_open_window_but_not_what_is_held_back():
    assert rows(past(Retrain()).everything()) == list(range(12))
    assert rows(past(Retrain(), held_back=np.array([9, 11])).everything()) == [*range(9), 10]


def test_replay_draws_from_closed_windows_only():
    assert rows(past(RecentReplay()).replay("recent", 100)) == list(range(8))


def test_more_than_declared_is_refused():
    with pytest.raises(ConfigurationError, match="access 'recent' asked for everything"):
        past(RecentReplay()).everything()
    with pytest.raises(ConfigurationError, match="'none' asked for a 'random' replay of 9"):
        past(FineTune()).replay("random", 9)
