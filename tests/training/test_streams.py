"""Streams hand out jobs; whoever drives them trains what all of them wait for at once."""

import torch

from clearwatt.training.fleet import Job, Trained, Training, train
from clearwatt.training.networks import Predictor
from clearwatt.training.streams import Stream, drive, run_together


def countdown(name: str, rounds: int, log: list[str]) -> Stream[str]:
    for step in range(rounds):
        answer = yield (f"{name}{step}",)
        log.append(f"{name}:{answer[0]}")
    return name


def answered(stream):
    """Answer each job with itself in capitals; give the rounds and the result."""
    rounds = []
    try:
        jobs = next(stream)
        while True:
            rounds.append(jobs)
            jobs = stream.send([job.upper() for job in jobs])
    except StopIteration as stop:
        return rounds, stop.value


def test_streams_wait_together_and_get_their_own_results():
    log: list[str] = []
    streams = [countdown("a", 1, log), countdown("b", 3, log), countdown("c", 0, log)]
    rounds, results = answered(run_together(streams))
    assert rounds == [("a0", "b0"), ("b1",), ("b2",)]
    assert log == ["a:A0", "b:B0", "b:B1", "b:B2"]
    assert results == ["a", "b", "c"]


def test_nothing_to_run_gives_nothing():
    assert answered(run_together([])) == ([], [])


def test_a_stream_without_jobs_just_ends():
    assert drive(countdown("x", 0, [])) == "x"


def jobs_of_one_network() -> Stream[list[Trained]]:
    network = Predictor(inputs=2, width=6, layers=2)
    x = torch.rand(40, 2)
    jobs = tuple(
        Job(network, network.initialise([seed]), x, x[:, :1] + seed, Training(epochs=5), seed=seed)
        for seed in range(3)
    )
    trained = yield jobs
    return list(trained)


def test_jobs_that_are_not_stacked_give_what_each_gives_alone():
    torch.manual_seed(0)
    found = drive(jobs_of_one_network(), stacked=False)
    torch.manual_seed(0)
    (*jobs,) = next(jobs_of_one_network())
    for mine, job in zip(found, jobs, strict=True):
        (alone,) = train([job])
        for name, tensor in alone.params.items():
            assert torch.equal(mine.params[name], tensor)
