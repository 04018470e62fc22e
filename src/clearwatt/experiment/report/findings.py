"""Which of the paper's findings hold in a run, computed from its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from clearwatt.experiment.report.tables import COMPONENTS, INSTANCES, Table, row_name
from clearwatt.strategies import ComponentName

REGULARISED = ("E", "F")
REPLAY = ("Ra", "Re", "ReD", "G")
ASYNCHRONOUS = ("E", "F", "Ra", "Re", "ReD")

_SHORT = {"fitting_error": "FE", "prediction_error": "PE", "forgetting_ratio": "FR"}
_NOUN = {"autoencoder": "reconstruction", "predictor": "forecasts"}


class FindingVerdict(StrEnum):
    """Whether a finding holds in a run."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNKNOWN = "cannot be judged"


_PLURAL = {FindingVerdict.HOLDS: "hold", FindingVerdict.FAILS: "do not hold"}


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of one of the two tables, by its mean."""

    component: ComponentName
    row: str
    metric: str


@dataclass(frozen=True, slots=True)
class ClaimTest:
    """A test that every mean of ``lower`` is below every mean of ``upper``."""

    about: str
    lower: tuple[TableCell, ...]
    upper: tuple[TableCell, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of the paper, whether it holds in this run, and the figures that show it."""

    claim: str
    verdict: FindingVerdict
    evidence: str

    @property
    def sentence(self) -> str:
        """The finding in words."""
        return f"{self.claim}: {self.verdict} ({self.evidence})."

    def to_dict(self) -> dict[str, str]:
        """The finding as plain values for JSON."""
        return {"claim": self.claim, "verdict": self.verdict.value, "evidence": self.evidence}


def findings(tables: Mapping[ComponentName, Table]) -> tuple[Finding, ...]:
    """Test the paper's findings.

    Args:
        tables: The tables of the two components, by name.
    """
    return tuple(_test_finding(claim, tests, tables) for claim, tests in _claims())


def summary(tested: Sequence[Finding], *, entities: int) -> str:
    """How many of the findings hold, in a sentence."""
    counts = [(v, sum(finding.verdict is v for finding in tested)) for v in FindingVerdict]
    parts = ", ".join(
        f"{count} {verdict if count == 1 else _PLURAL.get(verdict, verdict)}"
        for verdict, count in counts
        if count
    )
    over = f"{entities} entity" if entities == 1 else f"{entities} entities"
    return f"Of the paper's {len(tested)} findings, {parts} in this run (means over {over})."


def _claims() -> list[tuple[str, list[ClaimTest]]]:
    """The findings of the paper's section on overall performance, as tests of means."""
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


def _rows(
    component: ComponentName, metric: str, lower: Sequence[str], upper: Sequence[str]
) -> ClaimTest:
    return ClaimTest(
        about=f"{_SHORT[metric]} of {_NOUN[component]}",
        lower=tuple(TableCell(component, row, metric) for row in lower),
        upper=tuple(TableCell(component, row, metric) for row in upper),
    )


def _updates(row: str) -> ClaimTest:
    lower, upper = TableCell("predictor", row, "updates"), TableCell("autoencoder", row, "updates")
    return ClaimTest(f"updates of {row_name(row)}", (lower,), (upper,))


@dataclass(frozen=True, slots=True)
class _TestResult:
    verdict: FindingVerdict
    evidence: str


def _test_finding(
    claim: str, tests: Sequence[ClaimTest], tables: Mapping[ComponentName, Table]
) -> Finding:
    """A finding fails if one test fails; it is unknown if one test is and none fails."""
    outcomes = [_run_test(test, tables) for test in tests]
    seen = {outcome.verdict for outcome in outcomes}
    for verdict in (FindingVerdict.FAILS, FindingVerdict.UNKNOWN, FindingVerdict.HOLDS):
        if verdict in seen:
            return Finding(claim, verdict, _evidence(outcomes, verdict))
    raise AssertionError("a claim has at least one test")


def _evidence(outcomes: Sequence[_TestResult], verdict: FindingVerdict) -> str:
    """The figures that decided; where some tests fail, those that hold come after them."""
    decisive = "; ".join(dict.fromkeys(r.evidence for r in outcomes if r.verdict is verdict))
    others = [r.evidence for r in outcomes if r.verdict is FindingVerdict.HOLDS is not verdict]
    return f"{decisive}; it does hold for {'; '.join(others)}" if others else decisive


def _run_test(test: ClaimTest, tables: Mapping[ComponentName, Table]) -> _TestResult:
    lower, upper = _means(test.lower, tables), _means(test.upper, tables)
    known = {**lower, **upper}
    missing = [cell for cell in (*test.lower, *test.upper) if cell not in known]
    if lower and upper:
        worst, rival = max(lower, key=lower.__getitem__), min(upper, key=upper.__getitem__)
        below = lower[worst] < upper[rival]
        if not below or not missing:
            evidence = _closest_pair(test, worst=worst, rival=rival, figures=known)
            return _TestResult(FindingVerdict.HOLDS if below else FindingVerdict.FAILS, evidence)
    return _TestResult(FindingVerdict.UNKNOWN, _explain_missing(missing, test.about, tables))


def _explain_missing(
    missing: Sequence[TableCell], about: str, tables: Mapping[ComponentName, Table]
) -> str:
    """Which rows were not run, and which were run but lack this figure."""
    absent = [cell.row for cell in missing if cell.row not in tables[cell.component].rows]
    empty = [cell.row for cell in missing if cell.row not in absent]
    parts = [(absent, "not in this run"), (empty, f"without a figure for {about}")]
    return "; ".join(
        f"{', '.join(dict.fromkeys(map(row_name, rows)))} {why}" for rows, why in parts if rows
    )


def _closest_pair(
    test: ClaimTest, *, worst: TableCell, rival: TableCell, figures: Mapping[TableCell, float]
) -> str:
    """The closest pair of a test, with as many digits as make the two figures differ."""
    low, high = figures[worst], figures[rival]
    digits = next((n for n in range(3, 9) if f"{low:.{n}f}" != f"{high:.{n}f}"), 3)
    names = [
        cell.component if worst.row == rival.row else row_name(cell.row) for cell in (worst, rival)
    ]
    if low < high:
        return f"{test.about}: {names[0]} {low:.{digits}f} < {names[1]} {high:.{digits}f}"
    text = f"{test.about}: {names[0]} {low:.{digits}f} ≥ {names[1]} {high:.{digits}f}"
    pairs = [(a, b) for a, b in product(test.lower, test.upper) if {a, b} <= figures.keys()]
    below = sum(figures[a] < figures[b] for a, b in pairs)
    return f"{text}, as in {len(pairs) - below} of {len(pairs)} pairs" if len(pairs) > 1 else text


def _means(
    cells: Sequence[TableCell], tables: Mapping[ComponentName, Table]
) -> dict[TableCell, float]:
    means = {cell: tables[cell.component].mean(cell.row, cell.metric) for cell in cells}
    return {cell: mean for cell, mean in means.items() if mean is not None}
