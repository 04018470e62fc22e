"""ClearRegressor: scikit-learn's contract, streaming, saving, and input it cannot use."""

from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import check_estimator
from torch import nn

from clearwatt import ClearRegressor
from clearwatt.clear.component import ClearSettings
from clearwatt.errors import ClearwattError, ConfigurationError, DataError, StateError
from clearwatt.files import load_state, save_state
from clearwatt.strategies import (
    FineTune,
    GenerativeReplay,
    OnlineEWC,
    RecentReplay,
)
from clearwatt.testing.scenario import scenario, start
from clearwatt.training.fleet import one_thread
from clearwatt.training.networks import Autoencoder, ModuleAutoencoder, ModulePredictor, Predictor

# A key of scikit-learn's own, and why that check cannot apply; docs/estimator.md says the same.
CANNOT_APPLY = {
    "check_n_features_in_after_fitting": (
        "calls partial_fit before fit, which a model that needs a warm-up must refuse"
    )
}


def small(**parameters) -> ClearRegressor:
    """Networks and trainings small enough for tests."""
    defaults = {
        "strategy": RecentReplay(),
        "novelty_capacity": 20,
        "latent": 3,
        "width": 8,
        "layers": 1,
        "predictor_width": 8,
        "predictor_layers": 1,
        "epochs": 15,
        "patience": 10,
        "update_epochs": 2,
        "batch": 16,
        "learning_rate": 0.01,
        "random_state": 0,
    }
    return ClearRegressor(**defaults | parameters)


@pytest.fixture(scope="module")
def data():
    """Warm-up and stream of two entities, in units far from 1."""
    grid = scenario()
    return (
        grid.warm_x * 40.0 + 7.0,
        grid.warm_y[:, :2] * 500.0 + 2000.0,
        grid.x * 40.0 + 7.0,
        grid.y[:, :2] * 500.0 + 2000.0,
    )


@pytest.fixture(scope="module")
def warmed(data):
    with one_thread():
        return small().fit(data[0], data[1])


@pytest.fixture
def model(warmed):
    return deepcopy(warmed)


def timeless(events):
    return [{name: getattr(e, name) for name in e.__slots__ if name != "seconds"} for e in events]


def same(one: ClearRegressor, other: ClearRegressor, x) -> None:
    assert np.array_equal(one.predict(x), other.predict(x))
    assert timeless(one.events_) == timeless(other.events_)
    mine, theirs = one.thresholds_, other.thresholds_
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_check_estimator():
    """scikit-learn's own suite; only the check that starts with partial_fit may fail."""
    model = small(width=16, latent=12, predictor_width=16, epochs=60, patience=20)
    results = check_estimator(model, expected_failed_checks=CANNOT_APPLY, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(CANNOT_APPLY)
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("check", CANNOT_APPLY)
def test_the_concept_page_names_what_cannot_apply(check):
    page = Path(__file__).parents[2] / "docs" / "estimator.md"
    assert f"| `{check}` |" in page.read_text(encoding="utf-8")


def test_one_series_is_one_dimensional_in_and_out(data):
    warm_x, warm_y, x, y = data
    model = small().fit(warm_x, warm_y[:, 0])
    model.partial_fit(x, y[:, 0])
    assert model.predict(x).shape == (len(x),)
    assert isinstance(model.thresholds_["prediction"], float)
    assert isinstance(model.thresholds_["reconstruction"], float)


def test_several_entities_share_one_autoencoder(model, data):
    _, _, x, y = data
    model.partial_fit(x, y)
    assert model.predict(x).shape == (len(x), 2)
    assert model.thresholds_["prediction"].shape == (2,)
    assert len(model.instance_.autoencoders) == 1
    assert {event.entity for event in model.events_} == {None, 0, 1}


def test_a_synchronous_strategy_brings_its_own_autoencoders(data):
    warm_x, warm_y, x, y = data
    model = small(strategy=GenerativeReplay(density="gaussian")).fit(warm_x, warm_y)
    model.partial_fit(x[:100], y[:100])
    assert model.thresholds_["reconstruction"].shape == (2,)
    assert model.events_


def test_thresholds_and_events_of_predictors_are_in_units_of_y(model, data):
    warm_x, warm_y, x, y = data
    off = np.abs(model.predict(warm_x) - warm_y)
    assert model.thresholds_["prediction"] == pytest.approx(1.3 * np.nanmean(off, axis=0), rel=1e-4)
    model.partial_fit(x, y)
    last = {event.entity: event.threshold_after for event in model.events_}
    assert [last[0], last[1]] == pytest.approx(model.thresholds_["prediction"])
    assert last[None] == model.thresholds_["reconstruction"]


def test_learning_from_the_stream_beats_standing_still(model, warmed, data):
    _, _, x, y = data
    before = warmed.predict(x[-100:])
    model.partial_fit(x, y)
    after = model.predict(x[-100:])
    frozen, live = (np.nanmean(np.abs(found - y[-100:])) for found in (before, after))
    assert live < frozen


def test_the_scale_of_the_data_does_not_matter(data):
    warm_x, warm_y, x, y = data
    one = small().fit(warm_x, warm_y).partial_fit(x, y)
    other = small().fit(warm_x * 2.0**10, warm_y * 2.0**-8).partial_fit(x * 2.0**10, y * 2.0**-8)
    assert [e.step for e in one.events_] == [e.step for e in other.events_]
    assert np.allclose(one.predict(x), other.predict(x * 2.0**10) * 2.0**8, rtol=1e-4)


def test_unscaled_data_are_taken_as_they_are(data):
    grid = scenario()
    model = small(scale=False).fit(grid.warm_x, grid.warm_y[:, 0])
    assert np.array_equal(model.predict(grid.x), model.instance_.predict(grid.x)[:, 0])


def test_one_by_one_equals_a_block(model, data):
    _, _, x, y = data
    singly = deepcopy(model)
    model.partial_fit(x[:120], y[:120])
    for step in range(120):
        singly.partial_fit(x[step : step + 1], y[step : step + 1])
    same(model, singly, x)


def test_fit_starts_over(model, data):
    warm_x, warm_y, x, y = data
    fresh = clone(model).fit(warm_x, warm_y)
    model.partial_fit(x, y)
    assert model.events_
    model.fit(warm_x, warm_y)
    same(model, fresh, x)


def test_a_seed_repeats_and_another_does_not(data):
    warm_x, warm_y, x, _ = data
    first, again, other = (
        small(random_state=seed, epochs=2).fit(warm_x, warm_y).predict(x) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_parameters_round_trip_through_clone_and_set_params():
    model = small(strategy=OnlineEWC(gamma=0.5), alpha=2.0)
    copy = clone(model)
    assert copy is not model
    assert {k: repr(v) for k, v in copy.get_params().items()} == {
        k: repr(v) for k, v in model.get_params().items()
    }
    assert copy.set_params(alpha=3.0, strategy="fine-tune").get_params()["alpha"] == 3.0


def test_the_settings_reach_the_instance(data):
    model = small(strategy="online-ewc", alpha=1.7, familiarity_capacity=9)
    settings = model.fit(data[0][:40], data[1][:40]).instance_.settings
    assert settings.strategy == OnlineEWC()
    assert (settings.alpha, settings.familiarity_capacity) == (1.7, 9)
    assert ClearRegressor().fit(data[0][:8], data[1][:8]).instance_.settings.strategy == (
        ClearSettings().strategy
    )


def test_targets_may_be_missing_anywhere_but_not_everywhere(data):
    warm_x, warm_y, x, y = data
    holes = warm_y.copy()
    holes[::3] = np.nan
    model = small().fit(warm_x, holes)
    model.partial_fit(x, y * np.nan)
    assert {event.component for event in model.events_} == {"autoencoder"}
    assert np.isfinite(model.predict(x)).all()
    holes[:, 1] = np.nan
    with pytest.raises(DataError, match="NaN in all but 0 rows of entity 1; the warm-up needs"):
        small().fit(warm_x, holes)


def frame(values, columns) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(values, dtype=float), columns=columns)


INPUTS = ["ghi", "wind", "temperature", "humidity"]


@pytest.fixture(scope="module")
def framed(data):
    warm_x, warm_y, *_ = data
    return small().fit(frame(warm_x, INPUTS), frame(warm_y, ["park", "mill"]))


def test_data_frames_give_their_names(framed, data):
    _, _, x, y = data
    model = deepcopy(framed).partial_fit(frame(x, INPUTS), frame(y, ["park", "mill"]))
    assert model.feature_names_in_.tolist() == INPUTS
    assert {event.entity for event in model.events_} == {None, "park", "mill"}


def test_columns_of_the_same_name_are_refused(data):
    warm_x, warm_y, *_ = data
    with pytest.raises(DataError, match="more than one column named 'park'"):
        small().fit(warm_x, frame(warm_y, ["park", "park"]))


def test_columns_out_of_order_are_refused(framed, data):
    _, _, x, y = data
    with pytest.raises(ValueError, match="feature names"):
        deepcopy(framed).partial_fit(frame(x, INPUTS[::-1]), frame(y, ["park", "mill"]))
    with pytest.raises(DataError, match=r"\['mill', 'park'\]; this model was warmed up with"):
        deepcopy(framed).partial_fit(frame(x, INPUTS), frame(y, ["mill", "park"]))


def test_it_works_at_the_end_of_a_pipeline(data):
    warm_x, warm_y, *_ = data
    complete = ~np.isnan(warm_y[:, 0])
    pipeline = make_pipeline(MinMaxScaler(), small(epochs=60))
    pipeline.fit(warm_x[complete], warm_y[complete, 0])
    assert pipeline.score(warm_x[complete], warm_y[complete, 0]) > 0.5


def test_save_and_load_is_the_same_model(model, data, tmp_path):
    _, _, x, y = data
    model.partial_fit(x[:120], y[:120])
    model.save(tmp_path / "model")
    loaded = ClearRegressor.load(tmp_path / "model")
    same(model, loaded, x)
    assert loaded.forecaster_.digest() == model.forecaster_.digest()
    assert {k: repr(v) for k, v in loaded.get_params().items()} == {
        k: repr(v) for k, v in model.get_params().items()
    }
    for each in (model, loaded):
        each.partial_fit(x[120:], y[120:])
    assert len(model.events_) > 2
    same(model, loaded, x)
    assert loaded.forecaster_.digest() == model.forecaster_.digest()


def test_names_survive_saving(framed, data, tmp_path):
    framed.save(tmp_path)
    loaded = ClearRegressor.load(tmp_path)
    x = frame(data[2], INPUTS)
    assert np.array_equal(loaded.predict(x), framed.predict(x))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(x[INPUTS[::-1]])


def test_numbers_of_a_grid_search_can_be_saved(data, tmp_path):
    model = small(novelty_capacity=np.int64(15), alpha=np.float64(1.2), random_state=np.int64(3))
    model.fit(data[0][:40], data[1][:40]).save(tmp_path)
    loaded = ClearRegressor.load(tmp_path)
    assert np.array_equal(loaded.predict(data[2]), model.predict(data[2]))
    assert loaded.novelty_capacity == 15
    assert loaded.random_state == 3


def residual() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))


@pytest.mark.parametrize("strategy", ["online-ewc", "generative-replay"])
def test_a_module_of_ones_own_streams_saves_and_goes_on(data, tmp_path, strategy):
    warm_x, warm_y, x, y = data
    own = {
        "autoencoder": ModuleAutoencoder(
            partial(nn.Linear, 4, 3), partial(nn.Linear, 3, 4), inputs=4, latent=3
        ),
        "predictor": ModulePredictor(residual, inputs=3),
    }
    model = small(strategy=strategy, **own).fit(warm_x, warm_y).partial_fit(x[:120], y[:120])
    assert {event.component for event in model.events_} == {"autoencoder", "predictor"}
    model.save(tmp_path)
    with pytest.raises(StateError, match="of your own; pass the same network"):
        ClearRegressor.load(tmp_path)
    loaded = ClearRegressor.load(tmp_path, **own)
    assert (loaded.autoencoder, loaded.predictor) == tuple(own.values())
    same(model.partial_fit(x[120:], y[120:]), loaded.partial_fit(x[120:], y[120:]), x)


def test_a_plain_module_is_a_predictor_and_stays_as_it_was(data, tmp_path):
    warm_x, warm_y, x, y = data
    module = residual()
    before = [parameter.clone() for parameter in module.parameters()]
    model = small(predictor=module).fit(warm_x, warm_y).partial_fit(x[:120], y[:120])
    assert any(event.component == "predictor" for event in model.events_)
    assert all(map(torch.equal, before, module.parameters()))
    model.save(tmp_path)
    loaded = ClearRegressor.load(tmp_path, predictor=module)
    same(model.partial_fit(x[120:], y[120:]), loaded.partial_fit(x[120:], y[120:]), x)


def test_training_starts_from_the_weights_of_a_plain_module(data):
    module = residual()
    with torch.no_grad():
        module[2].weight.zero_()
        module[2].bias.fill_(4.0)  # far away: 4 deviations above the mean
    model = small(predictor=module, epochs=1, learning_rate=1e-9).fit(data[0], data[1])
    far = np.nanmean(data[1], axis=0) + 4 * np.nanstd(data[1], axis=0)
    assert np.allclose(model.predict(data[2]), far, rtol=1e-3)


def test_a_grid_search_tries_parameters_of_the_strategy(data, tmp_path):
    folds = TimeSeriesSplit(n_splits=2)
    search = GridSearchCV(
        small(strategy=None, epochs=2),
        {"strategy__recent_updates": [2, 4], "strategy__replay_weight": [0.5], "alpha": [1.2]},
        cv=folds,
        error_score="raise",
    )
    measured = ~np.isnan(data[1][:, 0])  # scikit-learn's scores refuse NaN
    search.fit(data[0][measured], data[1][measured, 0])
    assert len(search.cv_results_["params"]) == 2
    best = search.best_estimator_
    assert best.strategy.recent_updates == search.best_params_["strategy__recent_updates"]
    assert best.instance_.settings.strategy == best.strategy
    best.save(tmp_path)
    assert ClearRegressor.load(tmp_path).strategy == best.strategy


def test_parameters_of_parts_are_got_and_set():
    model = small(strategy="recent-replay", predictor=Predictor(3, 5, 2))
    found = model.get_params()
    assert found["strategy__recent_updates"] == 5 and found["predictor__width"] == 5
    assert "strategy__recent_updates" not in model.get_params(deep=False)
    shared = model.strategy
    model.set_params(strategy__recent_updates=2, predictor__width=7, alpha=2.0)
    assert model.strategy == RecentReplay(recent_updates=2) and shared == "recent-replay"
    assert model.predictor == Predictor(3, 7, 2) and model.alpha == 2.0
    model.set_params(strategy=OnlineEWC(), strategy__ewc_weight=7.0)
    assert model.strategy == OnlineEWC(ewc_weight=7.0)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"strategy__reach": 2}, "RecentReplay has no parameter 'reach'; it has replay_weight"),
        ({"strategy__recent_updates": 0}, "recent_updates is 0"),
        ({"plan__reach": 2}, "ClearRegressor has no parameter 'plan'; it has alpha"),
        ({"predictor__width": 2}, "predictor is None, which has no parameters; set predictor"),
    ],
)
def test_bad_parameters_of_parts_are_named(parameters, says):
    with pytest.raises(ConfigurationError, match=says):
        small().set_params(**parameters)


def test_parameters_are_read_by_fit(model, warmed, data):
    _, _, x, y = data
    model.set_params(alpha=0.01, novelty_capacity=5)
    same(model.partial_fit(x, y), deepcopy(warmed).partial_fit(x, y), x)


def test_networks_given_by_their_sizes_survive_saving(data, tmp_path):
    networks = {"autoencoder": Autoencoder(4, 6, 2, 3), "predictor": Predictor(3, 5, 2)}
    small(strategy="fine-tune", **networks).fit(data[0], data[1]).save(tmp_path)
    loaded = ClearRegressor.load(tmp_path)
    assert (loaded.autoencoder, loaded.predictor) == tuple(networks.values())
    assert loaded.strategy == FineTune()


@pytest.mark.parametrize("method", ["partial_fit", "predict", "save", "events_", "thresholds_"])
def test_nothing_works_before_fit_and_says_why(data, method):
    arguments = {"partial_fit": (data[2], data[3]), "predict": (data[2],), "save": ("unused",)}
    with pytest.raises(NotFittedError, match=f"{method} before fit: call fit") as caught:
        getattr(small(), method)(*arguments.get(method, ()))
    assert isinstance(caught.value, ClearwattError)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"alpha": 0}, "alpha is 0; the threshold factor must be above 0"),
        ({"alpha": -1.0}, r"alpha is -1\.0"),
        ({"novelty_capacity": 0}, "novelty_capacity is 0; it must be a whole number"),
        ({"novelty_capacity": 2.5}, "novelty_capacity is 2.5; it must be a whole number"),
        ({"novelty_capacity": None}, "novelty_capacity is None; it must be a whole number"),
        ({"familiarity_capacity": -2}, "familiarity_capacity is -2"),
        ({"strategy": "dreaming"}, "strategy 'dreaming' is unknown; choose one of OnlineEWC"),
        ({"strategy": 3}, "strategy is 3; give an instance"),
        ({"epochs": 0}, "epochs is 0"),
        ({"update_epochs": 0}, "epochs is 0"),
        ({"learning_rate": -1}, "learning_rate is -1"),
        ({"validation_share": 2}, "validation_share is 2"),
        ({"split": "monthly"}, "split is 'monthly'"),
        ({"latent": 0}, "latent is 0"),
        ({"predictor_width": 0}, "width is 0"),
        ({"predictor": nn.Linear(7, 1)}, "gets the representation, which is 3 wide"),
        ({"predictor": nn.Linear(3, 2)}, "returns 1 value per sample"),
        ({"predictor": nn.Linear}, "give a module, such as Linear"),
        ({"predictor": residual}, "give ModulePredictor.function, inputs=3. instead"),
        ({"predictor": 5}, "predictor is 5; give a torch.nn.Module or a network"),
        ({"autoencoder": nn.Linear(4, 4)}, "autoencoder is Linear, which does not say what is its"),
    ],
)
def test_bad_parameters_are_named_and_leave_a_fitted_model_as_it_was(
    model, warmed, data, parameters, says
):
    warm_x, warm_y, x, y = data
    model.set_params(**parameters)
    with pytest.raises(ConfigurationError, match=says):
        model.fit(warm_x[:, :3], warm_y[:, 0])
    same(model.partial_fit(x, y), deepcopy(warmed).partial_fit(x, y), x)


def spoilt(values, row, value):
    values = values.astype(np.float64)
    values[row, 0] = value
    return values


BAD = [
    (lambda x, y: (spoilt(x, 3, np.nan), y), "Input X contains NaN"),
    (lambda x, y: (spoilt(x, 3, np.inf), y), "Input X contains infinity"),
    (lambda x, y: (x[:, :3], y), "X has 3 features, but ClearRegressor is expecting 4"),
    (lambda x, y: (x[0], y), "Expected 2D array, got 1D array"),
    (lambda x, y: (x, y[:-1]), "inconsistent numbers of samples"),
    (lambda x, y: (x, y[:, 0]), "y has 1 columns; this model was warmed up with 2"),
    (lambda x, y: (x, np.hstack([y, y])), "y has 4 columns; this model was warmed up with 2"),
    (lambda x, y: (x, y[:, :, None]), "y has shape|dim 3"),
    (lambda x, y: (x, spoilt(y, 0, -np.inf)), "Input y contains infinity"),
    (lambda x, y: (x, None), "the target y is None"),
    (lambda x, y: (spoilt(x, 2, 1e200), y), "x is inf at row 2, column 0"),
    (lambda x, y: (x, spoilt(y, 2, 1e200)), "y is infinite at row 2"),
]


@pytest.mark.parametrize(("spoil", "says"), BAD)
def test_bad_samples_are_refused_and_leave_the_model_as_it_was(model, data, spoil, says):
    _, _, x, y = data
    model.partial_fit(x[:60], y[:60])
    twin = deepcopy(model)
    with pytest.raises(ValueError, match=says):
        model.partial_fit(*spoil(x[60:70], y[60:70]))
    same(model, twin, x)
    same(model.partial_fit(x[60:], y[60:]), twin.partial_fit(x[60:], y[60:]), x)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x, y: (spoilt(x, 3, np.nan), y),
        lambda x, y: (x[:, :2], y[:-1]),
        lambda x, y: (x[:, :2], y * np.nan),
        lambda x, y: (x, spoilt(y, 0, np.inf)),
        lambda x, y: (spoilt(x, 0, 1e200), y),
    ],
)
def test_a_warm_up_that_fails_leaves_the_old_one(model, warmed, data, spoil):
    warm_x, warm_y, x, y = data
    with pytest.raises(ValueError, match=r"NaN|infinity|inconsistent|too large"):
        model.fit(*spoil(warm_x, warm_y))
    same(model.partial_fit(x, y), deepcopy(warmed).partial_fit(x, y), x)


def test_a_warm_up_that_diverges_leaves_the_old_one(model, warmed, data):
    warm_x, warm_y, x, _ = data
    model.set_params(learning_rate=1e30, epochs=100, patience=None)
    with pytest.raises(DataError, match="diverged"):
        model.fit(warm_x * 3 + 1, warm_y)
    same(model, warmed, x)


def without(values: dict, *path: str) -> dict:
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return values


@pytest.mark.parametrize(
    "path",
    [
        ("extra", "estimator", "parameters"),
        ("extra", "estimator", "y_units", "scale"),
        ("extra", "estimator", "single"),
        ("settings",),
    ],
    ids=lambda path: path[-1],
)
def test_an_incomplete_state_is_refused(model, tmp_path, path):
    model.save(tmp_path)
    saved = load_state(tmp_path)
    save_state(tmp_path, without(saved.values, *path), saved.tensors)
    with pytest.raises(StateError, match="incomplete"):
        ClearRegressor.load(tmp_path)


def test_the_state_of_an_instance_is_not_that_of_an_estimator(tmp_path):
    start(FineTune()).save(tmp_path)
    with pytest.raises(StateError, match=r"not a ClearRegressor; use Instance\.load"):
        ClearRegressor.load(tmp_path)


def test_a_folder_that_is_no_state_is_refused_and_not_touched(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StateError, match="holds no saved state"):
        ClearRegressor.load(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_linear_relation_is_learnt():
    """As good as the right model, nearly: nothing in between loses what matters."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    y = x @ [1.0, -2.0, 0.5]
    model = small(epochs=150, patience=30, width=16).fit(x, y)
    assert LinearRegression().fit(x, y).score(x, y) - model.score(x, y) < 0.05
