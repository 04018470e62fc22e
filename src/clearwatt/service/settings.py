"""Learning settings of a zone; unknown keys are errors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from clearwatt.clear.component import ClearSettings
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import strategy_by_name
from clearwatt.training.fleet import Training


class ZoneSettings(BaseModel):
    """Settings of detection, learning and promotion; the defaults suit most grids.

    ``novelty_capacity`` defaults to a month of readings. ``lateness`` is the number of
    seconds behind the newest reading of the zone after which a missing one is overdue;
    ``gate_margin`` None deploys every update, as in the paper; with ``approval`` a person must
    approve a version before it is deployed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    # An alias is the name that clients and data directories use.
    strategy: str = "RecentReplay"
    parameters: dict[str, float | int | str | bool | None] = Field(default_factory=dict)
    novelty_capacity: int | None = Field(default=None, ge=1, le=1_000_000)
    alpha: float = Field(default=1.3, gt=0, le=100)
    familiarity_capacity: int | None = Field(default=3000, ge=1)
    update_epochs: int = Field(default=30, ge=1, le=10_000, alias="epochs")
    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    lateness: int = Field(default=86_400, ge=0, le=366 * 86_400)
    gate_margin: float | None = Field(default=0.5, ge=0)
    approval: bool = False
    width: int = Field(default=64, ge=1, le=4096)
    layers: int = Field(default=3, ge=1, le=16)
    latent: int = Field(default=12, ge=1, le=256)
    warm_up_epochs: int = Field(default=60, ge=1, le=10_000, alias="warmup_epochs")
    warm_up_patience: int | None = Field(default=10, ge=1, alias="warmup_patience")
    split: Literal["random", "temporal"] = "random"
    seed: int = Field(default=0, ge=0, lt=2**31)

    @classmethod
    def read(cls, values: object) -> ZoneSettings:
        """Parse settings; ConfigurationError names the first invalid value.

        A strategy may have any name that `strategy_by_name` accepts; its class name is stored.
        """
        from pydantic import ValidationError

        try:
            settings = cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "settings"
            raise ConfigurationError(
                f"{where}: {first['msg']} (given {first['input']!r})"
            ) from None
        strategy = strategy_by_name(settings.strategy, dict(settings.parameters))
        return settings.model_copy(update={"strategy": type(strategy).__name__})

    def core(self, step: int) -> ClearSettings:
        """The settings of the instance; with precise errors its state does not depend on timing."""
        from clearwatt.clear.gate import Gate

        month = 30 * 86_400 // step
        return ClearSettings(
            strategy=strategy_by_name(self.strategy, dict(self.parameters)),
            novelty_capacity=self.novelty_capacity or min(3000, month),
            alpha=self.alpha,
            familiarity_capacity=self.familiarity_capacity,
            update=Training(
                epochs=self.update_epochs, patience=None, learning_rate=self.learning_rate
            ),
            seed=self.seed,
            precise=True,
            gate=None if self.gate_margin is None else Gate(margin=self.gate_margin),
        )

    def warm_up(self, offset: int) -> WarmUp:
        """The training of first models; `offset` is the number of entities that have one."""
        training = Training(
            epochs=self.warm_up_epochs,
            patience=self.warm_up_patience,
            learning_rate=self.learning_rate,
        )
        return WarmUp(training=training, split=self.split, seed=self.seed + offset)

    def networks(self, inputs: int) -> InstanceNetworks:
        """The networks of the zone for a number of inputs."""
        return InstanceNetworks.for_strategy(
            strategy_by_name(self.strategy, dict(self.parameters)),
            inputs,
            latent=self.latent,
            width=self.width,
            layers=self.layers,
            predictor_width=self.width,
            predictor_layers=self.layers,
        )

    def plain(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return self.model_dump(mode="json", by_alias=True)
