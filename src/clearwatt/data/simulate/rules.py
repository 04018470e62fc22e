"""The catalogue of drifts: which entities each affects, when and how strongly."""

from __future__ import annotations

from dataclasses import dataclass

from clearwatt.data.schema import Kind
from clearwatt.data.simulate.entity_specs import SUBTYPES

PV = ("pv",)
GENERATORS = tuple(SUBTYPES[Kind.GENERATOR])
CONSUMERS = tuple(SUBTYPES[Kind.CONSUMER])
RESIDUALS = tuple(SUBTYPES[Kind.RESIDUAL])
FACTORIES = ("workshop", "factory_two_shift", "factory_three_shift")


@dataclass(frozen=True, slots=True)
class Rule:
    """Which entities a drift affects, when and how strongly.

    It affects a ``share`` of the entities of the ``subtypes``, and always the first entity of kind
    ``always``. ``start`` is a range in shares of the span, ``ramp_days`` the duration of the change
    (0: a step, ``None``: to the end of the span), ``days`` the duration of the drift (``None``:
    permanent).
    """

    what: str
    description: str
    subtypes: tuple[str, ...]
    share: float
    strength: tuple[float, float]
    always: Kind | None = None
    start: tuple[float, float] = (0.0, 0.0)
    ramp_days: float | None = 0.0
    days: tuple[float, float] | None = None


def _adoption_rule(what: str, description: str, consumers: tuple[str, ...]) -> Rule:
    """A new technology that consumers and residual loads adopt up to the end of the span."""
    return Rule(
        what,
        description,
        (*consumers, *RESIDUALS),
        share=0.7,
        strength=(0.15, 0.35),
        always=Kind.RESIDUAL,
        start=(0.1, 0.2),
        ramp_days=None,
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "soiling",
        "dust on the panels costs up to {percent} of the yield between rain and yearly cleaning",
        PV,
        1.0,
        (0.04, 0.1),
    ),
    Rule("degradation", "panels lose {percent} of their yield a year", PV, 1.0, (0.006, 0.012)),
    Rule(
        "capacity_added",
        "an extension raises the installed capacity by {percent}",
        (*PV, *FACTORIES, "cold_store", "supermarket", "data_centre", *RESIDUALS),
        0.35,
        (0.2, 0.4),
        always=Kind.GENERATOR,
        start=(0.2, 0.6),
    ),
    Rule(
        "capacity_retired",
        "{percent} of the installed capacity is retired or connected elsewhere",
        ("wind", *FACTORIES[1:], "office", "hospital", "farm", *RESIDUALS),
        0.35,
        (0.15, 0.3),
        always=Kind.RESIDUAL,
        start=(0.3, 0.9),
    ),
    _adoption_rule(
        "heat_pumps",
        "heat pumps add up to {percent} of the connected capacity on the coldest days",
        ("household_block", "school"),
    ),
    _adoption_rule(
        "electric_vehicles",
        "charging electric vehicles adds up to {percent} of the connected capacity",
        ("household_block", "office", "supermarket"),
    ),
    Rule(
        "tariff",
        "a time-of-use tariff moves {percent} of the evening load to the night and to noon",
        ("household_block", "cold_store", "waterworks", "farm", *FACTORIES, *RESIDUALS),
        0.6,
        (0.2, 0.4),
        always=Kind.CONSUMER,
        start=(0.2, 0.7),
        ramp_days=21.0,
    ),
    Rule(
        "behaviour",
        "working and opening hours change for {percent} of the load",
        CONSUMERS,
        0.75,
        (0.5, 0.9),
        always=Kind.CONSUMER,
        start=(0.2, 0.9),
        ramp_days=14.0,
    ),
    Rule(
        "outage",
        "{percent} of the plant stands still",
        (*GENERATORS, *FACTORIES),
        0.6,
        (0.7, 1.0),
        always=Kind.GENERATOR,
        start=(0.2, 0.85),
        days=(6.0, 25.0),
    ),
    Rule(
        "meter_rescaled",
        "a wrong transformer ratio makes the meter read {percent} less",
        CONSUMERS,
        0.2,
        (0.15, 0.35),
        always=Kind.CONSUMER,
        start=(0.4, 0.85),
    ),
)

# Two drifts affect the whole grid: the annual cycle, and a new weather model, which is introduced
# at this share of the span.
SEASONS = "seasons"
NWP_CHANGE = "nwp_change"
NWP_CHANGE_START = 0.55
DRIFT_NAMES: tuple[str, ...] = (SEASONS, *(rule.what for rule in RULES), NWP_CHANGE)
