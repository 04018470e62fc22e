"""Run a benchmark, or continue an interrupted one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from clearwatt.benchmark.history import ZoneHistory
from clearwatt.benchmark.leaderboard import Leaderboard, SkippedPeer
from clearwatt.benchmark.peer import Peer
from clearwatt.benchmark.peers import PEERS
from clearwatt.benchmark.scores import PeerRecord, score_forecasts
from clearwatt.clock import steps_per_day, steps_within
from clearwatt.compute import Executor
from clearwatt.data import Dataset
from clearwatt.data.neighbours import with_neighbours
from clearwatt.errors import ClearwattError, ConfigurationError, StateError
from clearwatt.experiment.config import Experiment
from clearwatt.experiment.plan import choose_entities, chunks
from clearwatt.experiment.protocol import Phases, divide, scaled_limits
from clearwatt.runs.folder import RunFolder
from clearwatt.runs.identity import data_facts, digest, machine, versions
from clearwatt.runs.work import MULTIPLY_ADDS, Progress, WorkItem, do_work
from clearwatt.training.fleet import one_thread

DAY = pd.Timedelta(days=1)
STACK = 32
"""Most entities of a task; an interruption loses no more than the tasks under way."""
RECORDS = "records"
"""Subfolder of finished tasks."""


@dataclass(frozen=True)
class Benchmark:
    """The configuration of a benchmark.

    Args:
        peers: the peers to compare.
        entities: "all", a number (taken from all kinds in turn), or names.
        without: entities to leave out.
        delay: time until a measurement is known.
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
        keys = [peer.key for peer in self.peers]
        if repeats := [key for key in keys if keys.count(key) > 1]:
            raise ConfigurationError(f"two peers are called {repeats[0]!r}; rename one")
        if self.delay <= pd.Timedelta(0):
            raise ConfigurationError(f"the delay is {self.delay}; give more than nothing")

    def histories(self, dataset: Dataset) -> tuple[ZoneHistory, ...]:
        """The history of each zone of a data set."""
        chosen = Experiment(entities=self.entities, without=self.without)
        entities = choose_entities(dataset, chosen)
        division = divide(with_neighbours(dataset), self.phases, entities)
        histories = (
            ZoneHistory.of(
                zone,
                test,
                dataset.times,
                day=steps_per_day(dataset.step),
                delay=steps_within(self.delay, dataset.step),
                seed=self.seed,
            )
            for zone, test in zip(division.zones, division.test, strict=True)
        )
        return tuple(_with_limits(history, dataset) for history in histories)


def _with_limits(history: ZoneHistory, dataset: Dataset) -> ZoneHistory:
    """The history with the limits of each entity, from its kind, its rating and its readings."""
    readings = zip(history.entities, history.known_samples().y.T, strict=True)
    limits = (scaled_limits(dataset.entity(name), own) for name, own in readings)
    return replace(history, limits=tuple(limits))


@dataclass(frozen=True)
class PeerTask:
    """One peer on some entities of one zone."""

    peer: Peer
    zone: int
    columns: tuple[int, ...]

    def history(self, histories: Sequence[ZoneHistory]) -> ZoneHistory:
        """The part of its zone's history that it needs."""
        return histories[self.zone].select_entities(self.columns)

    def cost(self, histories: Sequence[ZoneHistory]) -> float:
        """Approximate number of multiply-adds."""
        return max(self.peer.seconds(self.history(histories)), 1e-3) * MULTIPLY_ADDS

    def key(self, histories: Sequence[ZoneHistory], folder: RunFolder) -> str:
        """The name of its records."""
        history = self.history(histories)
        parts = (repr(self.peer), self.peer.code_version, history.fingerprint())
        return f"{self.peer.key}-{folder.key(*parts)}"


def run(
    benchmark: Benchmark, dataset: Dataset, out: Path, *, compute: Executor
) -> Iterator[Progress]:
    """Forecast every entity with every peer, and write the leaderboard.

    Args:
        benchmark: what to do.
        dataset: on which data.
        out: a folder. Records that are there are used, also those of another choice of peers and
            entities.
        compute: who does the work.

    Yields:
        The progress after every task. At the end ``out/leaderboard.json`` is there.
    """
    able = tuple(peer for peer in benchmark.peers if peer.missing_requirement() is None)
    skipped = tuple(
        SkippedPeer(peer.key, reason)
        for peer in benchmark.peers
        if (reason := peer.missing_requirement())
    )
    if not able:
        raise ClearwattError("; ".join(dict.fromkeys(each.reason for each in skipped)))
    histories = benchmark.histories(dataset)
    about = _run_facts(benchmark, dataset)
    with RunFolder.open(out, about, digest(versions())) as folder:
        found: list[PeerRecord] = []
        items = [_work_item(task, histories, folder, found) for task in peer_tasks(able, histories)]
        yield from do_work("peers", items, perform, histories, compute=compute)
        Leaderboard(about, _sort_records(found, able, histories), skipped).write(out)


def _work_item(
    task: PeerTask, histories: Sequence[ZoneHistory], folder: RunFolder, found: list[PeerRecord]
) -> WorkItem[PeerTask, list[PeerRecord]]:
    """A task whose records are kept on disk and added to ``found``."""
    key = task.key(histories, folder)
    finished = _read_records(folder, key)
    found += finished or ()

    def save(own: list[PeerRecord]) -> None:
        folder.write(RECORDS, key, [record.to_dict() for record in own])
        found.extend(own)

    return WorkItem(task, task.cost(histories), finished is not None, save)


def _read_records(folder: RunFolder, key: str) -> list[PeerRecord] | None:
    """Records that an earlier start wrote; None if they are missing or damaged."""
    values = folder.read(RECORDS, key)
    try:
        return [PeerRecord.from_dict(each) for each in values] if isinstance(values, list) else None
    except StateError:
        return None


def perform(histories: tuple[ZoneHistory, ...], task: PeerTask) -> list[PeerRecord]:
    """Do a task on one thread, so that processor time means the same for every peer."""
    history = task.history(histories)
    with one_thread():
        return score_forecasts(task.peer, history, task.peer.forecast(history))


def peer_tasks(peers: Sequence[Peer], histories: Sequence[ZoneHistory]) -> list[PeerTask]:
    """The work by peer, zone and entity; entities that a peer forecasts together stay together."""
    return [
        PeerTask(peer, zone, columns)
        for peer in peers
        for zone, history in enumerate(histories)
        for columns in chunks(range(len(history.entities)), STACK if peer.together else 1)
    ]


def _sort_records(
    found: Sequence[PeerRecord], peers: Sequence[Peer], histories: Sequence[ZoneHistory]
) -> tuple[PeerRecord, ...]:
    """The records by peer, then by zone and entity in the order of the data set."""
    keys = [peer.key for peer in peers]
    entities = [name for history in histories for name in history.entities]
    places = {name: at for at, name in enumerate(entities)}
    return tuple(sorted(found, key=lambda each: (keys.index(each.peer), places[each.entity])))


def _run_facts(benchmark: Benchmark, dataset: Dataset) -> dict[str, Any]:
    """The description of a benchmark; all but the machine must be equal to go on in a folder."""
    phases = benchmark.phases or Phases.for_length(len(dataset.times))
    return {
        "experiment": {
            "kind": "benchmark",
            "delay_hours": benchmark.delay / pd.Timedelta(hours=1),
            "phases": asdict(phases),
            "seed": benchmark.seed,
        },
        "data": data_facts(dataset),
        "versions": versions(),
        "machine": machine(),
    }
