"""The references: never learn, learn only the new, learn everything again."""

from clearwatt.strategies import Access, FineTune, Frozen, Retrain


def test_frozen_never_updates_and_sees_nothing():
    assert not Frozen().updates
    assert Frozen().access is Access.NONE


def test_fine_tuning_is_novelty_and_nothing_else(update):
    seen = update()
    objective = FineTune().objective(seen)
    assert objective.data is seen.novelty
    assert (objective.weights, objective.penalty, objective.replayed) == (None, None, 0)


def test_retraining_takes_everything_alike(update):
    seen = update(novel=8, past=30)
    objective = Retrain().objective(seen)
    assert objective.data is seen.past.everything()
    assert (objective.weights, objective.penalty, objective.replayed) == (None, None, 22)


def test_fine_tuning_keeps_nothing(update):
    seen = update()
    assert FineTune().consolidate(seen, seen.params) == {}
