"""A zone that learns fast and does as its commands say: it sums readings, trains and fails."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from clearwatt.files import load_state, save_state
from clearwatt.service.files import ModelFiles
from clearwatt.service.records import (
    Command,
    Entry,
    Outcome,
    RegisteredEntity,
    ServiceEvent,
    StoredVersion,
    Zone,
)
from clearwatt.service.status import ZoneStatus
from clearwatt.service.store import Store
from clearwatt.training.fleet import Job, Training
from clearwatt.training.networks import Predictor
from clearwatt.training.streams import Stream

NETWORK = Predictor(inputs=2, width=4, layers=1)


class Tally:
    """The sum of the readings, and a model that the command "warmup" trains.

    The command "drop" fails while the file it names is missing. In its status ``steps`` is the sum,
    ``generation`` the number of trainings, ``pending_rows`` how many of them diverged and
    ``encoder`` a digest of the weights.
    """

    def __init__(self, zone: Zone, *, store: Store, files: ModelFiles) -> None:
        self.zone, self.store, self.files = zone, store, files
        self.position, self.total, self.trained, self.diverged = 0, 0.0, 0, 0
        self.params = NETWORK.initialise([0])
        self.due_checkpoint = False
        self._found: tuple[list[ServiceEvent], list[StoredVersion]] = ([], [])

    def apply(
        self, entries: Sequence[Entry], entities: Sequence[RegisteredEntity]
    ) -> Stream[Outcome]:
        self._found = ([], [])
        for entry in entries:
            if isinstance(entry.content, np.ndarray):
                self.total += float(entry.content["value"].sum())
            elif isinstance(entry.content, Command):
                yield from self._run(entry.content, entry.seq)
            self.position = entry.seq
        return self._outcome()

    @property
    def refresh_interval(self) -> float:
        return 60.0

    def find_latest(self) -> bytes | None:
        return f"{self.zone.id}: {self.total:g}".encode()

    def save(self, folder: Path) -> None:
        counts = {"position": self.position, "trained": self.trained, "diverged": self.diverged}
        save_state(folder, {**counts, "total": self.total}, self.params)
        self.due_checkpoint = False

    @classmethod
    def load(cls, folder: Path, *, zone: Zone, store: Store, files: ModelFiles) -> Tally:
        saved = load_state(folder)
        learning = cls(zone, store=store, files=files)
        vars(learning).update(saved.values)
        learning.params = saved.tensors
        return learning

    def _run(self, command: Command, seq: int) -> Stream[None]:
        arguments = command.arguments
        if command.kind == "drop" and not Path(arguments["unless"]).exists():
            raise KeyError(f"entry {seq}\nTraceback and other noise")
        if command.kind == "hold":
            os.kill(os.getpid(), signal.SIGKILL)
        if command.kind == "warmup":
            yield from self._train(arguments.get("epochs", 3))
            self._found[0].append(
                ServiceEvent(
                    f"update:{self.zone.id}:{seq}", "update", "trained", 0.0, zone=self.zone.id
                )
            )

    def _train(self, epochs: int) -> Stream[None]:
        x = torch.linspace(0, 1, 32).reshape(16, 2) + self.total
        training = Training(epochs=epochs, patience=None)
        (done,) = yield (
            Job(NETWORK, self.params, x, x.sum(1, keepdim=True), training, self.trained),
        )
        self.params = done.params
        self.trained += 1
        self.diverged += done.diverged
        self.due_checkpoint = True
        identity = f"autoencoder:{self.zone.id}:{self.trained}"
        path = self.files.write(identity, {}, self.params)
        self._found[1].append(
            StoredVersion(
                identity,
                "autoencoder",
                self.zone.id,
                None,
                self.trained,
                "deployed",
                0.0,
                None,
                0.1,
                path,
            )
        )

    def _outcome(self) -> Outcome:
        weights = b"".join(self.params[name].numpy().tobytes() for name in sorted(self.params))
        assert self.total.is_integer()
        events, versions = self._found
        status = ZoneStatus(
            self.zone.id,
            self.position,
            self.trained,
            "learning",
            steps=int(self.total),
            pending_rows=self.diverged,
            encoder=hashlib.sha256(weights).hexdigest(),
        )
        return Outcome(status, tuple(events), tuple(versions))
