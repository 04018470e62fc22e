"""Which of the paper's findings hold in a run: computed from its tables, never assumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from clearwatt.experiment.report.tables import COMPONENTS, INSTANCES, Component, Table, row_name

REGULARISED = ("E", "F")
REPLAY = ("Ra", "Re", "ReD", "G")
ASYNCHRONOUS = ("E", "F", "Ra", "Re", "ReD")

_SHORT = {"fitting_error": "FE", "prediction_error": "PE", "forgetting_ratio": "FR"}
_NOUN = {"autoencoder": "reconstruction", "predictor": "forecasts"}


class Verdict(StrEnum):
    """What a run says about a finding."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNKNOWN = "cannot be judged"


_PLURAL = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold"}


@dataclass(frozen=True, slots=True)
class Place:
    """One mean figure of the two tables."""

    component: Component
    row: str
    metric: str


@dataclass(frozen=True, slots=True)
class Contest:
    """Every figure of ``lower`` is to be below every figure of ``upper``."""

    about: str
    lower: tuple[Place, ...]
    upper: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the paper, what this run says about it, and the figures that say so."""

    claim: str
    verdict: Verdict
    evidence: str

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return f"{self.claim}: {self.verdict} ({self.evidence})."

    def to_dict(self) -> dict[str, str]:
        """Give plain values for JSON."""
        return {"claim": self.claim, "verdict": self.verdict.value, "evidence": self.evidence}


def findings(tables: Mapping[Component, Table]) -> tuple[Finding, ...]:
    """Judge the paper's findings.

    Args:
        tables: The tables of the two components, by name.
    """
    return tuple(_judge(claim, contests, tables) for claim, contests in _claims())


def summary(judged: Sequence[Finding], *, entities: int) -> str:
    """Say in a sentence how many of the findings hold."""
    counts = [(v, sum(finding.verdict is v for finding in judged)) for v in Verdict]
    parts = ", ".join(
        f"{count} {verdict if count == 1 else _PLURAL.get(verdict, verdict)}"
        for verdict, count in counts
        if count
    )
    over = f"{entities} entity" if entities == 1 else f"{entities} entities"
    return f"Of the paper's {len(judged)} findings, {parts} in this run (means over {over})."


def _claims() -> list[tuple[str, list[Contest]]]:
    """The findings of the paper's section on overall performance, as contests of means."""
    errors = tuple(_SHORT)
    return [
        (
            "Replay instances beat EWC and Familiarity in reconstruction on FE, PE and FR",
            [_rows("autoencoder", metric, REPLAY, REGULARISED) for metric in errors],
        ),
        (
            "Every instance beats Baseline_L in FE",
            [_rows(part, "fitting_error", INSTANCES, ("L",)) for part in COMPONENTS],
        ),
        (
            "Generative Replay has the lowest FE and FR",
            [
                _rows(part, metric, ("G",), ASYNCHRONOUS)
                for part, metric in product(COMPONENTS, ("fitting_error", "forgetting_ratio"))
            ],
        ),
        (
            "EWC and Familiarity have the lowest PE of forecasts",
            [_rows("predictor", "prediction_error", REGULARISED, REPLAY)],
        ),
        (
            "Asynchronous instances update the predictor less often than the autoencoder",
            [_updates(row) for row in ASYNCHRONOUS],
        ),
    ]


def _rows(component: Component, metric: str, lower: Sequence[str], upper: Sequence[str]) -> Contest:
    return Contest(
        about=f"{_SHORT[metric]} of {_NOUN[component]}",
        lower=tuple(Place(component, row, metric) for row in lower),
        upper=tuple(Place(component, row, metric) for row in upper),
    )


def _updates(row: str) -> Contest:
    lower, upper = Place("predictor", row, "updates"), Place("autoencoder", row, "updates")
    return Contest(f"updates of {row_name(row)}", (lower,), (upper,))


@dataclass(frozen=True, slots=True)
class _Ruling:
    verdict: Verdict
    evidence: str


def _judge(claim: str, contests: Sequence[Contest], tables: Mapping[Component, Table]) -> Finding:
    """A finding fails with any contest, and is known only if every contest is."""
    rulings = [_rule(contest, tables) for contest in contests]
    seen = {ruling.verdict for ruling in rulings}
    for verdict in (Verdict.FAILS, Verdict.UNKNOWN, Verdict.HOLDS):
        if verdict in seen:
            return Finding(claim, verdict, _evidence(rulings, verdict))
    raise AssertionError("a claim has at least one contest")


def _evidence(rulings: Sequence[_Ruling], verdict: Verdict) -> str:
    """Tell what decided it first; where some contests fail, the others are told apart."""
    decisive = "; ".join(dict.fromkeys(r.evidence for r in rulings if r.verdict is verdict))
    others = [r.evidence for r in rulings if r.verdict is Verdict.HOLDS is not verdict]
    return f"{decisive}; it does hold for {'; '.join(others)}" if others else decisive


def _rule(contest: Contest, tables: Mapping[Component, Table]) -> _Ruling:
    lower, upper = _known(contest.lower, tables), _known(contest.upper, tables)
    known = {**lower, **upper}
    missing = [place for place in (*contest.lower, *contest.upper) if place not in known]
    if lower and upper:
        worst, rival = max(lower, key=lower.__getitem__), min(upper, key=upper.__getitem__)
        below = lower[worst] < upper[rival]
        if not below or not missing:
            evidence = _told(contest, worst=worst, rival=rival, figures=known)
            return _Ruling(Verdict.HOLDS if below else Verdict.FAILS, evidence)
    return _Ruling(Verdict.UNKNOWN, _lacking(missing, contest.about, tables))


def _lacking(missing: Sequence[Place], about: str, tables: Mapping[Component, Table]) -> str:
    """Tell rows that were not run from rows that were, without this figure."""
    absent = [place.row for place in missing if place.row not in tables[place.component].rows]
    empty = [place.row for place in missing if place.row not in absent]
    parts = [(absent, "not in this run"), (empty, f"without a figure for {about}")]
    return "; ".join(
        f"{', '.join(dict.fromkeys(map(row_name, rows)))} {why}" for rows, why in parts if rows
    )


def _told(contest: Contest, *, worst: Place, rival: Place, figures: Mapping[Place, float]) -> str:
    """Tell the closest pair of a contest; digits are added until the two figures differ."""
    low, high = figures[worst], figures[rival]
    digits = next((n for n in range(3, 9) if f"{low:.{n}f}" != f"{high:.{n}f}"), 3)
    names = [
        place.component if worst.row == rival.row else row_name(place.row)
        for place in (worst, rival)
    ]
    if low < high:
        return f"{contest.about}: {names[0]} {low:.{digits}f} < {names[1]} {high:.{digits}f}"
    told = f"{contest.about}: {names[0]} {low:.{digits}f} ≥ {names[1]} {high:.{digits}f}"
    pairs = [(a, b) for a, b in product(contest.lower, contest.upper) if {a, b} <= figures.keys()]
    kept = sum(figures[a] < figures[b] for a, b in pairs)
    return f"{told}, as in {len(pairs) - kept} of {len(pairs)} pairs" if len(pairs) > 1 else told


def _known(places: Sequence[Place], tables: Mapping[Component, Table]) -> dict[Place, float]:
    means = {place: tables[place.component].mean(place.row, place.metric) for place in places}
    return {place: mean for place, mean in means.items() if mean is not None}
