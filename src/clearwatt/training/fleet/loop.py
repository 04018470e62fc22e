"""The loop: train stacks of members until each has finished.

Every member has its own data, order, seed, penalty and sample weights. All members of a stack step
together; each has its own cursor into its own shuffled epoch, so that they share Adam's step count
even where they have different numbers of samples. A member's result is the same, up to float
rounding, whichever members it is stacked with.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise, repeat

import torch
from torch import Tensor

from clearwatt.errors import require_whole
from clearwatt.training.fleet.job import Job, Trained
from clearwatt.training.fleet.member import EpochPlan, FleetMember
from clearwatt.training.fleet.pool import SamplePool
from clearwatt.training.fleet.weights import PenaltyGradient, Weights
from clearwatt.training.networks import Differentiator, stack

STACK_VALUES = 400_000
"""Weights in a stack of the default size: with more, optimiser and products leave the cache."""


def train(jobs: Sequence[Job], *, stack: int | None = None) -> list[Trained]:
    """Train every job and return the results in the order of the jobs.

    Jobs of equal `Network.stack_key`, training, `Job.batch_rows` and dtype train together, up
    to `stack` at a time.

    Args:
        jobs: Models to train; they may differ in everything.
        stack: Members of a stack; `default_stack` of the job by default.
    """
    if stack is not None:
        require_whole(stack=stack)
    results: dict[int, Trained] = {}
    with one_thread(), torch.no_grad():
        for group in _groups(jobs):
            for chunk in _chunks(group, stack or default_stack(jobs[group[0]])):
                done = _Stack([jobs[i] for i in chunk]).run()
                results.update(zip(chunk, done, strict=True))
    return [results[i] for i in range(len(jobs))]


def default_stack(job: Job) -> int:
    """Members that train fastest together; see `stack_of`."""
    return stack_of(sum(tensor.numel() for tensor in job.params.values()))


def stack_of(weights: int) -> int:
    """Number of networks with `weights` weights that fit the cache, within 4 to 32."""
    return max(4, min(32, STACK_VALUES // weights))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: for networks this small, more threads are slower."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _groups(jobs: Sequence[Job]) -> list[list[int]]:
    """Positions of jobs that can be stacked; in a group, jobs with similar sample counts adjoin."""
    groups: dict[object, list[int]] = {}
    for position, job in enumerate(jobs):
        key = (
            job.network.stack_key,
            job.training,
            job.batch_rows,
            job.dtype,
            job.targets is None,
            job.penalty is None,
            job.validation is None,
        )
        groups.setdefault(key, []).append(position)
    return [sorted(group, key=lambda i: len(jobs[i].inputs)) for group in groups.values()]


def _chunks(group: list[int], size: int) -> list[list[int]]:
    """Parts of at most `size`, of nearly equal size: a stack of one is the slowest per member."""
    count = -(-len(group) // size)
    cuts = [len(group) * i // count for i in range(count + 1)]
    return [group[start:stop] for start, stop in pairwise(cuts)]


class _Stack:
    """Members that train together; those that finish leave."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._network = network = jobs[0].network
        self._members = self._active = [FleetMember(job) for job in jobs]
        self._weights = Weights(network.align(stack([j.params for j in jobs])), jobs[0].training)
        self._inputs = SamplePool([job.inputs for job in jobs], network.align_inputs)
        targets = [job.targets for job in jobs if job.targets is not None]
        self._targets = SamplePool(targets, network.align_targets) if targets else None
        self._penalty = PenaltyGradient(jobs) if jobs[0].penalty else None
        self._differentiate = self._differentiator()

    def run(self) -> list[Trained]:
        """Train to the end of the last member."""
        while self._active:
            self._train(min(member.steps_left for member in self._active))
            self._end_epochs()
        return [member.result() for member in self._members]

    def _train(self, steps: int) -> None:
        """Take `steps` steps; no member may pass the end of its epoch."""
        started = time.perf_counter()
        plan = _stack_plans([member.advance(steps) for member in self._active])
        positions = self._inputs.positions(plan.order)
        targets = self._gather_targets(plan.order)
        network = self._network
        noise = network.noise_of(plan.noise) if network.noise_width else repeat(None)
        batches = zip(positions, targets, plan.coefficients, noise, strict=False)
        losses = torch.stack([self._step(*batch) for batch in batches])
        sums = (losses * plan.coefficients).sum(dim=2).mul_(plan.sizes).sum(dim=0)
        share = (time.perf_counter() - started) / len(self._active)
        for member, loss in zip(self._active, sums.tolist(), strict=True):
            member.record(loss, share)

    def _gather_targets(self, order: Tensor) -> Iterable[Tensor | None]:
        """Targets of each step, `m x b x o`; None: the inputs.

        Targets are narrow, so those of all steps are gathered at once.
        """
        if self._targets is None:
            return repeat(None)
        return self._targets.gather(self._targets.positions(order))

    def _step(
        self, positions: Tensor, target: Tensor | None, coefficients: Tensor, noise: Tensor | None
    ) -> Tensor:
        """One batch per member; returns its losses, `m x b`."""
        x = self._inputs.gather(positions)
        losses = self._differentiate(
            x, x if target is None else target, coefficients=coefficients, noise=noise
        )
        if self._penalty is not None:
            self._penalty.add_to(self._weights)
        self._weights.step()
        return losses

    def _end_epochs(self) -> None:
        staying = [i for i, member in enumerate(self._active) if not self._is_finished(i, member)]
        if len(staying) == len(self._active):
            return
        self._active = [self._active[i] for i in staying]
        if staying:
            self._weights = self._weights.keep(staying)
            self._differentiate = self._differentiator()
            self._inputs.keep(staying)
            if self._targets is not None:
                self._targets.keep(staying)
            if self._penalty is not None:
                self._penalty = PenaltyGradient([member.job for member in self._active])

    def _differentiator(self) -> Differentiator:
        jobs = [member.job for member in self._active]
        joined = self._network.combine([job.network for job in jobs])
        weights, rows = self._weights, jobs[0].batch_rows
        return joined.differentiator(weights.params, weights.gradients, batch=rows)

    def _is_finished(self, position: int, member: FleetMember) -> bool:
        if member.steps_left:
            return False
        started = time.perf_counter()
        finished = member.end_epoch(lambda: self._weights.member(position))
        member.seconds += time.perf_counter() - started
        return finished


def _stack_plans(plans: Sequence[EpochPlan]) -> EpochPlan:
    """Plans of `m` members as one: `steps x m x ...`."""
    return EpochPlan(*(torch.stack(parts, dim=1) for parts in zip(*plans, strict=True)))
