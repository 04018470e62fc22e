"""Kinds of lies, and how an operator reads them."""

from __future__ import annotations

from enum import IntEnum


class Lie(IntEnum):
    """What the readings of a suspected meter look like; where several apply, the first counts."""

    NONE = 0
    REPLAY = 1
    UNIT = 2
    SIGN = 3
    OPPOSITE = 4
    NIGHT = 5
    NOISE = 6
    SHIFT = 7
    CLIPPED = 8
    FROZEN = 9
    UNRELATED = 10
    COUNTER = 11
    FEW_VALUES = 12
    SPIKES = 13

    @property
    def label(self) -> str:
        """The kind in a few words, for flags and metrics."""
        return _LABELS[self]


_LABELS = {
    Lie.NONE: "no suspicion",
    Lie.REPLAY: "an earlier day repeated",
    Lie.UNIT: "wrong unit",
    Lie.SIGN: "wrong sign",
    Lie.OPPOSITE: "opposite of expected",
    Lie.NIGHT: "power at hours without power",
    Lie.NOISE: "noise",
    Lie.SHIFT: "wrong hour",
    Lie.CLIPPED: "cut off",
    Lie.FROZEN: "hardly varies",
    Lie.UNRELATED: "unrelated to weather and hour",
    Lie.COUNTER: "counter instead of power",
    Lie.FEW_VALUES: "few different values",
    Lie.SPIKES: "spikes to one value",
}
_FACTORS = {
    -3: "a thousandth",
    -2: "a hundredth",
    1: "ten times",
    2: "a hundred times",
    3: "a thousand times",
}


def explain(lie: Lie, size: float = 0.0) -> str:
    """What is wrong with the readings, and what to check; completes "readings since ... ".

    Args:
        lie: The kind.
        size: Power of ten of a unit, hours of a shift, value that is never exceeded, or unused.
    """
    if lie is Lie.UNIT:
        return f"are {_FACTORS[round(size)]} of before: unit?"
    if lie is Lie.SHIFT:
        return f"are {abs(size):.0f} h {'late' if size > 0 else 'early'}: clock or time zone?"
    return {
        Lie.REPLAY: "repeat an earlier day exactly: does the meter or its gateway send old values?",
        Lie.SIGN: "have the opposite sign: direction of the meter?",
        Lie.OPPOSITE: "are high when they should be low, and low when high: wiring or formula?",
        Lie.NIGHT: "show power at hours at which there was none before: clock, or another meter?",
        Lie.NOISE: "jump far more than before, unrelated to weather and hour: meter broken?",
        Lie.CLIPPED: "never exceed one value: range of the meter, or is the plant curtailed?",
        Lie.FROZEN: "hardly vary any more: meter or gateway stuck?",
        Lie.UNRELATED: "have nothing to do with weather and hour any more: another meter?",
        Lie.COUNTER: "only rise, but for resets: energy of a counter instead of power?",
        Lie.FEW_VALUES: "have only a few different values: rounded, or each sent several times?",
        Lie.SPIKES: "jump to one value again and again: corrupt telegrams, or a default value?",
    }[lie]
