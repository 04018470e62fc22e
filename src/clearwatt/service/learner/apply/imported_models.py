"""Models of an experiment that a zone starts with instead of a warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from clearwatt.clear.component import Model
from clearwatt.clear.model_saving import pack_network, unpack_model
from clearwatt.clear.warm_up import WarmUpModels
from clearwatt.data.scaling import Scaling
from clearwatt.errors import StateError
from clearwatt.files import load_state, save_state


class ImportedModels:
    """Models of an experiment, in a folder: `scaling.json`, `autoencoder`, one folder per entity.

    Each model is a saved state with its network's description and its weights ("params.*"), as
    `save_imported_model` writes it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scaling = Scaling.load(folder / "scaling.json")

    def models(self, names: Sequence[str]) -> WarmUpModels:
        """The representation and the predictors of these entities."""
        return WarmUpModels(
            self._read("autoencoder"), [self._read(f"entity-{quote(n, safe='')}") for n in names]
        )

    def _read(self, name: str) -> Model:
        saved = load_state(self.folder / name)
        try:
            return unpack_model(saved.values, saved.tensors, None)
        except (KeyError, TypeError) as error:
            raise StateError(f"{self.folder / name} holds no model ({error!r})") from error


def save_imported_model(folder: Path, model: Model, *, entity: str | None = None) -> None:
    """Write a model for `ImportedModels`: the representation, or an entity's predictor."""
    name = "autoencoder" if entity is None else f"entity-{quote(entity, safe='')}"
    weights = {f"params.{key}": tensor for key, tensor in model.params.items()}
    save_state(folder / name, {"network": pack_network(model.network)}, weights)
