"""The paper's experiment: plan, trials, metrics, results."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clearwatt.experiment.frames import Results

__all__ = ["Results"]


def __getattr__(name: str) -> object:
    """Import the data frames of a run only when they are asked for."""
    if name == "Results":
        from clearwatt.experiment.frames import Results

        return Results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
