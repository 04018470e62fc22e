"""The one training loop: many models of one shape trained as a stack."""

from clearwatt.training.fleet.job import UPDATE, Job, JobIdentity, Penalty, Trained, Training
from clearwatt.training.fleet.loop import default_stack, one_thread, stack_of, train

__all__ = [
    "UPDATE",
    "Job",
    "JobIdentity",
    "Penalty",
    "Trained",
    "Training",
    "default_stack",
    "one_thread",
    "stack_of",
    "train",
]
