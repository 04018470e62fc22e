"""Learning settings of a zone; unknown keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from clearwatt.adaptive import AdaptiveSettings
from clearwatt.adaptive.settings import NoveltySettings
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.gate import Gate
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.clock import SECONDS_PER_DAY
from clearwatt.errors import ConfigurationError
from clearwatt.strategies import strategy_by_name
from clearwatt.training.fleet import Training
from clearwatt.weather import Coordinates

ForecasterName = Literal["adaptive", "clear"]
WeatherSource = Literal["open-meteo"]
WEATHER = ("weather", "coordinates")
"""Settings of the weather that the service fetches by itself."""

CLEAR_ONLY = (
    "strategy",
    "parameters",
    "novelty_capacity",
    "familiarity_capacity",
    "epochs",
    "learning_rate",
    "averaging",
    "work",
    "equal_epochs",
    "width",
    "layers",
    "latent",
    "warmup_epochs",
    "warmup_patience",
    "split",
)
"""Settings of the forecaster "clear" only, by the names that clients use."""
ADAPTIVE_ONLY = ("delay", "memory", "novelty_days", "refresh")
"""Settings of the forecaster "adaptive" only."""
ADDED_SETTINGS = ("averaging", "work", "equal_epochs")
"""Settings unknown to nodes of an earlier release; not written if they are the default."""


class Place(BaseModel):
    """Where a zone is, in degrees; north and east are positive."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)

    @property
    def coordinates(self) -> Coordinates:
        """The place, as the weather loader takes it."""
        return Coordinates(self.latitude, self.longitude)


# In place, because a reference cannot be resolved in the description of the API.
_PLACE_SCHEMA = {"anyOf": [Place.model_json_schema(), {"type": "null"}]}


class ZoneSettings(BaseModel):
    """Settings of detection, learning and promotion; the defaults suit most grids.

    ``forecaster`` is "adaptive", or "clear" for an instance of the paper with a strategy. If it is
    not given, it is "clear" when a setting of "clear" only is given.

    ``alpha``: a sample is novel if its error exceeds alpha times the usual error. ``lateness`` is
    the number of seconds behind the newest reading of the zone after which a missing one is
    overdue. ``reporting_delay`` is the number of seconds until a measurement is known, by default
    estimated from the arrivals. ``gate_margin`` None deploys every update, as in the paper; it
    defaults to 0.5 for "clear" and to None for "adaptive", which trusts a bad update less by
    itself. With ``approval`` a person must approve a version before it is deployed. With
    ``share_with_fleet`` the zone's readings are among those that fleet priors are trained on. With
    ``suspicion`` "on", readings of a meter that seems to lie go to quarantine until it is repaired
    or a person confirms them. With ``weather`` the service fetches the weather of the zone's
    ``coordinates`` by itself.

    For "adaptive": ``delay`` is how many seconds before its time a forecast is issued that live
    errors and intervals are about; ``memory`` is the maximum number of past samples held, by
    default 125 days' worth, from 3,000 to 12,000 (fewer if more than 25 entities are warmed up);
    ``novelty_days`` is how many days' worth of novel samples make an update due; ``refresh`` is
    the least number of seconds between two refreshes of the next hours. For "clear":
    ``novelty_capacity`` is that number in samples, by default a month; ``work`` limits the epochs
    of large networks; ``equal_epochs`` exempts the autoencoders of single entities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    # An alias is the name that clients and data directories use.
    forecaster: ForecasterName = "adaptive"
    delay: int = Field(default=86_400, ge=1, le=7 * 86_400)
    memory: int | None = Field(default=None, ge=200, le=1_000_000)
    novelty_days: float | None = Field(default=4.0, gt=0, le=366)
    refresh: int = Field(default=60, ge=0, le=86_400)
    strategy: str = "RecentReplay"
    parameters: dict[str, float | int | str | bool | None] = Field(default_factory=dict)
    novelty_capacity: int | None = Field(default=None, ge=1, le=1_000_000)
    alpha: float = Field(default=1.3, gt=0, le=100)
    familiarity_capacity: int | None = Field(default=3000, ge=1)
    update_epochs: int = Field(default=30, ge=1, le=10_000, alias="epochs")
    learning_rate: float = Field(default=1e-3, gt=0, le=1)
    averaging: float = Field(default=0.0, ge=0, lt=1)
    work: int | None = Field(default=None, ge=1, le=2**53)
    equal_epochs: bool = False
    lateness: int = Field(default=86_400, ge=0, le=366 * 86_400)
    reporting_delay: int | None = Field(default=None, ge=0, le=30 * 86_400)
    gate_margin: float | None = Field(default=0.5, ge=0)
    approval: bool = False
    share_with_fleet: bool = True
    suspicion: Literal["on", "off"] = "on"
    width: int = Field(default=64, ge=1, le=4096)
    layers: int = Field(default=3, ge=1, le=16)
    latent: int = Field(default=12, ge=1, le=256)
    warm_up_epochs: int = Field(default=60, ge=1, le=10_000, alias="warmup_epochs")
    warm_up_patience: int | None = Field(default=10, ge=1, alias="warmup_patience")
    split: Literal["random", "temporal"] = "random"
    seed: int = Field(default=0, ge=0, lt=2**31)
    weather: WeatherSource | None = None
    coordinates: Annotated[Place | None, Field(strict=False), WithJsonSchema(_PLACE_SCHEMA)] = None

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, values: object) -> object:
        """Choose the forecaster by the settings that are given; refuse those of the other."""
        if not isinstance(values, dict):
            return values
        of_clear = [name for name in CLEAR_ONLY if name in values]
        forecaster = values.get("forecaster", "clear" if of_clear else "adaptive")
        foreign = of_clear if forecaster == "adaptive" else ADAPTIVE_ONLY
        for name in foreign:
            if name in values:
                raise ValueError(f"{name} is no setting of the forecaster {forecaster!r}")
        gate = {"gate_margin": None} if forecaster == "adaptive" else {}
        return {"forecaster": forecaster, **gate, **values}

    @model_validator(mode="after")
    def _require_place(self) -> Self:
        if self.weather is not None and self.coordinates is None:
            raise ValueError(
                f"weather is {self.weather!r}, but coordinates are missing; give them as "
                '{"latitude": 52.23, "longitude": 21.01}'
            )
        return self

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
        settings.clear_settings(SECONDS_PER_DAY)  # refuses what cannot be combined
        return settings.model_copy(update={"strategy": type(strategy).__name__})

    def with_values(self, values: Mapping[str, object]) -> ZoneSettings:
        """These settings with others in place of some; another forecaster brings its own."""
        known = self.plain()
        if values.get("forecaster", self.forecaster) != self.forecaster:
            own = {*CLEAR_ONLY, *ADAPTIVE_ONLY, "gate_margin"}
            known = {name: value for name, value in known.items() if name not in own}
        return self.read({**known, **values})

    def clear_settings(self, step: int) -> ClearSettings:
        """The settings of the instance; with precise errors its state does not depend on timing."""
        month = 30 * 86_400 // step
        return ClearSettings(
            strategy=strategy_by_name(self.strategy, dict(self.parameters)),
            novelty_capacity=self.novelty_capacity or min(3000, month),
            alpha=self.alpha,
            familiarity_capacity=self.familiarity_capacity,
            update=Training(
                epochs=self.update_epochs,
                patience=None,
                learning_rate=self.learning_rate,
                averaging=self.averaging,
                work=self.work,
            ),
            equal_epochs=self.equal_epochs,
            seed=self.seed,
            precise=True,
            gate=self._gate,
        )

    def adaptive(self) -> AdaptiveSettings:
        """The settings of the adaptive forecaster."""
        return AdaptiveSettings(
            memory=self.memory,
            novelty=NoveltySettings(alpha=self.alpha, capacity=self.novelty_days),
            gate=self._gate,
        )

    @property
    def _gate(self) -> Gate | None:
        return None if self.gate_margin is None else Gate(margin=self.gate_margin)

    def warm_up(self, offset: int = 0) -> WarmUp:
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
        """The settings as JSON values, without those of the other forecaster."""
        defaults = type(self).model_fields
        return {
            name: value
            for name, value in self._own_values().items()
            if name not in ADDED_SETTINGS or value != defaults[name].default
        }

    def changes_since(self, before: ZoneSettings) -> dict[str, Any]:
        """Settings that have another value than before, as JSON values."""
        earlier = before._own_values()
        return {
            name: value
            for name, value in self._own_values().items()
            if name not in earlier or value != earlier[name]
        }

    def _own_values(self) -> dict[str, Any]:
        """All settings but those of the other forecaster, as JSON values."""
        foreign = CLEAR_ONLY if self.forecaster == "adaptive" else ADAPTIVE_ONLY
        values = self.model_dump(mode="json", by_alias=True)
        return {name: value for name, value in values.items() if name not in foreign}
