r"""Generative Replay from the models of every update, as a row of an experiment.

    clearwatt experiment run --preset small --data simulated --out archived \
        --instances Ra G examples.archived_replay:archived_replay

Labels are not copied from copy to copy, and what is generated weighs about as much as it stands
for: four times as many samples as the preset's capacity of 3,000.
"""

from clearwatt.strategies import GenerativeReplay

archived_replay = GenerativeReplay(replay_weight=4, replay_size=12_000, archives="all")
