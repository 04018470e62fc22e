"""Running a benchmark, or going on where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from clearwatt.benchmark.history import History, Limits
from clearwatt.benchmark.leaderboard import Leaderboard, Skipped
from clearwatt.benchmark.peer import MULTIPLY_ADDS, Peer
from clearwatt.benchmark.peers import PEERS
from clearwatt.benchmark.scores import Record, records
from clearwatt.compute import Executor
from clearwatt.data import Dataset, Entity
from clearwatt.errors import ClearwattError, ConfigurationError
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.folder import RunFolder, digest, machine, versions
from clearwatt.experiment.plan import chosen_entities, chunks
from clearwatt.experiment.protocol import Phases, divide, steps_of
from clearwatt.files import write_text_atomically
from clearwatt.intervals import physical_limits
from clearwatt.training.fleet import one_thread

DAY = pd.Timedelta(days=1)
STACK = 32
"""Entities that are forecast in one go at most; an interruption costs no more than that."""


@dataclass(frozen=True)
class Benchmark:
    """What is compared, and how.

    Args:
        peers: who takes part.
        entities: "all", how many (of all kinds in turn), or which.
        without: entities that are left out of these.
        delay: until a measurement is known.
        phases: lengths of the phases; None for the experiment's shares of the data set.
        seed: of everything random in the peers.
    """

    peers: tuple[Peer, ...] = PEERS
    entities: Literal["all"] | int | tuple[str, ...] = "all"
    without: tuple[str, ...] = ()
    delay: pd.Timedelta = DAY
    phases: Phases | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ConfigurationError(f"seed is {self.seed}; it must be 0 or more")
        if self.delay <= pd.Timedelta(0):
            raise ConfigurationError(f"the delay is {self.delay}; give more than nothing")

    def histories(self, dataset: Dataset) -> tuple[History, ...]:
        """The zones of a data set, as peers are told of them."""
        chosen = Experiment(entities=self.entities, without=self.without)
        entities = chosen_entities(dataset, chosen)
        division = divide(dataset, self.phases, entities)
        histories = (
            History.of(
                zone,
                test,
                dataset.times,
                day=max(1, round(DAY / dataset.step)),
                delay=steps_of(self.delay, dataset),
                seed=self.seed,
            )
            for zone, test in zip(division.zones, division.test, strict=True)
        )
        return tuple(_with_limits(history, dataset) for history in histories)


def _with_limits(history: History, dataset: Dataset) -> History:
    """With the limits of each entity: its kind, its rating (scaled to 1), what it has shown."""
    shown = history.known().y.astype(np.float64)

    def limits(column: int, entity: Entity) -> Limits:
        rated = None if entity.capacity is None else 1.0
        return physical_limits(entity.kind, rated=rated, readings=shown[:, column])

    entities = (dataset.entity(name) for name in history.entities)
    return replace(history, limits=tuple(limits(*each) for each in enumerate(entities)))


@dataclass(frozen=True)
class Progress:
    """How far a benchmark is: pieces of work, and their cost in multiply-adds."""

    stage: str
    done: int
    pieces: int
    cost_done: float
    cost: float
    cost_after: float = 0.0


@dataclass(frozen=True)
class Piece:
    """One peer on some entities of one zone: what is kept once it is done."""

    peer: Peer
    zone: int
    columns: tuple[int, ...]


def run(
    benchmark: Benchmark, dataset: Dataset, out: Path, *, compute: Executor
) -> Iterator[Progress]:
    """Let every peer forecast every entity.

    Args:
        benchmark: what to do.
        dataset: on which data.
        out: a folder. What is finished there is not done again, also if it was another choice of
            peers and entities.
        compute: who does the work.

    Yields:
        How far it is, after every piece of work. At the end ``out/leaderboard.json`` is there.
    """
    able = tuple(peer for peer in benchmark.peers if peer.missing() is None)
    skipped = tuple(
        Skipped(peer.key, reason) for peer in benchmark.peers if (reason := peer.missing())
    )
    if not able:
        raise ClearwattError("; ".join(dict.fromkeys(each.reason for each in skipped)))
    histories = benchmark.histories(dataset)
    about = _about(benchmark, dataset)
    with RunFolder.opened(out, about, digest(versions())) as folder:
        found: list[Record] = []
        yield from _work(able, histories, folder=folder, compute=compute, found=found)
        Leaderboard(about, _in_order(found, able, histories), skipped).write(out)


def _work(
    peers: Sequence[Peer],
    histories: Sequence[History],
    *,
    folder: RunFolder,
    compute: Executor,
    found: list[Record],
) -> Iterator[Progress]:
    """Do what is not done, the costly first so that no worker is left with one at the end."""
    pieces = pieces_of(peers, histories)
    costs = {piece: _cost(piece, histories) for piece in pieces}
    paths = {piece: _path(piece, histories, folder) for piece in pieces}
    kept = {piece: _kept(path) for piece, path in paths.items()}
    found += [record for finished in kept.values() for record in finished or ()]
    todo = sorted((p for p in pieces if kept[p] is None), key=lambda p: -costs[p])
    total = sum(costs.values())
    done, spent = len(pieces) - len(todo), total - sum(costs[piece] for piece in todo)
    yield Progress("peers", done, len(pieces), spent, total)
    for position, result in compute.map(perform, tuple(histories), todo):
        _keep(paths[todo[position]], result)
        found += result
        done, spent = done + 1, spent + costs[todo[position]]
        yield Progress("peers", done, len(pieces), spent, total)


def perform(histories: tuple[History, ...], piece: Piece) -> list[Record]:
    """Do a piece of work on one thread, so that processor time means the same for everyone."""
    history = histories[piece.zone].only(piece.columns)
    with one_thread():
        return records(piece.peer, history, piece.peer.forecast(history))


def pieces_of(peers: Sequence[Peer], histories: Sequence[History]) -> list[Piece]:
    """Cut the work by peer, zone and entity; entities that gain from it stay together."""
    return [
        Piece(peer, zone, columns)
        for peer in peers
        for zone, history in enumerate(histories)
        for columns in chunks(range(len(history.entities)), STACK if peer.together else 1)
    ]


def _cost(piece: Piece, histories: Sequence[History]) -> float:
    seconds = piece.peer.seconds(histories[piece.zone].only(piece.columns))
    return max(seconds, 1e-3) * MULTIPLY_ADDS


def _path(piece: Piece, histories: Sequence[History], folder: RunFolder) -> Path:
    history = histories[piece.zone].only(piece.columns)
    package = version(piece.peer.package) if piece.peer.package else ""
    key = folder.key(repr(piece.peer), package, history.fingerprint())
    return folder.path / "records" / f"{piece.peer.key}-{key}.json"


def _keep(path: Path, found: Sequence[Record]) -> None:
    content = json.dumps([record.to_dict() for record in found], allow_nan=False)
    write_text_atomically(path, content + "\n")


def _kept(path: Path) -> list[Record] | None:
    """What an earlier start finished, if it is there and whole."""
    try:
        return [Record.from_dict(each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, ValueError, ClearwattError):
        return None


def _in_order(
    found: Sequence[Record], peers: Sequence[Peer], histories: Sequence[History]
) -> tuple[Record, ...]:
    """By peer, then by zone and entity as the data set has them, however they came in."""
    keys = [peer.key for peer in peers]
    entities = [name for history in histories for name in history.entities]
    places = {name: at for at, name in enumerate(entities)}
    return tuple(sorted(found, key=lambda each: (keys.index(each.peer), places[each.entity])))


def _about(benchmark: Benchmark, dataset: Dataset) -> dict[str, Any]:
    """What is written down about a benchmark.

    "experiment", "data" and "versions" tell folders apart.
    """
    phases = benchmark.phases or Phases.scaled(len(dataset.times))
    return {
        "experiment": {
            "kind": "benchmark",
            "delay_hours": benchmark.delay / pd.Timedelta(hours=1),
            "phases": {
                "warmup": phases.warmup,
                "updating": phases.updating,
                "test": phases.test,
            },
            "seed": benchmark.seed,
        },
        "data": {
            "name": dataset.name,
            "steps": len(dataset.times),
            "start": dataset.times[0].isoformat(),
            "end": dataset.times[-1].isoformat(),
            "step_minutes": dataset.step.total_seconds() / 60,
        },
        "versions": versions(),
        "machine": machine(),
    }
