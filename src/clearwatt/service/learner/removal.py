"""What is left of deleted zones and entities: files, checkpoints and readings.

Everything is noted in the store before, so that a killed process leaves nothing behind for good.
"""

from __future__ import annotations

import math

from clearwatt.service.files import Checkpoints, ModelFiles
from clearwatt.service.store import Store


def remove_model_files(store: Store, files: ModelFiles) -> None:
    """Delete the model files of deleted versions."""
    paths = store.unused_files()
    if paths:
        files.remove(paths)
        store.forget_files(paths)


def remove_leftovers(store: Store, files: ModelFiles, checkpoints: Checkpoints) -> None:
    """Delete the files of everything that was deleted; before any zone learns."""
    remove_model_files(store, files)
    registered = {zone.id for zone in store.zones()}
    for zone, (position, _) in store.positions().items():
        removed = [(each.number, each.removed_at) for each in store.removed_entities(zone)]
        # Written by a replay that was killed; the deletion itself was committed before.
        files.remove_entities(
            [number for number, at in removed if at is not None and at <= position]
        )
    for zone, base in store.journal_bases().items():
        before = base if zone in registered else math.inf
        checkpoints.remove(zone, before=before)
        if store.archive is not None:
            store.archive.remove(zone, before=before)
