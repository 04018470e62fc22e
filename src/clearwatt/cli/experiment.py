"""``clearwatt experiment run``: the paper's experiment, whole or in part."""

from __future__ import annotations

import argparse
import errno
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from clearwatt.cli import report
from clearwatt.cli.options import (
    Commands,
    add_executor_options,
    add_json_option,
    add_network_options,
    add_without_option,
    delay_option,
    entity_choice,
    own_networks,
)
from clearwatt.cli.printing import (
    print_json,
    print_lines,
    print_tables,
    progress,
    rows_table,
)
from clearwatt.cli.progress import show_progress
from clearwatt.errors import ClearwattError
from clearwatt.own_code import short_name

if TYPE_CHECKING:
    from clearwatt.experiment.config import Experiment
    from clearwatt.experiment.records import TrialRecord
    from clearwatt.experiment.results import RunRecords

_PRESETS = ("demo", "small", "real", "paper")


def register(commands: Commands) -> None:
    """Add the commands to the parser."""
    parser = commands.add_parser("experiment", help="the paper's experiment: run it, report on it")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    run = actions.add_parser(
        "run", help="run it, or go on with one that was interrupted", allow_abbrev=False
    )
    run.add_argument("--out", type=Path, required=True, metavar="RUN", help="folder of the run")
    run.add_argument(
        "--preset", choices=_PRESETS, help="how much of it (default: the file's, else demo)"
    )
    run.add_argument("--config", type=Path, metavar="FILE", help="a TOML file with other values")
    run.add_argument("--data", metavar="DATA", help="'simulated', a catalogue name, or a folder")
    run.add_argument("--entities", nargs="+", metavar="ENTITY", help="names, how many, or 'all'")
    add_without_option(run)
    run.add_argument(
        "--instances",
        nargs="+",
        metavar="KEY",
        help="some of E F Ra Re ReD G, A (adaptive), or your own as package.module:MyStrategy",
    )
    add_network_options(run)
    run.add_argument(
        "--delay", type=float, metavar="H", help="hours until a measurement is known (default 24)"
    )
    run.add_argument(
        "--select",
        choices=report.SELECTIONS,
        help="report the configurations of lowest FE (default) or of lowest live RMSE",
    )
    run.add_argument("--seed", type=int, metavar="S", help="of everything random in the models")
    add_executor_options(run)
    add_json_option(run)
    run.set_defaults(run=run_experiment)
    report.register(actions)


def run_experiment(options: argparse.Namespace) -> None:
    """Run an experiment, and print its mean scores."""
    from clearwatt.clock import steps_within
    from clearwatt.compute import executor
    from clearwatt.data import load_dataset
    from clearwatt.experiment.results import RESULTS, read_document, read_results
    from clearwatt.experiment.run import run

    experiment = experiment_from(options)
    delay = None if options.delay is None else delay_option(options)
    with progress(f"loading {experiment.data}"):
        dataset = load_dataset(experiment.data)
    if delay is not None:
        experiment = replace(experiment, delay=steps_within(delay, dataset.step))
    with executor(
        options.executor, workers=options.workers, address=options.ray_address
    ) as compute:
        steps = run(experiment, dataset, options.out, compute=compute)
        try:
            show_progress(steps, compute.workers)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise ClearwattError(
                f"no space left while writing to {options.out}; make some and give the same "
                "command again: it goes on where it was"
            ) from error
    if options.json:
        print_json(read_document(options.out))
        return
    print_tables([_means(read_results(options.out))])
    print_lines(
        [
            f"results are in {options.out / RESULTS}; tables, findings and pictures:",
            f"clearwatt experiment report {options.out} --html {options.out}.html",
        ]
    )


def experiment_from(options: argparse.Namespace) -> Experiment:
    """The preset, with the values of the file and then those of the options."""
    from clearwatt.experiment.config import read_file, replace_values
    from clearwatt.experiment.presets import preset

    values = read_file(options.config) if options.config else {}
    written = values.pop("preset", "demo")
    base = preset(options.preset or str(written))
    experiment = replace_values(base, values, str(options.config))
    given = {
        name: getattr(options, name) for name in ("data", "instances", "without", "seed", "select")
    }
    given["entities"] = entity_choice(options.entities)
    given["networks"] = own_networks(options) or None
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace_values(experiment, chosen, "options")


_COLUMNS: Mapping[str, Callable[[TrialRecord], float | None]] = {
    "FE": lambda trial: trial.predictor.fitting_error,
    "PE": lambda trial: trial.predictor.prediction_error,
    "FR": lambda trial: trial.predictor.forgetting_ratio,
    "updates": lambda trial: trial.predictor.updates,
    "live RMSE": lambda trial: trial.live.rmse,
    "FE of inputs": lambda trial: trial.autoencoder.fitting_error,
}


def _means(results: RunRecords) -> Table:
    """The metrics of each instance, means over its entities."""
    from clearwatt.experiment.report.tables import Spread

    rows = []
    for instance in results.instances:
        own = results.trials_of(instance)
        means = [Spread.of(map(metric, own)).mean for metric in _COLUMNS.values()]
        cells = ["–" if mean is None else f"{mean:.3f}" for mean in means]
        rows.append((short_name(instance), str(len(own)), *cells))
    return rows_table(("instance", "entities", *_COLUMNS), rows)
