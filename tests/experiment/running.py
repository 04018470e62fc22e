"""Run an experiment in a test."""

from clearwatt.compute import executor
from clearwatt.experiment.results import read_document
from clearwatt.experiment.run import run


def finished(experiment, dataset, out, name="serial"):
    with executor(name, workers=2 if name != "serial" else None) as compute:
        steps = list(run(experiment, dataset, out, compute=compute))
    return numbers(read_document(out)), steps


def numbers(document):
    """Without what the clock says."""
    if isinstance(document, dict):
        return {key: numbers(value) for key, value in document.items() if key != "timing"}
    return [numbers(each) for each in document] if isinstance(document, list) else document
