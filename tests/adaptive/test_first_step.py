"""Since when an entity without history can have readings, and what is excluded before that."""

import numpy as np

from clearwatt.adaptive.first_step import FirstStep


def test_only_held_steps_before_it_are_remembered_as_excluded():
    first = FirstStep("new", 10).exclude(np.arange(6, 14), held=np.array([2, 7, 9, 12]))
    assert first.excluded == (7, 9)


def test_steps_are_excluded_once():
    held = np.arange(10)
    first = FirstStep("new", 10).exclude(np.array([3, 4]), held).exclude(np.array([4, 5]), held)
    assert first == FirstStep("new", 10, excluded=(3, 4, 5))
