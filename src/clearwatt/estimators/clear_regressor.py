"""ClearRegressor: a CLeaR instance behind scikit-learn's estimator interface."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from torch import Tensor, nn

from clearwatt.arrays import Float64Array
from clearwatt.clear.calibration import InstanceCalibration
from clearwatt.clear.component import ClearSettings
from clearwatt.clear.deployed import Scales
from clearwatt.clear.deployed_models import DeployedModels
from clearwatt.clear.events import UpdateEvent
from clearwatt.clear.forecaster import ClearForecaster
from clearwatt.clear.instance import Instance
from clearwatt.clear.warm_up import InstanceNetworks, WarmUp
from clearwatt.errors import StateError
from clearwatt.estimators.availability import AfterWarmUp
from clearwatt.estimators.own_networks import own_autoencoder, own_predictor, saved_predictor
from clearwatt.estimators.stream_regressor import StreamRegressor, quantile_levels
from clearwatt.files import SavedState, load_state
from clearwatt.intervals import PowerLimits, checked_limits
from clearwatt.packing import tensors_below
from clearwatt.strategies import RecentReplay, Strategy, strategy_by_name
from clearwatt.training.fleet import Training
from clearwatt.training.networks import (
    Network,
    Reconstructor,
)
from clearwatt.training.standardisation import Standardisation
from clearwatt.training.streams import drive


class ClearRegressor(StreamRegressor):
    """A regressor that is warmed up once and then keeps learning from a stream.

    `fit` trains a shared autoencoder and one predictor per column of y; `partial_fit` judges new
    samples, buffers them and updates a component when its novelty buffer is full.

    Args:
        strategy: The continual-learning approach, or the name of a built-in one; None for
            `RecentReplay()`.
        novelty_capacity: Novel samples that trigger an update.
        alpha: Threshold factor; smaller is more sensitive.
        familiarity_capacity: Bound of the familiarity buffers; None: all since the last update.
        latent: Width of the representation (at most the number of inputs).
        width: First hidden width of the autoencoder; each next has 70 % of the one before.
        layers: Hidden layers of its encoder.
        predictor_width: Width of every hidden layer of a predictor.
        predictor_layers: Hidden layers of a predictor.
        kl_weight: Weight of the KL divergence, for strategies that need a variational autoencoder.
        autoencoder: A network of your own instead (see docs/networks.md).
        predictor: A network of your own instead, or a plain `torch.nn.Module`, whose weights are
            where the training of each predictor starts.
        epochs: Epochs of the warm-up at most.
        patience: Epochs without a better validation error before the warm-up stops.
        update_epochs: Epochs of an update.
        batch: Samples per training step.
        learning_rate: Adam's step size.
        weight_decay: Adam's L2 regularisation.
        validation_share: Part of the warm-up held out for early stopping.
        split: "random", or "temporal" to hold out the last samples.
        scale: Standardise inputs and y by their mean and deviation in the warm-up. Switch off if
            the data are scaled already, as `clearwatt.data.features` does it.
        steps_per_day: Samples of a day, if they come at even times: intervals then depend on the
            time of day. None: on the level of the forecast alone.
        limits: The lowest and the highest value possible, in units of y, as (0, None) for a
            generator of unknown capacity: quantiles do not leave them. Each is None where there
            is no limit, a number, or a list of one number per entity.
        random_state: Seed of everything random.

    Attributes:
        events_: Every update so far, in order, with thresholds and errors in units of y.
        thresholds_: {"reconstruction": τ, "prediction": τ or an array over entities}.
        forecaster_: The forecaster itself.
        instance_: Its CLeaR instance.
        n_features_in_: Inputs per sample.
    """

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        *,
        novelty_capacity: int = 3000,
        alpha: float = 1.3,
        familiarity_capacity: int | None = None,
        latent: int = 12,
        width: int = 64,
        layers: int = 3,
        predictor_width: int = 64,
        predictor_layers: int = 3,
        kl_weight: float = 5e-6,
        autoencoder: Reconstructor | None = None,
        predictor: Network | nn.Module | None = None,
        epochs: int = 512,
        patience: int | None = 50,
        update_epochs: int = 30,
        batch: int = 64,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        validation_share: float = 0.2,
        split: Literal["random", "temporal"] = "random",
        scale: bool = True,
        steps_per_day: int | None = None,
        limits: PowerLimits | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.strategy = strategy
        self.novelty_capacity = novelty_capacity
        self.alpha = alpha
        self.familiarity_capacity = familiarity_capacity
        self.latent = latent
        self.width = width
        self.layers = layers
        self.predictor_width = predictor_width
        self.predictor_layers = predictor_layers
        self.kl_weight = kl_weight
        self.autoencoder = autoencoder
        self.predictor = predictor
        self.epochs = epochs
        self.patience = patience
        self.update_epochs = update_epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_share = validation_share
        self.split = split
        self.scale = scale
        self.steps_per_day = steps_per_day
        self.limits = limits
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Warm up on inputs (n x d) and targets (n, or n x entities; NaN: not measured).

        If it fails, an estimator that was fitted before stays as it was.
        """
        with self._restore_on_error():
            self._warm_up(X, y)
        return self

    def _warm_up(self, X: npt.ArrayLike, y: npt.ArrayLike) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        settings, warmup = self._settings(seed), self._warmup(seed)
        inputs, targets, names = self._check_warm_up(X, y)
        scales = Scales.identity(inputs.shape[1], targets.shape[1])
        forecaster = ClearForecaster.fit(
            inputs,
            targets,
            np.arange(len(inputs)),
            settings=settings,
            networks=self._networks(inputs.shape[1], settings.strategy),
            warm_up=warmup,
            names=names,
            scales=None if self.scale else scales,
        )
        self._calibration: InstanceCalibration | None = InstanceCalibration.start(
            forecaster.instance,
            *forecaster.book.scales.apply(inputs, targets),
            steps_per_day=self.steps_per_day,
        )
        self.forecaster_ = forecaster

    @AfterWarmUp
    def partial_fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Take in a block of the stream; update whatever is due. NaN in y: not measured yet."""
        inputs, targets = self._check_block(X, y, self.forecaster_.names)
        self._observe(inputs, targets)
        return self

    def predict(
        self,
        X: npt.ArrayLike,
        quantiles: bool | Sequence[float] | None = None,
        *,
        steps: npt.ArrayLike | None = None,
    ) -> Float64Array:
        """Forecasts for inputs (n x d): n, or n x entities.

        Args:
            X: Inputs.
            quantiles: True for the 5, 10, 25, 50, 75, 90 and 95 % quantiles, or ascending levels
                between 0 and 1: the result then has a last axis, one place per level, ascending
                and within the `limits`.
            steps: With quantiles and `steps_per_day`: which sample each row is, counted from the
                start of the warm-up. By default rows are those that come next.
        """
        self.require_warm_up("predict")
        scales = self.forecaster_.book.scales
        forecast = self.instance_.predict(scales.inputs.apply(self._check_inputs(X)))
        levels = quantile_levels(quantiles)
        if levels is None:
            return self._drop_entity_axis(scales.power.undo(forecast))
        if self._calibration is None:
            raise StateError(
                "this model was saved by a release that gave no quantiles; fit it again to have "
                "them, or predict without"
            )
        scaled = self._calibration.quantiles(forecast, levels, steps=steps)
        # Clipped last, because rounding in a change of units may lead beyond a limit.
        in_units = [scales.power.undo(each) for each in np.moveaxis(scaled, 2, 0)]
        limited = np.stack([np.clip(each, *self._limits) for each in in_units], axis=2)
        return self._drop_entity_axis(limited)

    @property
    def instance_(self) -> Instance:
        """The CLeaR instance itself."""
        self.require_warm_up("instance_")
        return self.forecaster_.instance

    @property
    def events_(self) -> tuple[UpdateEvent, ...]:
        """Every update since the warm-up, thresholds and errors of predictors in units of y."""
        self.require_warm_up("events_")
        return tuple(self._in_units(event) for event in self.instance_.events)

    @property
    def thresholds_(self) -> dict[str, float | Float64Array]:
        """The thresholds in force: of the scaled inputs' reconstruction, and of y's prediction."""
        self.require_warm_up("thresholds_")
        reconstruction = [part.threshold for part in self.instance_.autoencoders]
        scale = self.forecaster_.book.scales.power.scale
        prediction = np.array([part.threshold for part in self.instance_.predictors])
        return {
            "reconstruction": _without_entity_axis(
                np.array(reconstruction), len(reconstruction) == 1
            ),
            "prediction": _without_entity_axis(prediction * scale, self._single),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model into a folder (safetensors and JSON), atomically."""
        self.require_warm_up("save")
        extra: dict[str, Any] = {"estimator": self._pack()}
        tensors: dict[str, Tensor] = {}
        if self._calibration is not None:
            extra["calibration"], tensors = self._calibration.state()
        self.instance_.save(path, extra=extra, extra_tensors=tensors)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        strategy: Strategy | None = None,
        autoencoder: Reconstructor | None = None,
        predictor: Network | nn.Module | None = None,
    ) -> Self:
        """Read a saved model; what is not built in (strategy, networks) must be passed again."""
        saved = load_state(path)
        values = saved.values.get("extra", {}).get("estimator")
        if values is None:
            raise StateError(f"{path} holds an instance, not a ClearRegressor; use Instance.load")
        own = own_autoencoder(autoencoder)
        head = saved_predictor(predictor, values, own)
        instance = Instance.from_saved(saved, strategy=strategy, autoencoder=own, predictor=head)
        objects = {
            "strategy": instance.settings.strategy,
            "autoencoder": instance.autoencoders[0].network,
            "predictor": instance.predictors[0].network,
        }
        try:
            model = cls(**values["parameters"] | {name: objects[name] for name in values["given"]})
            model._restore(instance, values)
            model._calibration = _calibration_of(saved)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state in {path} is incomplete ({error!r})") from error
        return model

    def _restore(self, instance: Instance, values: dict[str, Any]) -> None:
        self._unpack_fit(values)
        units = (Standardisation.from_dict(values[name]) for name in ("x_units", "y_units"))
        # Every sample is a row, so that its row number is its step.
        steps = np.arange(instance.inputs.next_row, dtype=np.int64)
        warm_up = self._warmup(instance.settings.seed)
        forecaster = ClearForecaster.continue_with(
            instance, steps, warm_up=warm_up, scales=Scales(*units)
        )
        book = forecaster.book
        forecaster.book = replace(
            book, known=values.get("known", book.known), numbers=values.get("versions", {})
        )
        self.forecaster_ = forecaster
        self._limits = checked_limits(self.limits, len(instance.predictors))

    def _observe(self, inputs: Float64Array, targets: Float64Array) -> None:
        """Learn from a block, and calibrate with it; all or nothing."""
        forecaster, before = self.forecaster_, self.instance_.step
        at = forecaster.book.known + 1 + np.arange(len(inputs))
        models = DeployedModels(forecaster.instance)
        with forecaster.checkpoint():
            stream = forecaster.learn(inputs, targets, at)
            deployed = drive(stream, stacked=forecaster.stacked)
            updates = [(each.event.step - before, each) for each in deployed]
            if self._calibration is not None:
                x, y = forecaster.book.scales.apply(inputs, targets)
                self._calibration = self._calibration.after_block(models, x, y, updates)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the estimator is warmed up."""
        return hasattr(self, "forecaster_")

    def _settings(self, seed: int) -> ClearSettings:
        return ClearSettings(
            strategy=self._strategy(),
            novelty_capacity=self.novelty_capacity,
            alpha=self.alpha,
            familiarity_capacity=self.familiarity_capacity,
            update=self._training(self.update_epochs, patience=None),
            seed=seed,
        )

    def _strategy(self) -> Strategy:
        if isinstance(self.strategy, str):
            return strategy_by_name(self.strategy)
        return RecentReplay() if self.strategy is None else self.strategy

    def _part(self, name: str) -> object:
        return self._strategy() if name == "strategy" else getattr(self, name)

    def _warmup(self, seed: int) -> WarmUp:
        return WarmUp(
            training=self._training(self.epochs, patience=self.patience),
            validation_share=self.validation_share,
            split=self.split,
            seed=seed,
        )

    def _training(self, epochs: int, *, patience: int | None) -> Training:
        return Training(
            epochs=epochs,
            patience=patience,
            batch=self.batch,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )

    def _networks(self, inputs: int, strategy: Strategy) -> InstanceNetworks:
        """The user's own networks, or built-in ones of the sizes that the parameters give."""
        own = own_autoencoder(self.autoencoder)
        latent = min(self.latent, inputs) if own is None else own.latent
        built_in = InstanceNetworks.for_strategy(
            strategy,
            inputs,
            latent=latent,
            width=self.width,
            layers=self.layers,
            predictor_width=self.predictor_width,
            predictor_layers=self.predictor_layers,
            kl_weight=self.kl_weight,
        )
        predictor = own_predictor(self.predictor, latent)
        return InstanceNetworks(own or built_in.autoencoder, predictor or built_in.predictor)

    def _in_units(self, event: UpdateEvent) -> UpdateEvent:
        if event.component == "autoencoder" or event.entity is None:
            return event
        place = self.forecaster_.names.index(event.entity)
        return event.in_unit(float(self.forecaster_.book.scales.power.scale[place]))

    def _pack(self) -> dict[str, Any]:
        values = self._pack_fit()
        scales = self.forecaster_.book.scales
        objects = ("strategy", "autoencoder", "predictor")
        given = [name for name in objects if values["parameters"].pop(name) is not None]
        return {
            **values,
            "given": given,
            "known": self.forecaster_.book.known,
            "versions": self.forecaster_.book.numbers,
            "x_units": scales.inputs.to_dict(),
            "y_units": scales.power.to_dict(),
        }


def _calibration_of(saved: SavedState) -> InstanceCalibration | None:
    """The intervals of a saved model; None if it was saved before there were any."""
    values = saved.values["extra"].get("calibration")
    if values is None:
        return None
    return InstanceCalibration.from_state(values, tensors_below(saved.tensors, "extra."))


def _without_entity_axis(values: Float64Array, single: bool) -> float | Float64Array:
    return float(values[0]) if single else values
