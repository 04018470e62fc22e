"""The leaderboard: peers by their live error, with their cost and their significance."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean
from typing import Any

from clearwatt.benchmark.scores import PeerRecord
from clearwatt.benchmark.significance import LEVEL, Difference, difference
from clearwatt.errors import StateError
from clearwatt.files import read_versioned_json, write_text_atomically

RESULTS = "leaderboard.json"
FORMAT, VERSION = "clearwatt-benchmark", 2
ABOUT = ("experiment", "data", "versions", "machine")


@dataclass(frozen=True)
class SkippedPeer:
    """A peer that did not run, and the reason."""

    peer: str
    reason: str


@dataclass(frozen=True)
class PeerRow:
    """One peer: its errors and its cost, means over the entities.

    ``coverage`` is the share of measurements within the 90 % interval, ``width`` its mean width.
    ``wins`` counts the entities on which it has the lowest live RMSE of the updating phase,
    ``clear_wins`` those of them on which it is significantly better than the second.
    """

    peer: str
    label: str
    rmse: float | None
    mae: float | None
    test_rmse: float | None
    test_mae: float | None
    pinball: float | None
    seconds: float
    trainings: float
    held_bytes: float
    wins: int
    clear_wins: int
    coverage: float | None = None
    width: float | None = None
    test_coverage: float | None = None
    test_width: float | None = None

    def errors(self, phase: str) -> float | None:
        """The live RMSE of a phase, "updating" or "test"."""
        return self.rmse if phase == "updating" else self.test_rmse


@dataclass(frozen=True)
class PairComparison:
    """Two peers: number of entities on which the first is significantly better or worse."""

    peer: str
    other: str
    better: int
    worse: int
    entities: int


@dataclass(frozen=True)
class Leaderboard:
    """The results of a benchmark.

    Args:
        about: description of the run: data, phases, delay, seed, versions and machine.
        records: every peer on every entity.
        skipped: peers that could not run.
    """

    about: dict[str, Any]
    records: tuple[PeerRecord, ...]
    skipped: tuple[SkippedPeer, ...] = ()

    @cached_property
    def entities(self) -> tuple[str, ...]:
        """The entities, in the order of the data set."""
        return tuple(dict.fromkeys(record.entity for record in self.records))

    @cached_property
    def rows(self) -> tuple[PeerRow, ...]:
        """The peers by live RMSE of the updating phase, lowest first; those without one last."""
        peers = dict.fromkeys(record.peer for record in self.records)
        rows = [self._row([each for each in self.records if each.peer == peer]) for peer in peers]
        return tuple(sorted(rows, key=lambda row: math.inf if row.rmse is None else row.rmse))

    @cached_property
    def pairs(self) -> tuple[PairComparison, ...]:
        """Every peer against every other, in the order of the table."""
        order = [row.peer for row in self.rows]
        found = {pair: self._differences(*pair) for pair in combinations(order, 2)}
        return tuple(
            _compare_pair(peer, other, found[peer, other], 1)
            if (peer, other) in found
            else _compare_pair(peer, other, found[other, peer], -1)
            for peer, other in permutations(order, 2)
        )

    def of(self, peer: str, entity: str) -> PeerRecord:
        """The record of one peer on one entity."""
        return self._by_name[peer, entity]

    def of_peer(self, peer: str) -> list[PeerRecord]:
        """The records of one peer, in the order of the entities."""
        return [self.of(peer, entity) for entity in self.entities]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **self.about,
            "rows": [asdict(row) for row in self.rows],
            "significance": {"test": "Diebold-Mariano, daily squared errors", "level": LEVEL},
            "duels": [asdict(pair) for pair in self.pairs],
            "skipped": [asdict(each) for each in self.skipped],
            "records": [record.to_dict() for record in self.records],
        }

    def write(self, folder: Path) -> Path:
        """Write `leaderboard.json` into a folder."""
        path = folder / RESULTS
        write_text_atomically(path, json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n")
        return path

    @classmethod
    def read(cls, folder: Path) -> Leaderboard:
        """Read what `write` wrote."""
        path = folder / RESULTS
        try:
            values = read_versioned_json(path, format_name=FORMAT, version=VERSION)
            return cls(
                about={key: values[key] for key in ABOUT},
                records=tuple(PeerRecord.from_dict(each) for each in values["records"]),
                skipped=tuple(SkippedPeer(**each) for each in values["skipped"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(
                f"{path} is no leaderboard ({error}); run 'clearwatt benchmark' again"
            ) from error

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], PeerRecord]:
        return {(record.peer, record.entity): record for record in self.records}

    @cached_property
    def _winners(self) -> dict[str, tuple[str, bool]]:
        """The peer with the lowest live RMSE for each entity, and whether it is significant."""
        return {entity: winner for entity in self.entities if (winner := self._winner(entity))}

    def _winner(self, entity: str) -> tuple[str, bool] | None:
        scored = [each for each in self.records if each.entity == entity]
        ranked = sorted(
            (each.updating.rmse, at) for at, each in enumerate(scored) if _has_error(each)
        )
        if not ranked:
            return None
        best, *others = (scored[at] for _, at in ranked)
        found = difference(best.daily, others[0].daily) if others else None
        return best.peer, found is not None and found.is_significant and found.mean < 0

    def _row(self, own: Sequence[PeerRecord]) -> PeerRow:
        won = [clear for peer, clear in self._winners.values() if peer == own[0].peer]
        return PeerRow(
            peer=own[0].peer,
            label=own[0].label,
            rmse=_mean([each.updating.rmse for each in own]),
            mae=_mean([each.updating.mae for each in own]),
            test_rmse=_mean([each.test.rmse for each in own if each.test.rmse is not None]),
            test_mae=_mean([each.test.mae for each in own if each.test.mae is not None]),
            pinball=_mean([each.updating.pinball for each in own]),
            seconds=fmean(each.cost.seconds for each in own),
            trainings=fmean(each.cost.trainings for each in own),
            held_bytes=fmean(each.cost.held_bytes for each in own),
            wins=len(won),
            clear_wins=sum(won),
            coverage=_mean([each.updating.coverage for each in own]),
            width=_mean([each.updating.width for each in own]),
            test_coverage=_mean([each.test.coverage for each in own]),
            test_width=_mean([each.test.width for each in own]),
        )

    def _differences(self, peer: str, other: str) -> list[Difference | None]:
        return [
            difference(self.of(peer, entity).daily, self.of(other, entity).daily)
            for entity in self.entities
        ]


def _compare_pair(
    peer: str, other: str, found: Sequence[Difference | None], sign: int
) -> PairComparison:
    means = [sign * each.mean for each in found if each is not None and each.is_significant]
    better = sum(mean < 0 for mean in means)
    return PairComparison(
        peer, other, better=better, worse=len(means) - better, entities=len(found)
    )


def _has_error(record: PeerRecord) -> bool:
    return record.updating.rmse is not None


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean over entities; None if one is missing, because a partial mean would mislead."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
